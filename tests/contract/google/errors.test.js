// SPDX-License-Identifier: Apache-2.0
// What Google's client makes of Gmail's refusals: these are the shapes that consumers will see.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { failure, Simulator, topic } from './simulator.js';

let simulator;
before(async () => { simulator = await Simulator.start(); });
afterEach(() => simulator.clearFaults());
after(() => simulator.stop());

const firstOf = (error) => error.response.data.error.errors[0];
const watch = (users, topicName = topic) => users.watch({ userId: 'me', requestBody: { topicName } });

test('the minute of a user is a 403 that the client does not retry', async () => {
  const { users } = await simulator.mailbox('busy@example.com');
  await simulator.control('faults', { kind: 'user_limit', value: 200, account: 'busy@example.com' });
  await watch(users);
  const error = await failure(users.getProfile({ userId: 'me' }));
  assert.equal(error.status, 403);
  assert.equal(firstOf(error).reason, 'rateLimitExceeded');
  assert.equal(firstOf(error).domain, 'usageLimits');
  assert.match(error.message, /limit 'Units per minute per user'/);
  const info = error.response.data.error.details.find((detail) => detail['@type'].endsWith('ErrorInfo'));
  assert.equal(info.metadata.quota_limit, 'totalQueryCostPerMinutePerUser');
  const account = await simulator.account('busy@example.com');
  assert.equal(account.refused, 1);
  assert.equal(account.units, 100);
});

test('a 429 on a GET is retried by the client', async () => {
  const { users } = await simulator.mailbox('crowd@example.com');
  await simulator.control('faults', { kind: 'concurrent', times: 2 });
  assert.equal((await users.getProfile({ userId: 'me' })).data.emailAddress, 'crowd@example.com');
  assert.equal(await simulator.strikes(), 2);
});

test('a lock-out says until when, and a watch is not retried', async () => {
  const { users } = await simulator.mailbox('locked@example.com');
  await simulator.control('faults', { kind: 'lockout' });
  const error = await failure(watch(users));
  assert.equal(error.status, 429);
  const [, until] = error.message.match(/^User-rate limit exceeded\.\s+Retry after (\S+)$/);
  assert.ok(Math.abs(Date.parse(until) - Date.now() - 15 * 60_000) < 10_000);
  assert.equal(await simulator.strikes(), 1);
});

test('ten calls at a time and no more', async () => {
  const { users } = await simulator.mailbox('parallel@example.com');
  await simulator.control('settings', { latency_ms: 200 });
  await users.getProfile({ userId: 'me' });
  const calls = Array.from({ length: 14 }, () => users.getProfile({ userId: 'me' }, { retry: false }));
  const results = await Promise.allSettled(calls);
  await simulator.control('settings', { latency_ms: 0 });
  const refused = results.filter(({ status }) => status === 'rejected');
  assert.equal(refused.length, 4);
  assert.equal(refused[0].reason.message, 'Too many concurrent requests for user.');
  assert.equal((await simulator.account('parallel@example.com')).in_flight_worst, 10);
});

test('one watch per mailbox and project', async () => {
  const { users } = await simulator.mailbox('two@example.com');
  await watch(users);
  const error = await failure(watch(users, 'projects/sim-project/topics/other'));
  assert.equal(error.status, 400);
  assert.match(error.message, /^Only one user push notification client allowed per developer/);
});

test('a topic without the publish grant, and one that is missing', async () => {
  const { users } = await simulator.mailbox('topic@example.com');
  await simulator.control('faults', { kind: 'topic_forbidden' });
  const forbidden = await failure(watch(users));
  assert.equal(forbidden.status, 403);
  assert.equal(firstOf(forbidden).reason, 'forbidden');
  await simulator.clearFaults();
  await simulator.control('faults', { kind: 'topic_missing' });
  assert.equal((await failure(watch(users))).status, 404);
});

test('history that is too old', async () => {
  const { users } = await simulator.mailbox('old@example.com');
  const error = await failure(users.history.list({ userId: 'me', startHistoryId: '1' }));
  assert.equal(error.status, 404);
  assert.equal(firstOf(error).reason, 'notFound');
});

test('an access token that Gmail no longer takes is renewed once by the client', async () => {
  const { client, users } = await simulator.mailbox('stale@example.com');
  client.forceRefreshOnFailure = true;
  await users.getProfile({ userId: 'me' });
  await simulator.control('faults', { kind: 'unauthorized', times: 1 });
  const before = client.credentials.access_token;
  await users.getProfile({ userId: 'me' });
  assert.notEqual(client.credentials.access_token, before);
});

test('an answer cut short and one that never comes are errors', async () => {
  const { users } = await simulator.mailbox('line@example.com');
  await users.getProfile({ userId: 'me' });
  await simulator.control('faults', { kind: 'cut' });
  await failure(watch(users));
  assert.equal((await simulator.account('line@example.com')).watches.length, 1); // it was set all the same
  await simulator.clearFaults();
  await simulator.control('faults', { kind: 'silent' });
  await failure(users.watch({ userId: 'me', requestBody: { topicName: topic } }, { timeout: 300 }));
  assert.equal((await simulator.account('line@example.com')).watches.length, 1);
});
