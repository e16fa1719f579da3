// SPDX-License-Identifier: Apache-2.0
'use strict';

// From the moment that a job was due to be added until its handler starts, at a steady rate.
const { figure } = require('../support/report');
const { interleaved, quantile } = require('../support/statistics');
const { bestPeer, contenders, start } = require('./contenders');

const consumers = 10;

/** A producer that keeps its schedule whatever the answers do, and a worker: µs for each job, {fromDue, fromSent}. */
async function openLoop(contender, redis, settings, count) {
    const worker = start(contender, redis, settings, 'consume', { count, consumers });
    await worker.line(/^ready$/);
    const producer = start(contender, redis, settings, 'produce', { count, rate: settings.rate });
    await producer.ended;
    return worker.result();
}

async function measureLatency(redis, settings) {
    const { rate, steadySeconds, warmSeconds, rounds } = settings;
    const run = async (contender) => {
        await redis.clear();
        const count = Math.round(rate * (steadySeconds + warmSeconds));
        const { fromDue, fromSent } = await openLoop(contender, redis, settings, count);
        const ms = (list, share) => quantile(list.slice(Math.round(rate * warmSeconds)), share) / 1000;
        return { p50: ms(fromDue, 0.5), p99: ms(fromDue, 0.99), max: ms(fromDue, 1), sentP50: ms(fromSent, 0.5),
            sentP99: ms(fromSent, 0.99) };
    };
    const results = await interleaved(contenders.map((contender) =>
        ({ name: contender.key, run: () => run(contender) })), rounds);
    const best = bestPeer(results, (result) => result.p99.median, Math.min);
    return {
        tables: [{
            id: 'latency',
            title: `From due to started, ${rate} jobs/s, ${consumers} in flight at most, ms`,
            columns: { p50: 'p50', p99: 'p99', max: 'longest', sentP50: 'p50 from sent', sentP99: 'p99 from sent' },
            rows: contenders.map(({ key, name }) => ({ key, name, ...results.get(key) })),
        }],
        figures: [figure('latency-p99', 'p99 from due to started ÷ best peer\'s',
            results.get('tidekeeper').p99.median / best, '≤', 1)],
    };
}

module.exports = { measureLatency, openLoop };
