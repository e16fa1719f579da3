// SPDX-License-Identifier: Apache-2.0
'use strict';

const { fresh, workOf } = require('./subjects');

const refusals = 100;
const refusedCost = 300;

// What is left in all buckets of a limiter, by subject.
const leftOf = {
    'tidekeeper': async (limiter) => (await limiter.acquire(workOf(0))).levelsMilli.reduce((a, b) => a + b) / 1000,
    'call-counting': async ({ redis, key }) => -(await redis.get(`${key}:${Math.floor(Date.now() / 60_000)}`)),
    'client-clock-12000': async ({ redis, key }) => Number(await redis.hget(key, 'tokens')),
    'client-clock-6000': async ({ redis, key }) => Number(await redis.hget(key, 'tokens')),
    'flexible': async ({ limiter }) => -(await limiter.get('account')).consumedPoints,
    'flexible-union': async ({ union, project }) =>
        -(await union._limiters[0].get('account')).consumedPoints - (await project.get('project')).consumedPoints,
    'redis-gcra': async ({ limiter }) => (await limiter.peek({ key: 'account' })).remaining,
};

/** Asks until the first refusal, in large portions at first. */
async function drain(limiter, cost) {
    while ((await limiter.acquire(workOf(600, 30))).granted);
    while ((await limiter.acquire(workOf(cost))).granted);
}

/**
 * The share of refused amounts that is charged all the same, over all buckets of the limiter: 1 when a refusal costs
 * what a grant does, 2 when it costs that in two buckets; null when nothing is ever refused.
 */
async function chargedByRefusals(subject, redis, key) {
    if (subject.queues)
        return null;
    const limiter = await fresh(subject, redis, key);
    limiter.atUs = limiter.atUs === undefined ? undefined : Date.now() * 1000; // ours can stop the time
    await drain(limiter, refusedCost);
    const before = await leftOf[subject.name](limiter);
    let refused = 0;
    for (let i = 0; i < refusals; ++i)
        refused += (await limiter.acquire(workOf(refusedCost))).granted ? 0 : 1;
    const after = await leftOf[subject.name](limiter);
    const amount = subject.name === 'call-counting' ? 1 : refusedCost;
    return Math.max(0, (before - after) / (refused * amount));
}

module.exports = { chargedByRefusals, drain };
