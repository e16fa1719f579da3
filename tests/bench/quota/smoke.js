// SPDX-License-Identifier: Apache-2.0
'use strict';

// ctest's bench_smoke: every part of the benchmark runs, and its JSON has each row and figure as a number.
const assert = require('assert');
const { execFileSync } = require('child_process');
const path = require('path');

const rows = {
    direct: ['tidekeeper', 'tidekeeper-id', 'tidekeeper-hold', 'tidekeeper-refusal', 'flexible-single', 'flexible-union',
        'redis-gcra', 'bottleneck', 'limiter', 'empty-function'],
    functions: ['engine-grant', 'benchmark-grant', 'benchmark-one', 'engine-refusal', 'benchmark-refusal'],
    http: ['http', 'function'],
    idle: ['idle'],
    outage: ['before', 'after'],
};
rows['direct-autopipelining'] = rows.direct;
const figures = ['direct-union', 'direct-single', 'direct-autopipelining-union', 'direct-autopipelining-single',
    'engine-client', 'refusals', 'refusal-bytes', 'http-rate', 'http-p99', 'idle-memory', 'outage-before', 'outage-after'];

const text = execFileSync(path.join(__dirname, '../run.sh'), ['quota', '--smoke', '--json'],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
const result = JSON.parse(text);

for (const field of ['date', 'cpu', 'cores', 'system'])
    assert(result.machine[field], `the machine's ${field} is missing`);
for (const name of ['tidekeeper', 'redis', 'node', 'ioredis', 'rate-limiter-flexible'])
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
const bytes = (key) => result.tables.find(({ id }) => id === 'functions').rows.find((row) => row.key === key).bytes;
assert(bytes('engine-grant') > 0, 'a grant is in the append-only file');
assert.strictEqual(bytes('engine-refusal'), 0, 'a refusal adds nothing to the append-only file');
