// SPDX-License-Identifier: Apache-2.0
'use strict';

// Speed of the queue, side by side with others: see README.md one folder up.
const { machine, versions } = require('../support/machine');
const { options } = require('../support/options');
const { Programs } = require('../support/programs');
const { print } = require('../support/report');
const { measureCalls } = require('./calls');
const { measureDepth } = require('./depth');
const { measureLatency } = require('./latency');
const { measureRecovery } = require('./recovery');
const { measureThroughput } = require('./throughput');

const peers = ['bullmq', 'ioredis', 'bull', 'bee-queue'];
const common = { payload: 200, rate: 1000 }; // bytes of JSON, jobs per second in the open loop
const full = { jobs: 5000, warm: 1000, countedJobs: 2000, steadySeconds: 5, warmSeconds: 1, victims: 3,
    fewJobs: 10_000, manyJobs: 1_000_000, sampleJobs: 5000 };
const tiny = { jobs: 200, warm: 50, countedJobs: 200, steadySeconds: 0.3, warmSeconds: 0.1, victims: 1, fastOnly: true,
    fewJobs: 500, manyJobs: 2000, sampleJobs: 300 };

/** No rewrite of its file by itself: who is measured then would be chance. */
const aof = ['--appendonly', 'yes', '--appendfsync', 'everysec', '--auto-aof-rewrite-percentage', '0'];

const parts = {
    throughput: (programs, redis, settings) => measureThroughput(redis, settings),
    calls: (programs, redis, settings) => measureCalls(redis, settings),
    latency: (programs, redis, settings) => measureLatency(redis, settings),
    recovery: (programs, redis, settings) => measureRecovery(redis, settings),
    depth: (programs, redis, settings) => measureDepth(programs, settings, aof),
};

/** One part or all, one after the other: {tables, figures}. */
async function measure(settings, part) {
    const programs = new Programs();
    const tables = [];
    const figures = [];
    try {
        const redis = await programs.startRedis('redis', aof, []);
        for (const name of part ? [part] : Object.keys(parts)) {
            const measured = await parts[name](programs, redis, settings);
            tables.push(...measured.tables);
            figures.push(...measured.figures);
        }
    } finally {
        await programs.stop();
    }
    return { tables, figures };
}

async function main() {
    const { rounds, json, smoke, build, part } = options(3, Object.keys(parts));
    const settings = { rounds, ...common, ...(smoke ? tiny : full) };
    const where = machine(); // before we put load on it
    const measured = await measure({ ...settings, build }, part);
    print({ benchmark: 'queue', machine: where, versions: versions(peers), settings, ...measured }, json);
}

main().catch((error) => {
    console.error(error.stack);
    process.exit(1);
});
