// SPDX-License-Identifier: Apache-2.0
'use strict';

const { parseArgs } = require('util');

const usage = `experiment [--minutes N] [--json] [--smoke] [--document]
  --minutes N   how long to measure after the first minute (10); faults take at least 5 minutes from 10 on, else N
  --document    write resources/doc/quota-experiment.md and its drawings
  --smoke       half a minute of everything, and a check that all is there`;

/** {minutes, json, smoke, document, build, warmUpS, seconds, faultSeconds}. */
function options() {
    let values;
    try {
        ({ values } = parseArgs({ options: {
            minutes: { type: 'string', default: '10' },
            json: { type: 'boolean', default: false },
            smoke: { type: 'boolean', default: false },
            document: { type: 'boolean', default: false },
        } }));
    } catch (error) {
        fail(error.message);
    }
    const minutes = Number(values.minutes);
    if (!(minutes > 0 && minutes <= 600))
        fail('--minutes must be a number from above 0 to 600.');
    if (!process.env.TIDEKEEPER_BUILD)
        fail('Start it by tests/bench/run.sh.');
    const times = values.smoke ? { warmUpS: 5, seconds: 18, faultSeconds: 0, faultAtS: 0 }
        : { warmUpS: 60, seconds: 60 * (1 + minutes), faultSeconds: 60 * (1 + Math.min(5, minutes)), faultAtS: 60 };
    return { ...values, minutes, ...times, build: process.env.TIDEKEEPER_BUILD };
}

function fail(text) {
    console.error(`${text}\n${usage}`);
    process.exit(2);
}

module.exports = { options };
