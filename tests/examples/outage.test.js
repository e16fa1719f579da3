// SPDX-License-Identifier: Apache-2.0
'use strict';

// Redis is stopped, killed or silent: each language goes on within its own bounds, and never hangs.
const assert = require('assert');
const { after, before, describe, test } = require('node:test');
const { Consumer, languages } = require('./consumer');
const { Programs, Redis, eventually, silentServer, sleep } = require('./servers');

const programs = new Programs();
after(async () => {
    await Consumer.closeAll();
    await programs.stop();
});
const capacity = 360;
const perMs = 5450 / 60_000;
const machineMs = 2000; // what a busy machine may add to any bound

/** Asks n times at once; every one ends within atMostMs. → units granted, and the answers */
async function burst(consumer, account, n, ask, atMostMs) {
    const answers = await Promise.all(Array.from({ length: n }, () => consumer.acquire(account, ask)));
    for (const { tookMs } of answers)
        assert(tookMs <= atMostMs + machineMs, `took ${tookMs} ms`);
    return { units: answers.reduce((sum, { ok }) => sum + (ok?.cost ?? 0), 0), answers };
}

for (const language of languages) {
    describe(language, () => {
        const account = `outage-${language}@example.com`;
        let redis;
        before(async () => {
            redis = await Redis.start(programs, `redis-${language}`);
            redis.publish();
        });

        test('a stopped Redis: nothing waits for it, grants stay within the bucket as it was last seen', async () => {
            const consumer = await Consumer.open(language, redis.url, { commandTimeoutMs: 500 });
            assert((await consumer.acquire(account, { cost: 200 })).ok);
            redis.server.pause();
            const begin = performance.now();
            try {
                const { units, answers } = await burst(consumer, account, 50, { cost: 20 }, 1200);
                const most = capacity - 200 + (performance.now() - begin + 1000) * perMs;
                assert(units >= 100 && units <= most, `${units} units, not 100 to ${most}`);
                assert(answers.every(({ ok, refusedBy }) => ok?.degraded || refusedBy === 'account'));
                const second = await burst(consumer, account, 20, { cost: 20 }, 1200);
                const free = second.answers.map(({ tookMs }) => tookMs).sort((a, b) => a - b)[10];
                assert(free < 400, `most answers do not wait for Redis any more, but took ${free} ms`);
            } finally {
                redis.server.resume();
            }
            await eventually('Redis is asked again', async () => (await consumer.acquire('other@example.com', { cost: 0 }))
                .ok?.degraded === false);
            await consumer.close();
        });

        test('a call that was given up is not charged when Redis wakes up', async () => {
            const consumer = await Consumer.open(language, redis.url, { commandTimeoutMs: 500 });
            const late = `late-${language}@example.com`;
            assert.strictEqual((await consumer.acquire(late, { cost: 0 })).ok.degraded, false);
            redis.server.pause();
            const { ok } = await consumer.acquire(late, { cost: 300 });
            await sleep(1500);
            redis.server.resume();
            assert(ok.degraded);
            await sleep(200);
            assert(redis.level(late) > 350, 'what was granted without Redis is settled later, by the next call');
            await consumer.close();
        });

        test('fail-closed refuses at once, with a time to ask again', async () => {
            const consumer = await Consumer.open(language, redis.url, { failOpen: false, commandTimeoutMs: 500 });
            assert((await consumer.acquire(account, { cost: 0 })).ok);
            redis.server.pause();
            try {
                const { answers } = await burst(consumer, account, 20, { cost: 1 }, 1200);
                for (const { refusedBy, retryAfterMs } of answers)
                    assert.deepStrictEqual([refusedBy, retryAfterMs], ['unavailable', 1000]);
            } finally {
                redis.server.resume();
            }
            await consumer.close();
        });

        test('a peer that accepts and says nothing, and one that is not there', async () => {
            const silent = await silentServer();
            for (const url of [silent.url, 'redis://127.0.0.1:1']) {
                const consumer = await Consumer.open(language, url, { commandTimeoutMs: 100 });
                const begin = performance.now();
                const { units } = await burst(consumer, account, 50, { cost: 20 }, 1200);
                assert(units >= capacity - 20, 'of a bucket that nobody has seen: a full one');
                assert(units <= capacity + (performance.now() - begin) * perMs, `${units} units`);
                await consumer.close();
            }
            silent.stop();
        });

        test('a freeze that was reported while Redis is away holds', async () => {
            const consumer = await Consumer.open(language, 'redis://127.0.0.1:1');
            assert((await consumer.acquire(account, { cost: 1 })).ok.degraded);
            const { ok } = await consumer.report(account, { status: 429, headers: { 'retry-after': '60' } });
            assert.strictEqual(ok.retryAfterMs, 60_000);
            assert.strictEqual((await consumer.acquire(account, { cost: 1 })).refusedBy, 'account_frozen');
            await consumer.close();
        });

        test('Redis is killed in mid-run and comes back: what was granted without it is settled', async () => {
            redis.publish({ account_capacity_milli: 900_000, account_refill_per_minute: 60, key_ttl_ms: 7_200_000 }, 'large');
            const settled = `settled-${language}@example.com`;
            const consumer = await Consumer.open(language, redis.url, { project: 'large' });
            assert.strictEqual((await consumer.acquire(settled, { cost: 100 })).ok.degraded, false);
            await redis.stop();
            const { ok } = await consumer.acquire(settled, { cost: 500 });
            assert(ok.degraded, 'by the policy that was read before: the built-in one has less');
            assert.strictEqual((await consumer.acquire(settled, { cost: 500 })).refusedBy, 'account');
            await redis.restart();
            await eventually('the grants go to Redis again', async () => (await consumer.acquire(settled, { cost: 0 }))
                .ok?.degraded === false, 5000 + machineMs);
            const level = redis.level(settled, 'large');
            assert(level > 290 && level < 340, `the level is ${level}`);
            await consumer.close();
        });
    });
}
