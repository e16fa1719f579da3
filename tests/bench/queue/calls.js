// SPDX-License-Identifier: Apache-2.0
'use strict';

// How often Redis is asked for one job, and how much it does for an answer.
const { figure } = require('../support/report');
const { contenders, start } = require('./contenders');
const { openLoop } = require('./latency');
const { Monitor } = require('./monitor');

const inFlight = [1, 10, 100];

async function counted(redis, count, run) {
    const monitor = await Monitor.open(redis);
    await run();
    const { fromClients, inner } = await monitor.close();
    return { asked: fromClients / count, inner: inner / count };
}

/** Everything once, flat: {add, addInner, …}. What a client does at its start counts too: a few commands. */
async function callsOf(contender, redis, settings) {
    const count = settings.countedJobs;
    const calls = {};
    const take = async (part, run) => {
        const { asked, inner } = await counted(redis, count, run);
        Object.assign(calls, { [part]: asked, [`${part}Inner`]: inner });
    };
    const verb = (name, options) => start(contender, redis, settings, name, { count, ...options }).result();
    await redis.clear();
    await take('add', () => verb('add', {}));
    for (const consumers of inFlight) {
        await redis.clear();
        await verb('add', { bulk: 50 });
        await take(`drain${consumers}`, () => verb('drain', { consumers }));
    }
    await redis.clear();
    await take('steady', () => openLoop(contender, redis, settings, count));
    return calls;
}

async function measureCalls(redis, settings) {
    const rows = [];
    for (const contender of contenders)
        rows.push({ key: contender.key, name: contender.name, ...await callsOf(contender, redis, settings) });
    const parts = { add: 'added one by one', ...Object.fromEntries(inFlight.map((n) => [`drain${n}`, `drain, ${n} in flight`])),
        steady: `added and worked at ${settings.rate}/s` };
    const ours = rows.find(({ key }) => key === 'tidekeeper');
    return {
        tables: [
            { id: 'asked', title: 'Commands from clients per job', columns: parts, rows },
            { id: 'inner', title: 'Commands called by scripts and functions per job',
                columns: Object.fromEntries(Object.entries(parts).map(([part, text]) => [`${part}Inner`, text])), rows },
        ],
        figures: [
            figure('calls-drain', 'commands per job, drain, the most of 1, 10 and 100 in flight',
                Math.max(...inFlight.map((n) => ours[`drain${n}`])), '≤', 3),
            figure('calls-steady', `commands per job of the worker, jobs coming at ${settings.rate}/s`,
                ours.steady - ours.add, '≤', 3),
        ],
    };
}

module.exports = { measureCalls };
