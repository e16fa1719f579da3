// SPDX-License-Identifier: Apache-2.0
'use strict';

// All languages at once on one account: never more than its bucket and what refilled.
const assert = require('assert');
const { after, test } = require('node:test');
const { Consumer, languages } = require('./consumer');
const { Programs, Redis, sleep } = require('./servers');

const programs = new Programs();
after(async () => {
    await Consumer.closeAll();
    await programs.stop();
});
const callers = 20; // of each language
const runMs = 6000;

/** Asks, waits as told and asks again until the time is over. → grants */
async function caller(consumer, account, untilMs, ask) {
    const grants = [];
    while (performance.now() < untilMs) {
        const { ok, refusedBy, retryAfterMs, error } = await consumer.acquire(account, ask);
        assert(!error && (ok || refusedBy === 'account'), error ?? refusedBy);
        if (ok)
            grants.push(ok);
        else
            await sleep(retryAfterMs);
    }
    return grants;
}

test(`20 callers in each of ${languages.join(', ')}`, async () => {
    const redis = await Redis.start(programs);
    redis.publish();
    const account = 'together@example.com';
    const consumers = await Promise.all(languages.map((language) =>
        Consumer.open(language, redis.url, { commandTimeoutMs: 10_000 })));
    await Promise.all(consumers.map((consumer) => consumer.acquire(account, { cost: 0 })));
    const untilMs = performance.now() + runMs;
    const asks = [{ cost: 20 }, { cost: 10, lane: 'bulk', maxWaitMs: 1500 }];
    const running = consumers.flatMap((consumer) => Array.from({ length: callers },
        (_, i) => caller(consumer, account, untilMs, asks[i % 2])));
    const grants = (await Promise.all(running)).flat();
    await Promise.all(consumers.map((consumer) => consumer.close()));

    assert(grants.every(({ degraded }) => !degraded));
    const sent = grants.map(({ cost, waitMs, grantUs }) => ({ cost, atMs: grantUs / 1000 + waitMs }))
        .sort((a, b) => a.atMs - b.atMs);
    // Every window, by the server's clock: capacity + refill. A wait is rounded up to a millisecond.
    sent.forEach((first, i) => {
        let units = 0;
        for (const { cost, atMs } of sent.slice(i)) {
            units += cost;
            const most = 360 + (atMs - first.atMs + 1) * 5450 / 60_000;
            assert(units <= most, `${units} units within ${atMs - first.atMs} ms, ${most} are allowed`);
        }
    });
    const units = sent.reduce((sum, { cost }) => sum + cost, 0);
    assert(units >= 0.8 * (360 + runMs * 5450 / 60_000), `they got only ${units} units`);
});
