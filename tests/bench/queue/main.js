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
const full = { jobs: 5000, warm: 1000, countedJobs: 2000, rate: 1000, steadySeconds: 5, warmSeconds: 1, victims: 3,
    fewJobs: 10_000, manyJobs: 1_000_000, sampleJobs: 5000 };
const tiny = { jobs: 200, warm: 50, countedJobs: 200, rate: 1000, steadySeconds: 0.3, warmSeconds: 0.1, victims: 1,
    fastOnly: true, fewJobs: 500, manyJobs: 2000, sampleJobs: 300 };

/** No rewrite of its file by itself: who is measured then would be chance. */
const aof = ['--appendonly', 'yes', '--appendfsync', 'everysec', '--auto-aof-rewrite-percentage', '0'];

async function measure(settings) {
    const programs = new Programs();
    const parts = [];
    try {
        const redis = await programs.startRedis('redis', aof, []);
        parts.push(await measureThroughput(redis, settings));
        parts.push(await measureCalls(redis, settings));
        parts.push(await measureLatency(redis, settings));
        parts.push(await measureRecovery(redis, settings));
        parts.push(await measureDepth(programs, settings, aof));
    } finally {
        await programs.stop();
    }
    return { tables: parts.flatMap(({ tables }) => tables), figures: parts.flatMap(({ figures }) => figures) };
}

async function main() {
    const { rounds, json, smoke, build } = options(3);
    const settings = { rounds, ...(smoke ? tiny : full) };
    const where = machine(); // before we put load on it
    const measured = await measure({ ...settings, build });
    print({ benchmark: 'queue', machine: where, versions: versions(peers), settings: { ...settings, payload_bytes: 200 }, ...measured }, json);
}

main().catch((error) => {
    console.error(error.stack);
    process.exit(1);
});
