// SPDX-License-Identifier: Apache-2.0
'use strict';

const assert = require('assert');
const { spawnSync } = require('child_process');
const path = require('path');

const notInstalled = 77; // of run.sh; ctest calls it skipped

/** Runs a benchmark with --smoke; its JSON. Ends this program when the packages cannot be had. */
function smoke(benchmark) {
    const { status, stdout } = spawnSync(path.join(__dirname, '../run.sh'), [benchmark, '--smoke', '--json'],
        { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 1e8 });
    if (status === notInstalled)
        process.exit(notInstalled);
    assert.strictEqual(status, 0, `${benchmark} --smoke ended with ${status}`);
    return JSON.parse(stdout);
}

/**
 * That the machine, these versions, exactly these rows (by table) and these figures are there, each figure a number
 * and each row with numbers.
 */
function checkComplete(result, { programs, rows, figures }) {
    for (const field of ['date', 'cpu', 'cores', 'system'])
        assert(result.machine[field], `the machine's ${field} is missing`);
    for (const name of ['tidekeeper', 'redis', 'node', ...programs])
        assert.match(result.versions[name], /\w/, `the version of ${name} is missing`);

    assert.deepStrictEqual(result.tables.map(({ id }) => id).sort(), Object.keys(rows).sort());
    for (const { id, columns, rows: found } of result.tables) {
        assert.deepStrictEqual(found.map(({ key }) => key), rows[id], `rows of ${id}`);
        for (const row of found) {
            const numbers = Object.keys(columns).map((column) => row[column]?.median ?? row[column]);
            assert(numbers.some(Number.isFinite), `${id}, ${row.key}: no number`);
            assert(row.perSecond === undefined || row.perSecond.median > 0, `${id}, ${row.key}: nothing was done`);
        }
    }

    assert.deepStrictEqual(result.figures.map(({ id }) => id), figures);
    for (const { id, value } of result.figures)
        assert(Number.isFinite(value), `figure ${id} is ${value}`);
}

module.exports = { checkComplete, smoke };
