// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Simulator, topic } from './simulator.js';

let simulator;
before(async () => { simulator = await Simulator.start(); });
after(() => simulator.stop());

test('watch, renewal and stop', async () => {
  const { users } = await simulator.mailbox('watch@example.com');
  const requestBody = { topicName: topic, labelIds: ['INBOX'], labelFilterBehavior: 'INCLUDE' };
  const first = await users.watch({ userId: 'me', requestBody });
  assert.equal(typeof first.data.historyId, 'string');
  const week = 7 * 24 * 3600 * 1000;
  assert.ok(Math.abs(Number(first.data.expiration) - Date.now() - week) < 60_000);
  const second = await users.watch({ userId: 'watch@example.com', requestBody });
  assert.ok(Number(second.data.expiration) >= Number(first.data.expiration));
  assert.equal((await simulator.account('watch@example.com')).watches.length, 2);
  await users.stop({ userId: 'me' });
  assert.equal((await simulator.account('watch@example.com')).watch, null);
});

test('profile, threads and messages', async () => {
  const { users } = await simulator.mailbox('reader@example.com', { threads: 12 });
  const profile = await users.getProfile({ userId: 'me' });
  assert.equal(profile.data.emailAddress, 'reader@example.com');
  assert.equal(profile.data.threadsTotal, 12);
  const page = await users.threads.list({ userId: 'me', labelIds: ['INBOX', 'UNREAD'], q: 'letter about', maxResults: 5 });
  assert.equal(page.data.threads.length, 5);
  const next = await users.threads.list({ userId: 'me', maxResults: 5, pageToken: page.data.nextPageToken });
  assert.notEqual(next.data.threads[0].id, page.data.threads[0].id);
  const thread = await users.threads.get({
    userId: 'me', id: page.data.threads[0].id, format: 'metadata', metadataHeaders: ['From', 'To'],
  });
  assert.deepEqual(thread.data.messages[0].payload.headers.map((header) => header.name), ['From', 'To']);
  const message = await users.messages.get({ userId: 'me', id: thread.data.messages[0].id });
  assert.match(Buffer.from(message.data.payload.body.data, 'base64url').toString(), /This is letter/);
});

test('attachments', async () => {
  const { users } = await simulator.mailbox('files@example.com', { threads: 1 });
  const { data } = await users.messages.list({ userId: 'me' });
  const message = await users.messages.get({ userId: 'me', id: data.messages[0].id });
  const part = message.data.payload.parts.find((candidate) => candidate.body.attachmentId);
  const file = await users.messages.attachments.get(
    { userId: 'me', messageId: message.data.id, id: part.body.attachmentId });
  assert.equal(Buffer.from(file.data.data, 'base64url').length, file.data.size);
});

test('history tells what changed', async () => {
  const { users } = await simulator.mailbox('history@example.com');
  const { data: before } = await users.getProfile({ userId: 'me' });
  await simulator.control('mail', { email: 'history@example.com' });
  const added = await users.history.list({ userId: 'me', startHistoryId: before.historyId, historyTypes: ['messageAdded'] });
  const { id } = added.data.history[0].messagesAdded[0].message;
  await users.messages.batchModify({ userId: 'me', requestBody: { ids: [id], removeLabelIds: ['UNREAD'] } });
  const both = await users.history.list(
    { userId: 'me', startHistoryId: before.historyId, historyTypes: ['messageAdded', 'labelRemoved'] });
  assert.equal(both.data.history.length, 2);
  assert.deepEqual(both.data.history[1].labelsRemoved[0].labelIds, ['UNREAD']);
});

test('sending, as JSON and as an upload', async () => {
  const { users } = await simulator.mailbox('sender@example.com', { threads: 0 });
  const letter = 'From: sender@example.com\r\nTo: b@example.com\r\nSubject: Hi\r\n\r\nHello\r\n';
  await users.messages.send({ userId: 'me', requestBody: { raw: Buffer.from(letter).toString('base64url') } });
  // Uploads do not follow the client's rootUrl, only the call's.
  await users.messages.send({ userId: 'me', media: { mimeType: 'message/rfc822', body: letter } },
    { rootUrl: `${simulator.url}/` });
  await users.messages.send(
    { userId: 'me', requestBody: { labelIds: [] }, media: { mimeType: 'message/rfc822', body: letter } },
    { rootUrl: `${simulator.url}/` });
  const { data } = await users.messages.list({ userId: 'me', labelIds: ['SENT'] });
  assert.equal(data.messages.length, 3);
  for (const { id } of data.messages) {
    const { data: message } = await users.messages.get({ userId: 'me', id, format: 'raw' });
    assert.equal(Buffer.from(message.raw, 'base64url').toString().trim(), letter.trim());
  }
});

test('labels and drafts', async () => {
  const { users } = await simulator.mailbox('labels@example.com');
  const label = await users.labels.create({ userId: 'me', requestBody: { name: 'Tides' } });
  const { data } = await users.labels.list({ userId: 'me' });
  assert.ok(data.labels.some(({ id, name }) => id === label.data.id && name === 'Tides'));
  const raw = Buffer.from('Subject: Draft\r\n\r\nx').toString('base64url');
  const draft = await users.drafts.create({ userId: 'me', requestBody: { message: { raw } } });
  await users.drafts.send({ userId: 'me', requestBody: { id: draft.data.id } });
  assert.equal((await users.drafts.list({ userId: 'me' })).data.drafts, undefined);
});
