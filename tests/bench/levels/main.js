// SPDX-License-Identifier: Apache-2.0
'use strict';

// What the live list of levels costs Redis and the decisions: see README.md one folder up.
const { execFile } = require('child_process');
const path = require('path');
const { promisify } = require('util');
const { machine, versions } = require('../support/machine');
const { options } = require('../support/options');
const { Programs } = require('../support/programs');
const { figure, print } = require('../support/report');
const { median, spread } = require('../support/statistics');

const full = { accounts: 100_000, calls: 100_000, inFlight: 512 };
const tiny = { accounts: 5_000, calls: 5_000, inFlight: 512 };

async function measure({ build, accounts, calls, inFlight, rounds }) {
    const programs = new Programs();
    try {
        const redis = await programs.startRedis('redis');
        const client = path.join(build, 'bin/tidekeeper-bench-levels');
        const { stdout } = await promisify(execFile)(client, ['--port', redis.port, '--accounts', accounts,
            '--calls', calls, '--in-flight', inFlight, '--rounds', rounds].map(String));
        return JSON.parse(stdout);
    } finally {
        await programs.stop();
    }
}

function report({ off, on, list_us: listUs, accounts }) {
    const of = (rounds, key) => rounds.map((round) => round[key]);
    const ratioOf = (key) => spread(off.map((without, round) => on[round][key] / without[key]));
    const ratio = ratioOf('per_second');
    const cpuRatio = ratioOf('cpu_us');
    const row = (name, rounds) =>
        ({ name, perSecond: spread(of(rounds, 'per_second')), cpu: spread(of(rounds, 'cpu_us')) });
    return {
        tables: [
            { title: `Grants, ${accounts.toLocaleString('en-US')} accounts`,
                columns: { perSecond: 'per second', ratio: 'ratio', cpu: 'µs of processor each', cpuRatio: 'ratio' },
                rows: [row('nothing is written for the list', off),
                    { ...row('index, uses and sweep', on), ratio, cpuRatio }] },
            { title: 'The first hundred accounts', columns: { us: 'µs of Redis' },
                rows: [{ name: 'one reading', us: spread(listUs) }] },
        ],
        figures: [
            figure('levels_list_us', 'µs of Redis for the first hundred', median(listUs), '≤', 2000),
            figure('levels_ratio', 'grants with the list ÷ without', ratio.median, '≥', 0.95),
            figure('levels_cpu_ratio', 'processor time of a grant with the list ÷ without', cpuRatio.median, '≤', 1.05),
        ],
    };
}

async function main() {
    const { rounds, json, smoke, build } = options(7);
    const settings = { rounds, ...(smoke ? tiny : full) };
    const where = machine(); // before we put load on it
    const measured = await measure({ ...settings, build });
    print({ benchmark: 'levels', machine: where, versions: versions([]), settings, ...report(measured) }, json);
}

main().catch((error) => {
    console.error(error.stack);
    process.exit(1);
});
