// SPDX-License-Identifier: Apache-2.0
'use strict';

const Redis = require('ioredis');
const { jainIndex } = require('../figures');
const { randomFrom } = require('../time');
const { chargedByRefusals } = require('./charges');
const { crowd, unitsOf, worstWindow } = require('./crowd');
const { unitsLost } = require('./rounding');
const { subjects } = require('./subjects');
const { admittedAsTold } = require('./toldwait');

const published = 6000;
const cost = 40;
const scales = {
    full: { windowMs: 4000, windows: 5, trials: 200, calls: 1_000_000 },
    smoke: { windowMs: 1000, windows: 2, trials: 20, calls: 5000 },
};

/** One call, almost a window of silence, then all that can be had for more than a window. */
async function worstWindows(names, redisPort, { windowMs }) {
    const phases = [{ idleMs: 0, greedyMs: 1 }, { idleMs: 0.9 * windowMs, greedyMs: 1.6 * windowMs }];
    const grants = await crowd(names, redisPort, [0, 0, 0, 0], { key: 'worst', windowMs, cost, paceMs: 0, phases });
    return (name) => worstWindow(grants[name].flat(), windowMs) / published;
}

/** What two callers get with clocks 2 s apart, against what they get with equal ones. */
async function overGrants(names, redisPort, { windowMs, windows }) {
    const options = { windowMs, cost, paceMs: 5, phases: [{ idleMs: 0, greedyMs: (windows / 2) * windowMs }] };
    const [apart, equal] = await Promise.all([
        crowd(names, redisPort, [1000, -1000], { ...options, key: 'apart' }),
        crowd(names, redisPort, [0, 0], { ...options, key: 'equal' }),
    ]);
    return (name) => unitsOf(apart[name].flat()) / unitsOf(equal[name].flat());
}

async function fairness(names, redisPort, { windowMs, windows }) {
    const phases = [{ idleMs: 0, greedyMs: windows * windowMs }];
    const grants = await crowd(names, redisPort, Array(10).fill(0), { key: 'fair', windowMs, cost, paceMs: 0, phases });
    return (name) => jainIndex(grants[name].map(unitsOf));
}

/** What each policy promises against what it does: {scale, rows: [{policy, worstWindow, …}]}. */
async function measureFidelity(redisPort, scaleName, log) {
    const scale = scales[scaleName];
    const redis = new Redis({ host: '127.0.0.1', port: redisPort });
    const names = subjects.map(({ name }) => name);
    log('fidelity: worst window');
    const worst = await worstWindows(names, redisPort, scale);
    log('fidelity: clocks apart');
    const overGrant = await overGrants(names, redisPort, scale);
    log('fidelity: equal callers');
    const jain = await fairness(names, redisPort, scale);
    const rows = [];
    for (const subject of subjects) {
        log(`fidelity: refusals, told waits and rounding of ${subject.title}`);
        rows.push({
            policy: subject.name,
            worstWindow: worst(subject.name),
            overGrant: overGrant(subject.name),
            jain: jain(subject.name),
            chargedByRefusals: await chargedByRefusals(subject, redis, `charges:${subject.name}`),
            admittedAsTold: await admittedAsTold(subject, redis, `told:${subject.name}`,
                { ...scale, random: randomFrom(7) }),
            unitsLost: await unitsLost(subject, redis, `rounding:${subject.name}`, scale.calls),
        });
    }
    redis.disconnect();
    return { scale, rows };
}

module.exports = { measureFidelity };
