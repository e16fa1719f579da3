// SPDX-License-Identifier: Apache-2.0
'use strict';

// Each language alone with Redis: the policy was published by hand, no engine runs.
const assert = require('assert');
const { after, before, describe, test } = require('node:test');
const { Consumer, languages } = require('./consumer');
const { Programs, Redis, sleep } = require('./servers');

const programs = new Programs();
let redis;
before(async () => {
    redis = await Redis.start(programs);
    redis.publish();
    redis.publish({ account_refill_per_minute: 60, key_ttl_ms: 7_200_000 }, 'slow'); // a unit a second
});
after(async () => {
    await Consumer.closeAll();
    await programs.stop();
});

for (const language of languages) {
    describe(language, () => {
        let consumer, slow;
        before(async () => {
            consumer = await Consumer.open(language, redis.url);
            slow = await Consumer.open(language, redis.url, { project: 'slow' });
        });
        const accountOf = (name) => `${name}-${language}@example.com`;
        const near = (actual, expected, by) => assert(Math.abs(actual - expected) <= by, `${actual}, not about ${expected}`);

        test('a method costs what the table says, times count', async () => {
            const account = accountOf('costs');
            const { ok } = await slow.acquire(account, { method: 'messages.get', count: 10 });
            assert.deepStrictEqual([ok.cost, ok.waitMs, ok.degraded], [200, 0, false]);
            near(redis.level(account, 'slow'), 160, 5);
        });

        test('a method without a price is an error of the caller', async () => {
            assert.match((await consumer.acquire(accountOf('x'), { method: 'messages.fetch' })).error, /messages\.fetch/);
            assert.match((await consumer.acquire(accountOf('x'), { cost: -1 })).error, /cost/);
        });

        test('a refused job succeeds after the time it was told, not before', async () => {
            const account = accountOf('refused');
            await slow.acquire(account, { cost: 360 });
            const { refusedBy, retryAfterMs } = await slow.acquire(account, { cost: 2 });
            assert.strictEqual(refusedBy, 'account');
            near(retryAfterMs, 2000, 500);
            await sleep(retryAfterMs - 700);
            assert.strictEqual((await slow.acquire(account, { cost: 2 })).refusedBy, 'account');
            await sleep(700);
            assert((await slow.acquire(account, { cost: 2 })).ok);
        });

        test('who may wait sleeps as long as the booking says', async () => {
            const account = accountOf('waits');
            await slow.acquire(account, { cost: 360 });
            const { ok, tookMs } = await slow.acquire(account, { cost: 2, maxWaitMs: 5000 });
            near(ok.waitMs, 2000, 500);
            assert(tookMs >= ok.waitMs - 2, `took ${tookMs} ms of ${ok.waitMs}`);
        });

        test('bulk leaves its reserve, and what is too large for it is refused for good', async () => {
            const account = accountOf('bulk');
            assert((await slow.acquire(account, { cost: 170, lane: 'bulk' })).ok);
            assert.strictEqual((await slow.acquire(account, { cost: 40, lane: 'bulk' })).refusedBy, 'account');
            assert((await slow.acquire(account, { cost: 40 })).ok);
            const { refusedBy, retryAfterMs } = await slow.acquire(account, { cost: 181, lane: 'bulk' });
            assert.deepStrictEqual([refusedBy, retryAfterMs], ['never', -1]);
        });

        test('what was not sent is given back once', async () => {
            const account = accountOf('refund');
            const { ok: grant } = await slow.acquire(account, { cost: 300 });
            assert.strictEqual((await slow.refund(grant)).ok.back, true);
            near(redis.level(account, 'slow'), 360, 2);
            assert.strictEqual((await slow.refund(grant)).ok.back, false);
        });

        test('a refusal by Gmail pauses every consumer until the probe was served', async () => {
            const account = accountOf('frozen');
            const other = await Consumer.open(language, redis.url);
            const { ok: grant } = await consumer.acquire(account, { method: 'threads.get' });
            const told = await consumer.report(account, { status: 429, headers: { 'Retry-After': '2' } }, grant);
            assert.strictEqual(told.ok.scope, 'account');
            near(told.ok.retryAfterMs, 2000, 50);
            const { refusedBy, retryAfterMs } = await other.acquire(account, { method: 'history.list' });
            assert.strictEqual(refusedBy, 'account_frozen');
            assert((await other.acquire(accountOf('not-frozen'), { method: 'history.list' })).ok);
            await sleep(retryAfterMs);
            const probe = await other.acquire(account, { method: 'history.list' });
            assert(probe.ok);
            assert.strictEqual((await consumer.acquire(account, { method: 'history.list' })).refusedBy, 'account_frozen');
            await other.report(account, { status: 200 }, probe.ok);
            assert((await consumer.acquire(account, { method: 'history.list' })).ok);
            await other.close();
        });

        test('a freeze during a wait of more than a second voids the booking', async () => {
            const account = accountOf('void');
            await slow.acquire(account, { cost: 357 });
            const booked = slow.acquire(account, { cost: 5, maxWaitMs: 10_000 });
            await sleep(800);
            await slow.report(account, { status: 429, headers: { 'retry-after': '30' } });
            const { refusedBy, retryAfterMs } = await booked;
            assert.strictEqual(refusedBy, 'account_frozen');
            assert(retryAfterMs > 20_000);
            // Of 5 units 2 have refilled since, 3 came back to a bucket that was empty.
            near(redis.level(account, 'slow'), 2.5, 1.2);
        });

        test('the kind of call that Gmail refuses pauses, the others do not', async () => {
            const account = accountOf('family');
            await consumer.report(account, { status: 429,
                body: 'Too many requests: User-rate limit exceeded (Mail sending)' });
            assert.strictEqual((await consumer.acquire(account, { method: 'messages.send' })).refusedBy, 'account_frozen');
            assert.strictEqual((await consumer.acquire(account, { method: 'messages.get' })).refusedBy, undefined);
        });

        test('a missing policy, missing functions and missing rights say that somebody has to mend them', async () => {
            const nobody = await Consumer.open(language, redis.url, { project: 'unpublished' });
            const answer = await nobody.acquire(accountOf('x'), { cost: 1 });
            assert.deepStrictEqual([answer.refusedBy, answer.retryAfterMs], ['not_published', 1000]);
            await nobody.close();
            redis.cli('ACL', 'SETUSER', 'blind', 'on', '>secret', '+@all', '-fcall', '~*');
            const blind = await Consumer.open(language, redis.url.replace('//', '//blind:secret@'));
            assert.strictEqual((await blind.acquire(accountOf('x'), { cost: 1 })).refusedBy, 'not_published');
            await blind.close();
        });

        test('the rights that README.md names are enough', async () => {
            redis.cli('ACL', 'SETUSER', 'quota', 'reset', 'on', '>secret', '~tk:{gmail:default}:*', ...directRights);
            const quota = await Consumer.open(language, redis.url.replace('//', '//quota:secret@'));
            const account = accountOf('rights');
            const { ok: grant } = await quota.acquire(account, { cost: 20 });
            assert(grant && !grant.degraded);
            assert((await quota.refund(grant)).ok.back);
            for (const status of [429, 200]) {
                const { ok } = await quota.report(account, { status, headers: { 'retry-after': '9' } }, grant);
                assert.strictEqual(ok?.rate, status === 429);
            }
            assert.strictEqual((await quota.acquire(account, { cost: 1 })).refusedBy, 'account_frozen');
            await quota.close();
        });
    });
}

const directRights = require('fs').readFileSync(`${__dirname}/../../resources/examples/README.md`, 'utf8')
    .match(/^ACL SETUSER .*? (\+.*)$/m)[1].split(' ');
