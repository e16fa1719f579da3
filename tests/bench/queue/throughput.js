// SPDX-License-Identifier: Apache-2.0
'use strict';

// Jobs added one by one and in bulks, and worked off with 1, 10 and 100 in flight.
const { execFile } = require('child_process');
const { promisify } = require('util');
const { figure } = require('../support/report');
const { interleaved, median } = require('../support/statistics');
const { bestPeer, contenders, start } = require('./contenders');

const bulk = 50;
const callers = 10;
const inFlight = [1, 10, 100];
const columns = { add: 'add, one by one', addMany: `add, one by one, ${callers} callers`, bulk: `add, bulks of ${bulk}`,
    ...Object.fromEntries(inFlight.map((n) => [`drain${n}`, `drain, ${n} in flight`])) };

/** One verb's jobs per second and what a job cost its process and Redis: {perSecond, clientUs, redisUs}. */
async function timed(contender, redis, settings, verb, options) {
    const { jobs, warm } = settings;
    const before = redis.processorUs();
    const { count, seconds, cpuUs } = await start(contender, redis, settings, verb, { count: jobs, warm, ...options }).result();
    return { perSecond: count / seconds, clientUs: cpuUs / count, redisUs: (redis.processorUs() - before) / (jobs + warm) };
}

/** Everything once, flat: {add, addClientUs, addRedisUs, addMany, …}. */
async function round(contender, redis, settings) {
    const parts = {};
    await redis.clear();
    parts.add = await timed(contender, redis, settings, 'add', {});
    await redis.clear();
    parts.addMany = await timed(contender, redis, settings, 'add', { callers });
    const bulks = [];
    for (const n of inFlight) {
        await redis.clear();
        bulks.push(await timed(contender, redis, settings, 'add', { bulk }));
        parts[`drain${n}`] = await timed(contender, redis, settings, 'drain', { consumers: n });
    }
    parts.bulk = Object.fromEntries(Object.keys(bulks[0]).map((key) => [key, median(bulks.map((one) => one[key]))]));
    return Object.fromEntries(Object.entries(parts).flatMap(([part, { perSecond, clientUs, redisUs }]) =>
        [[part, perSecond], [`${part}ClientUs`, clientUs], [`${part}RedisUs`, redisUs]]));
}

/** What no queue can beat when each job is a call that is waited for: redis-benchmark's SET of as many bytes. */
const floor = {
    key: 'floor',
    name: 'a bare SET, redis-benchmark',
    async run(redis, { jobs, payload }) {
        const perSecond = async (clients) => {
            const { stdout } = await promisify(execFile)('redis-benchmark', ['-s', redis.socket, '-t', 'set', '-c',
                String(clients), '-n', String(jobs), '-d', String(payload), '--csv']);
            return Number(/"SET","([\d.]+)"/.exec(stdout)[1]);
        };
        await redis.clear();
        return { add: await perSecond(1), addMany: await perSecond(callers) };
    },
};

async function measureThroughput(redis, settings) {
    const runs = contenders.map((contender) => ({ name: contender.key, run: () => round(contender, redis, settings) }));
    runs.push({ name: floor.key, run: () => floor.run(redis, settings) });
    const results = await interleaved(runs, settings.rounds);
    const ratioOf = (part) => results.get('tidekeeper')[part].median / bestPeer(results, (result) => result[part].median);
    const ratios = Object.fromEntries(Object.keys(columns).map((part) => [part, ratioOf(part)]));
    const costs = (of) => contenders.map(({ key, name }) => ({ key, name,
        ...Object.fromEntries(Object.keys(columns).map((part) => [part, results.get(key)[`${part}${of}`]])) }));
    return {
        tables: [
            { id: 'throughput', title: 'Jobs per second', columns,
                rows: [...[...contenders, floor].map(({ key, name }) => ({ key, name, ...results.get(key) })),
                    { key: 'ratio', name: 'tidekeeper ÷ best peer', ...ratios }] },
            { id: 'redis-us', title: 'µs of Redis\' processor per job', columns, rows: costs('RedisUs') },
            { id: 'client-us', title: 'µs of the client\'s processor per job', columns, rows: costs('ClientUs') },
        ],
        figures: Object.entries(columns).map(([part, heading]) =>
            figure(`throughput-${part}`, `${heading}, ÷ best peer`, ratios[part], '≥', 1.5)),
    };
}

module.exports = { measureThroughput };
