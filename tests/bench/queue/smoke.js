// SPDX-License-Identifier: Apache-2.0
'use strict';

// ctest's bench_smoke_queue: every part of the benchmark runs, and its JSON has each row and figure as a number.
const assert = require('assert');
const { checkComplete, smoke } = require('../support/smoke');

const all = ['tidekeeper', 'bullmq', 'bullmq-keep', 'bull', 'bull-keep', 'bee-queue'];
const rows = {
    throughput: [...all, 'floor', 'ratio'],
    'redis-us': all,
    'client-us': all,
    asked: all,
    inner: all,
    latency: all,
    recovery: ['tidekeeper-short'], // the others' half minutes are too long here
    depth: ['few', 'many', 'ratio'],
};
const figures = ['throughput-add', 'throughput-addMany', 'throughput-bulk', 'throughput-drain1', 'throughput-drain10', 'throughput-drain100',
    'calls-drain', 'calls-steady', 'latency-p99', 'recovery-short', 'depth'];

const result = smoke('queue');
checkComplete(result, { programs: ['bullmq', 'ioredis', 'bull', 'bee-queue'], rows, figures });
for (const id of ['redis-us', 'client-us', 'asked', 'depth']) {
    const { columns, rows: found } = result.tables.find((table) => table.id === id);
    for (const row of found) {
        for (const column of Object.keys(columns))
            assert((row[column].median ?? row[column]) > 0, `${id}, ${row.key}, ${column}: nothing was measured`);
    }
}
