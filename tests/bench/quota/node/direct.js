// SPDX-License-Identifier: Apache-2.0
'use strict';

const { fork } = require('child_process');
const path = require('path');
const { figure } = require('../../support/report');
const { interleaved } = require('../../support/statistics');
const { publish, publishDrained } = require('../policy');

const contenders = [
    { key: 'tidekeeper', name: 'tidekeeper, every feature' },
    { key: 'tidekeeper-id', name: 'tidekeeper, with an id' },
    { key: 'tidekeeper-hold', name: 'tidekeeper, place held and released (two calls)' },
    { key: 'tidekeeper-refusal', name: 'tidekeeper, refusal' },
    { key: 'flexible-single', name: 'rate-limiter-flexible, single' },
    { key: 'flexible-union', name: 'rate-limiter-flexible, Union of two' },
    { key: 'redis-gcra', name: 'redis-gcra' },
    { key: 'bottleneck', name: 'bottleneck' },
    { key: 'limiter', name: 'limiter (in this process only)' },
    { key: 'empty-function', name: 'a Redis function that does nothing' },
];

class Worker {
    constructor(key, redis, accounts, autoPipelining) {
        this.process = fork(path.join(__dirname, 'worker.js'), [key, redis.port, accounts, autoPipelining].map(String));
        this.redis = redis;
    }

    async run(ms) {
        this.redis.resetStatistics();
        const { error, calls, seconds, cpuUs } = await new Promise((resolve, reject) => {
            this.process.once('exit', (code) => reject(new Error(`a worker ended with ${code}`)));
            this.process.once('message', resolve);
            this.process.send({ ms });
        });
        this.process.removeAllListeners('exit');
        if (error)
            throw new Error(error);
        return { perSecond: calls / seconds, redisUs: this.redis.microsecondsInScripts() / calls, clientUs: cpuUs / calls };
    }
}

/** One Node.js process for each contender, 50 calls in flight on one connection. */
async function table(redis, { accounts, rounds, slotMs }, autoPipelining) {
    const workers = contenders.map(({ key }) => new Worker(key, redis, accounts, autoPipelining));
    try {
        for (const worker of workers)
            await worker.run(slotMs); // compiled, and the keys are there
        const results = await interleaved(contenders.map(({ key }, i) =>
            ({ name: key, run: () => workers[i].run(slotMs) })), rounds);
        const tidekeeper = results.get('tidekeeper').perSecond.median;
        return {
            id: autoPipelining ? 'direct-autopipelining' : 'direct',
            title: `One Node.js process, ioredis, 50 in flight${autoPipelining ? ', enableAutoPipelining' : ''}`,
            columns: { perSecond: 'calls/s', redisUs: 'Redis µs per call', clientUs: 'Node.js µs per call', ratio: 'tidekeeper ÷ this' },
            rows: contenders.map(({ key, name }) => ({ key, name, ...results.get(key),
                ratio: tidekeeper / results.get(key).perSecond.median })),
        };
    } finally {
        workers.forEach((worker) => worker.process.disconnect());
    }
}

async function measureDirect(redis, settings) {
    publish(redis, 'open');
    publishDrained(redis, 'drained', Array.from({ length: settings.accounts }, (_, i) =>
        Buffer.from(`user${i}@example.com`).toString('base64url')));
    const tables = [await table(redis, settings, false), await table(redis, settings, true)];
    const figures = tables.flatMap(({ id, rows, title }) => {
        const ratio = (key) => rows.find((row) => row.key === key).ratio;
        const where = id === 'direct' ? '' : ' (auto-pipelining)';
        return [
            figure(`${id}-union`, `Node.js, ÷ rate-limiter-flexible's Union${where}`, ratio('flexible-union'), '≥', 1.25),
            figure(`${id}-single`, `Node.js, ÷ its single limiter${where}`, ratio('flexible-single'), '≥', 0.6),
        ];
    });
    return { tables, figures };
}

module.exports = { measureDirect };
