// SPDX-License-Identifier: Apache-2.0
'use strict';

// Speed of the Gmail limiter's decisions, side by side with others: see README.md one folder up.
const { machine, versions } = require('../support/machine');
const { options } = require('../support/options');
const { Programs } = require('../support/programs');
const { print } = require('../support/report');
const { Engine } = require('./engine');
const { measureFunctions } = require('./functions');
const { measureHttp } = require('./http');
const { measureDirect } = require('./node/direct');
const { measureOutage } = require('./outage');

const peers = ['ioredis', 'rate-limiter-flexible', 'redis-gcra', 'bottleneck', 'limiter'];
const full = { accounts: 50_000, slotMs: 1000, calls: 100_000, idleConnections: 1000, stops: 20 };
const tiny = { accounts: 20_000, slotMs: 40, calls: 2000, idleConnections: 1000, stops: 1 };

/** Every part on one Redis, one after the other: {tables, figures}. */
async function measure(settings) {
    const programs = new Programs();
    const tables = [];
    const figures = [];
    try {
        const redis = await programs.startRedis('redis');
        const take = (part) => {
            tables.push(...part.tables);
            figures.push(...part.figures);
        };
        take(await measureDirect(redis, settings));
        take(await measureFunctions(redis, settings, { programs }));
        const engine = await Engine.start(programs, redis, settings);
        take(await measureHttp(redis, settings, { engine }));
        take(await measureOutage(redis, settings, { engine }));
    } finally {
        await programs.stop();
    }
    return { tables, figures };
}

async function main() {
    const { rounds, json, smoke, build } = options(9);
    const settings = { rounds, ...(smoke ? tiny : full) };
    const where = machine(); // before we put load on it
    const measured = await measure({ ...settings, build });
    print({ benchmark: 'quota', machine: where, versions: versions(peers), settings, ...measured }, json);
}

main().catch((error) => {
    console.error(error.stack);
    process.exit(1);
});
