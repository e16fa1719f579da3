// SPDX-License-Identifier: Apache-2.0
'use strict';

// ctest's bench_smoke_renewal_experiment: every scenario runs with every policy and has all its figures, and ours keeps
// each watch and grant.

const { spawnSync } = require('child_process');
const path = require('path');
const { scenarios } = require('./scenarios');

const { status, stdout, stderr } = spawnSync(process.execPath, [path.join(__dirname, 'main.js'), '--smoke', '--json'],
    { encoding: 'utf8', maxBuffer: 1e8 });
if (status !== 0)
    throw new Error(stderr);
const { results } = JSON.parse(stdout);
if (results.length !== scenarios.length)
    throw new Error(`${results.length} of ${scenarios.length} scenarios ran.`);
const numbers = ['lapsed', 'lapse_minutes', 'grants_lost', 'mean_calls_per_hour', 'peak_calls_per_hour',
    'recovery_peak_calls_per_hour', 'peak_ratio', 'recovery_peak_ratio'];
for (const { name, policies } of results) {
    if (policies.map(({ policy }) => policy).join() !== 'expiry-day,fifty-per-hour,ours')
        throw new Error(`${name}: policies are missing.`);
    for (const figures of policies) {
        const missing = numbers.find((key) => !Number.isFinite(figures[key]));
        if (missing || figures.calls_by_hour.length !== 15 * 24)
            throw new Error(`${name}, ${figures.policy}: ${missing ?? 'calls_by_hour'} is missing.`);
    }
    const ours = policies.at(-1);
    if (ours.lapsed > 0 || ours.grants_lost > 0)
        throw new Error(`${name}: ours let ${ours.lapsed} lapse and lost ${ours.grants_lost} grants.`);
}
