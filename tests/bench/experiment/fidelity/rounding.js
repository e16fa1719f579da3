// SPDX-License-Identifier: Apache-2.0
'use strict';

const { preset } = require('./direct');
const { fresh, workOf } = require('./subjects');

const stepsMs = [3, 7, 11, 5, 9]; // between two calls: 0.3 to 1.1 units of refill
const costs = [1, 3, 7];
const inFlight = 500;

/** Calls as fast as they go while `advance(ms)` moves the limiter's time; the units granted and the time passed. */
async function askOddly(limiter, calls, advance) {
    let granted = 0;
    let elapsedMs = 0;
    for (let done = 0; done < calls; done += inFlight) {
        const answers = [];
        for (let i = done; i < Math.min(calls, done + inFlight); ++i) {
            const cost = costs[i % costs.length];
            elapsedMs += i === 0 ? 0 : stepsMs[i % stepsMs.length];
            advance(elapsedMs);
            answers.push(limiter.acquire(workOf(cost)).then((answer) => (answer.granted ? cost : 0)));
        }
        granted += (await Promise.all(answers)).reduce((a, b) => a + b);
    }
    return { granted, elapsedMs };
}

async function ours(subject, redis, key, calls) {
    const limiter = await fresh(subject, redis, key);
    const startUs = 1_800_000_000_000_000;
    const { granted, elapsedMs } = await askOddly(limiter, calls, (ms) => { limiter.atUs = startUs + ms * 1000; });
    const left = (await limiter.acquire(workOf(0))).levelsMilli[0] / 1000;
    return preset.accountCapacity + (preset.accountRefill * elapsedMs) / 60_000 - granted - left;
}

/** Of those who ask the caller's clock: it is set here. */
async function byClientClock(subject, redis, key, calls, leftOf) {
    const limiter = await fresh(subject, redis, key);
    const realNow = Date.now;
    const startMs = realNow();
    try {
        const { granted, elapsedMs } = await askOddly(limiter, calls, (ms) => { Date.now = () => startMs + ms; });
        return subject.limit + (subject.limit * elapsedMs) / 60_000 - granted - await leftOf(limiter);
    } finally {
        Date.now = realNow;
    }
}

const tokensLeft = async ({ redis, key }) => Number(await redis.hget(key, 'tokens'));
const measures = {
    'tidekeeper': ours,
    'client-clock-12000': (...of) => byClientClock(...of, tokensLeft),
    'client-clock-6000': (...of) => byClientClock(...of, tokensLeft),
    'redis-gcra': (...of) => byClientClock(...of, async ({ limiter }) =>
        (await limiter.peek({ key: 'account' })).remaining),
};

/** Units that were refilled but can never be had, after so many calls of odd sizes at odd times; null for counters. */
async function unitsLost(subject, redis, key, calls) {
    return measures[subject.name] ? measures[subject.name](subject, redis, key, calls) : null;
}

module.exports = { unitsLost };
