// SPDX-License-Identifier: Apache-2.0
'use strict';

// What weeks of trouble do to watches, in virtual time: ours beside two ways that are common in published code.

const { spawnSync } = require('child_process');
const path = require('path');
const { parseArgs } = require('util');
const { machine, versions } = require('../support/machine');
const { markdown } = require('../support/report');
const { figuresTable, writeDocument } = require('./document');
const { goals, scenarios } = require('./scenarios');

const size = { full: ['--accounts', '10000', '--days', '30'], smoke: ['--accounts', '200', '--days', '15'] };

function simulate(build, args) {
    const { status, stdout, stderr, error } = spawnSync(path.join(build, 'bin/tidekeeper'),
        ['simulate', '--json', ...args], { encoding: 'utf8', maxBuffer: 1e8 });
    if (status !== 0)
        throw new Error(`tidekeeper simulate ${args.join(' ')}: ${error ?? stderr}`);
    return JSON.parse(stdout).policies;
}

/** [{scenario, goal, most, met, value}] of ours. */
function judged(results) {
    return results.flatMap(({ name, policies }) => {
        const ours = policies.find(({ policy }) => policy === 'ours');
        return goals.map((goal) => ({ scenario: name, goal: goal.name, most: goal.most, value: goal.of(ours),
                                      met: goal.of(ours) <= goal.most }));
    });
}

function main() {
    const { values } = parseArgs({ options: {
        json: { type: 'boolean', default: false },
        smoke: { type: 'boolean', default: false },
        document: { type: 'boolean', default: false },
    } });
    const where = { machine: machine(), versions: versions([]) };
    const begunAt = performance.now();
    const results = scenarios.map(({ name, title, trouble }) => ({ name, title,
        policies: simulate(process.env.TIDEKEEPER_BUILD, [...(values.smoke ? size.smoke : size.full), ...trouble]) }));
    const whole = { ...where, tookS: (performance.now() - begunAt) / 1000, results, goals: judged(results) };
    if (values.json) {
        console.log(JSON.stringify(whole));
        return;
    }
    console.log(markdown(figuresTable(results)));
    // A few accounts say nothing about peaks.
    const missed = values.smoke ? [] : whole.goals.filter(({ met }) => !met);
    for (const { scenario, goal, value, most } of missed)
        console.log(`Missed: ${scenario}, ${goal}: ${value}, at most ${most} was to be reached.`);
    if (values.document)
        console.log(`Written to ${writeDocument(whole)}.`);
}

main();
