// SPDX-License-Identifier: Apache-2.0
'use strict';

const { parseArgs } = require('util');

/** What run.sh hands on: {rounds, json, smoke, build, part}; part is one of these names, or undefined for all. */
function options(defaultRounds, parts = []) {
    let values;
    try {
        ({ values } = parseArgs({ options: {
            rounds: { type: 'string' },
            json: { type: 'boolean', default: false },
            smoke: { type: 'boolean', default: false },
            ...(parts.length ? { part: { type: 'string' } } : {}),
        } }));
    } catch (error) {
        fail(error.message);
    }
    const rounds = values.smoke ? 1 : Number(values.rounds ?? defaultRounds);
    if (!Number.isInteger(rounds) || rounds < 1)
        fail('--rounds must be a whole number from 1.');
    if (values.part !== undefined && !parts.includes(values.part))
        fail(`--part must be one of ${parts.join(', ')}.`);
    if (!process.env.TIDEKEEPER_BUILD)
        fail('Start it by tests/bench/run.sh.');
    return { rounds, json: values.json, smoke: values.smoke, build: process.env.TIDEKEEPER_BUILD, part: values.part };
}

function fail(text) {
    console.error(text);
    process.exit(2);
}

module.exports = { options };
