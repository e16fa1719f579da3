// SPDX-License-Identifier: Apache-2.0
'use strict';

// Does a long queue slow it down? Ours, with many and with few jobs waiting, each in a Redis of its own.
const { figure } = require('../support/report');
const { interleaved } = require('../support/statistics');
const { contenders, start } = require('./contenders');

const ours = contenders[0];
const parts = { add: 'add, one by one', bulk: 'add, bulks of 50', drain10: 'drain, 10 in flight', drain100: 'drain, 100 in flight' };

/** Jobs per second over a sample; as many are waiting after it as before. */
async function sample(redis, settings) {
    const count = settings.sampleJobs;
    const run = async (verb, options) => {
        const { seconds } = await start(ours, redis, settings, verb, { count, ...options }).result();
        return count / seconds;
    };
    return { add: await run('add', {}), drain10: await run('drain', { consumers: 10 }),
        bulk: await run('add', { bulk: 50 }), drain100: await run('drain', { consumers: 100 }) };
}

async function measureDepth(programs, settings, aof) {
    const { fewJobs, manyJobs, rounds } = settings;
    const depths = [{ key: 'few', count: fewJobs }, { key: 'many', count: manyJobs }];
    for (const depth of depths) {
        depth.redis = await programs.startRedis(`redis-${depth.key}`, aof, []);
        await start(ours, depth.redis, settings, 'add', { count: depth.count, bulk: 500 }).result();
        await sample(depth.redis, settings); // its keys are there, its functions loaded
    }
    const results = await interleaved(depths.map(({ key, redis }) =>
        ({ name: key, run: () => sample(redis, settings) })), rounds);
    const ratios = Object.fromEntries(Object.keys(parts).map((part) =>
        [part, results.get('many')[part].median / results.get('few')[part].median]));
    return {
        tables: [{ id: 'depth', title: 'Jobs per second while others wait, tidekeeper', columns: parts,
            rows: [...depths.map(({ key, count }) =>
                ({ key, name: `${count.toLocaleString('en-US')} waiting`, ...results.get(key) })),
            { key: 'ratio', name: 'many ÷ few', ...ratios }] }],
        figures: [figure('depth', 'the least ratio of many waiting ÷ few waiting', Math.min(...Object.values(ratios)), '≥', 0.8)],
    };
}

module.exports = { measureDepth };
