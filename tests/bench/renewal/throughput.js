// SPDX-License-Identifier: Apache-2.0
'use strict';

const { spawn } = require('child_process');
const fs = require('fs');
const path = require('path');
const { setTimeout: sleep } = require('timers/promises');
const { figure } = require('../support/report');
const { interleaved } = require('../support/statistics');

const patienceMs = 120_000;

/** Processor time of a process so far, in µs. */
function processorUs(pid) {
    const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10_000; // utime, stime in ticks of 10 ms
}

/** Imports accounts that are due at once and waits until Google has watched them all. */
async function byEngine(engine, google, lines, count) {
    const before = await google.totals();
    await engine.import(lines);
    const cpu = processorUs(engine.pid);
    const started = performance.now();
    for (;;) {
        const { watches } = await google.totals();
        if (watches - before.watches >= count)
            break;
        if (performance.now() - started > patienceMs)
            throw new Error(`only ${watches - before.watches} of ${count} were renewed`);
        await sleep(10);
    }
    const seconds = (performance.now() - started) / 1000;
    return { perSecond: count / seconds, cpuUs: (processorUs(engine.pid) - cpu) / count };
}

/** The same accounts by Google's own client for Node.js. */
function byLoop(google, lines, count, atOnce) {
    return new Promise((resolve, reject) => {
        const program = spawn('node', [path.join(__dirname, 'node/loop.js'), google.url, String(atOnce)],
            { stdio: ['pipe', 'pipe', 'inherit'] });
        let printed = '';
        program.stdout.on('data', (text) => { printed += text; });
        program.on('error', reject);
        program.stdin.on('error', () => {}); // its exit tells more
        program.on('exit', (code) => {
            const ms = Number(printed);
            if (code !== 0 || !(ms > 0))
                reject(new Error(`the loop ended with ${code}`));
            else
                resolve({ perSecond: count / (ms / 1000) });
        });
        program.stdin.end(lines);
    });
}

async function measureThroughput({ engine, google }, { rounds, renewals, consumers }) {
    let made = 0;
    const accounts = () => google.makeAccounts(`round${made++}-`, renewals);
    const results = await interleaved([
        { name: 'tidekeeper', run: async () => byEngine(engine, google, await accounts(), renewals) },
        { name: 'loop', run: async () => byLoop(google, await accounts(), renewals, consumers) },
    ], rounds);
    const row = (key, name) => ({ key, name, ...results.get(key) });
    return {
        tables: [{
            id: 'throughput',
            title: `Renewals: a token and a watch each, ${renewals} accounts due at once, ${consumers} at the same time`,
            columns: { perSecond: 'per second', cpuUs: 'engine µs per renewal' },
            rows: [row('tidekeeper', 'Tidekeeper: limited, leased, saved, noted'),
                row('loop', 'Google\'s Node.js client in a loop: nothing saved')],
        }],
        figures: [figure('renewals', 'renewals per second, one engine',
            results.get('tidekeeper').perSecond.median, '≥', 300)],
    };
}

module.exports = { measureThroughput, processorUs };
