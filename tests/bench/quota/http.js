// SPDX-License-Identifier: Apache-2.0
'use strict';

// Acquire over HTTP beside the bare Redis function, and what idle connections cost.
const http = require('http');
const { figure } = require('../support/report');
const { interleaved } = require('../support/statistics');
const { acquireWords, redisBenchmark } = require('./functions');
const { publish } = require('./policy');

const connections = 32;

async function measureHttp(redis, settings, { engine }) {
    const words = acquireWords(publish(redis, 'open'));
    const benchmark = () => redisBenchmark(redis, words, { ...settings, clients: connections, pipeline: 1 });
    const acquire = () => engine.load({ connections, ms: settings.slotMs, accounts: settings.accounts });
    const contenders = [
        { key: 'http', name: 'POST …/acquire, wrk', run: acquire },
        { key: 'function', name: 'redis-benchmark, unpipelined', run: benchmark },
    ];
    for (const { run } of contenders)
        await run();
    const results = await interleaved(contenders.map(({ key, run }) => ({ name: key, run })), settings.rounds);
    const answers = results.get('http');
    const idle = await idleConnections(engine, settings.idleConnections);
    return {
        tables: [{
            id: 'http',
            title: `Acquire over HTTP, keep-alive, ${connections} connections`,
            columns: { perSecond: 'calls/s', p50Ms: 'p50 ms', p99Ms: 'p99 ms', maxMs: 'max ms' },
            rows: contenders.map(({ key, name }) => ({ key, name, ...results.get(key) })),
        }, {
            id: 'idle',
            title: `Memory of ${settings.idleConnections} idle connections`,
            columns: { rss: 'RSS, MB', pss: 'PSS, MB' },
            rows: [{ key: 'idle', name: 'grown by', rss: idle.rss / 1e6, pss: idle.pss / 1e6 }],
        }],
        figures: [
            figure('http-rate', 'acquire over HTTP ÷ the bare function, unpipelined',
                answers.perSecond.median / results.get('function').perSecond.median, '≥', 0.5),
            figure('http-p99', 'acquire over HTTP, p99 in ms', answers.p99Ms.median, '≤', 5),
            figure('idle-memory', `${settings.idleConnections} idle connections, MB`,
                Math.max(idle.rss, idle.pss) / 1e6, '≤', 20),
        ],
    };
}

/** What so many connections cost that have each had one answer and wait: {rss, pss} in bytes. */
async function idleConnections(engine, count) {
    const agent = new http.Agent({ keepAlive: true, maxSockets: count, maxFreeSockets: count });
    const before = engine.memory();
    try {
        await Promise.all(Array.from({ length: count }, () => health(engine, agent)));
        const open = Object.values(agent.freeSockets).flat().length;
        if (open !== count)
            throw new Error(`only ${open} of ${count} connections stayed open`);
        const after = engine.memory();
        return { rss: after.rss - before.rss, pss: after.pss - before.pss };
    } finally {
        agent.destroy();
    }
}

function health(engine, agent) {
    return new Promise((resolve, reject) => {
        http.get(`${engine.url}/healthz`, { agent }, (response) => response.resume().once('end', resolve))
            .once('error', reject);
    });
}

module.exports = { measureHttp };
