// SPDX-License-Identifier: Apache-2.0
'use strict';

const path = require('path');
const { Worker } = require('worker_threads');
const { sleep } = require('../time');

function message(worker, field) {
    return new Promise((resolve, reject) => {
        worker.on('message', (content) => content[field] && resolve(content[field]));
        worker.once('error', reject);
    });
}

/**
 * Greedy callers on machines whose clocks differ by these offsets, all on one bucket of each subject:
 * {key, windowMs, cost, paceMs, phases} → {subject: [grants of the first machine, of the second, …]}.
 */
async function crowd(names, redisPort, offsetsMs, options) {
    const workers = offsetsMs.map((clockOffsetMs) => new Worker(path.join(__dirname, 'caller.js'), {
        workerData: { names, redisPort, clockOffsetMs, machines: offsetsMs.length, ...options },
    }));
    await Promise.all(workers.map((worker) => message(worker, 'ready')));
    // Windows of the clock begin now, so that those who count in them do not get a half one by chance.
    await sleep(options.windowMs - (Date.now() % options.windowMs));
    const answers = workers.map((worker) => message(worker, 'grants'));
    workers.forEach((worker) => worker.postMessage('start'));
    const grants = await Promise.all(answers);
    await Promise.all(workers.map((worker) => worker.terminate()));
    return Object.fromEntries(names.map((name) => [name, grants.map((machine) => machine[name])]));
}

const unitsOf = (grants) => grants.reduce((sum, [, units]) => sum + units, 0);

/** The most units in any window of this length: [[ms, units], …] in any order. */
function worstWindow(grants, windowMs) {
    const sorted = [...grants].sort((a, b) => a[0] - b[0]);
    let worst = 0;
    let sum = 0;
    for (let first = 0, last = 0; last < sorted.length; ++last) {
        sum += sorted[last][1];
        while (sorted[first][0] <= sorted[last][0] - windowMs)
            sum -= sorted[first++][1];
        worst = Math.max(worst, sum);
    }
    return worst;
}

module.exports = { crowd, unitsOf, worstWindow };
