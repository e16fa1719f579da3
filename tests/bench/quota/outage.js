// SPDX-License-Identifier: Apache-2.0
'use strict';

// How long acquire over HTTP takes while Redis is stopped by SIGSTOP.
const http = require('http');
const { setTimeout: sleep } = require('timers/promises');
const { figure } = require('../support/report');
const { quantile } = require('../support/statistics');

const inFlight = 8;
const deadlineMs = 100; // of an acquire that names none
const recoveryMs = 5_000;

class Client {
    constructor(engine, accounts) {
        this.engine = engine;
        this.accounts = accounts;
        this.agent = new http.Agent({ keepAlive: true, maxSockets: inFlight });
    }

    /** One acquire: {ms, degraded}. */
    ask() {
        const account = `user${Math.floor(Math.random() * this.accounts)}@example.com`;
        const start = performance.now();
        return new Promise((resolve, reject) => {
            const request = http.request(this.engine.url + this.engine.acquirePath, { method: 'POST', agent: this.agent,
                headers: this.engine.headers }, (response) => {
                let text = '';
                response.setEncoding('utf8').on('data', (part) => text += part);
                response.once('end', () => {
                    const ms = performance.now() - start;
                    if (response.statusCode !== 200 && response.statusCode !== 429)
                        reject(new Error(`acquire answered ${response.statusCode}: ${text}`));
                    else
                        resolve({ ms, degraded: JSON.parse(text).degraded === true });
                });
            });
            request.once('error', reject).end(JSON.stringify({ account, method: 'gmail.users.messages.get' }));
        });
    }

    /** So many at a time until the first answers come that Redis did not give: the latencies of all these. */
    async untilDegraded() {
        const latencies = [];
        let degraded = false;
        const consumer = async () => {
            while (!degraded) {
                const answer = await this.ask();
                degraded = degraded || answer.degraded;
                latencies.push(answer);
            }
        };
        await Promise.all(Array.from({ length: inFlight }, consumer));
        return latencies.filter((answer) => answer.degraded).map(({ ms }) => ms);
    }

    async untilRecovered() {
        for (const until = performance.now() + recoveryMs; performance.now() < until; await sleep(20)) {
            if (!(await this.ask()).degraded)
                return;
        }
        throw new Error('acquires stay degraded although Redis is back');
    }
}

async function measureOutage(redis, settings, { engine }) {
    const client = new Client(engine, settings.accounts);
    const before = [];
    const after = [];
    for (let stop = 0; stop < settings.stops; ++stop) {
        await client.untilRecovered();
        redis.pause();
        try {
            before.push(...await client.untilDegraded());
            after.push(await engine.load({ connections: inFlight, ms: settings.slotMs, accounts: settings.accounts }));
        } finally {
            redis.resume();
        }
    }
    await client.untilRecovered();
    client.agent.destroy();
    return summary(before, after);
}

function summary(before, after) {
    const worst = (key) => quantile(after.map((one) => one[key]), 0.5);
    return {
        tables: [{
            id: 'outage',
            title: `Acquire over HTTP while Redis is stopped (SIGSTOP), ${inFlight} in flight`,
            columns: { calls: 'calls', p50Ms: 'p50 ms', p99Ms: 'p99 ms', p999Ms: 'p99.9 ms', maxMs: 'max ms' },
            rows: [
                { key: 'before', name: 'before the breaker opens', calls: before.length, p50Ms: quantile(before, 0.5),
                    p99Ms: quantile(before, 0.99), p999Ms: quantile(before, 0.999), maxMs: Math.max(...before) },
                { key: 'after', name: 'after it opened', calls: after.reduce((sum, one) => sum + one.requests, 0),
                    p50Ms: worst('p50Ms'), p99Ms: worst('p99Ms'), p999Ms: worst('p999Ms'),
                    maxMs: Math.max(...after.map((one) => one.maxMs)) },
            ],
        }],
        figures: [
            figure('outage-before', 'Redis stopped: p99 in ms before the breaker opens', quantile(before, 0.99),
                '≤', deadlineMs + 10),
            figure('outage-after', 'Redis stopped: p99 in ms after it opened', worst('p99Ms'), '≤', 1),
        ],
    };
}

module.exports = { measureOutage };
