// SPDX-License-Identifier: Apache-2.0
'use strict';

// ctest's bench_smoke: every part of the benchmark runs, and its JSON has each row and figure as a number.
const assert = require('assert');
const { checkComplete, smoke } = require('../support/smoke');

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

const result = smoke('quota');
checkComplete(result, { programs: ['ioredis', 'rate-limiter-flexible'], rows, figures });
const bytes = (key) => result.tables.find(({ id }) => id === 'functions').rows.find((row) => row.key === key).bytes;
assert(bytes('engine-grant') > 0, 'a grant is in the append-only file');
assert.strictEqual(bytes('engine-refusal'), 0, 'a refusal adds nothing to the append-only file');
