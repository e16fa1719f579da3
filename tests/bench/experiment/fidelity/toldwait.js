// SPDX-License-Identifier: Apache-2.0
'use strict';

const { now, sleep } = require('../time');
const { drain } = require('./charges');
const { fresh, workOf } = require('./subjects');

/** Not a microsecond less: timers may fire a millisecond early. */
async function sleepAtLeast(ms) {
    const until = now() + ms;
    while (now() < until)
        await sleep(Math.max(1, until - now()));
}

async function admittedAfterToldWait(limiter, cost) {
    await drain(limiter, cost);
    const refused = await limiter.acquire(workOf(cost));
    if (refused.granted)
        return null; // it was refilled in between
    await sleepAtLeast(refused.retryAfterMs);
    return (await limiter.acquire(workOf(cost))).granted;
}

/** The share of refused requests that are granted at the first try after the wait that they were told. */
async function admittedAsTold(subject, redis, key, { trials, windowMs, random }) {
    if (subject.queues)
        return null;
    const results = await Promise.all(Array.from({ length: trials }, async (_, i) => {
        const limiter = await fresh(subject, redis, `${key}:${i}`, { windowMs });
        return admittedAfterToldWait(limiter, 50 + Math.floor(random() * 300));
    }));
    const counted = results.filter((result) => result !== null);
    return counted.filter((result) => result).length / counted.length;
}

module.exports = { admittedAsTold };
