// SPDX-License-Identifier: Apache-2.0
'use strict';

// From the kill -9 of a worker until another starts the job that it held.
const { setTimeout: sleep } = require('timers/promises');
const { figure } = require('../support/report');
const { spread } = require('../support/statistics');
const { contenders, start } = require('./contenders');

const shortLeaseMs = 3000;
const byKey = (key) => contenders.find((contender) => contender.key === key);

const subjects = [
    { key: 'tidekeeper', name: 'tidekeeper, default settings', contender: byKey('tidekeeper') },
    { key: 'tidekeeper-short', name: `tidekeeper, lease of ${shortLeaseMs / 1000} s`, contender: byKey('tidekeeper'),
        options: { lease: shortLeaseMs } },
    { key: 'bullmq', name: 'BullMQ, default settings', contender: byKey('bullmq') },
    { key: 'bull', name: 'bull, default settings', contender: byKey('bull') },
    { key: 'bee-queue', name: 'bee-queue, default settings, checked every interval', contender: byKey('bee-queue') },
];

function monotonicUs() {
    return Number(process.hrtime.bigint() / 1000n);
}

/** Seconds; afterMs of holding the job pass first, so that victims die at different times of their beats. */
async function recover({ contender, options }, redis, settings, queue, afterMs) {
    const holder = start(contender, redis, settings, 'hold', { queue, ...options });
    await holder.line(/^ready$/);
    await start(contender, redis, settings, 'add', { queue, count: 1 }).result();
    await holder.line(/^started /);
    const other = start(contender, redis, settings, 'hold', { queue, ...options });
    await other.line(/^ready$/);
    await sleep(afterMs);
    const killed = monotonicUs();
    holder.kill();
    const [, started] = await other.line(/^started (\d+)$/);
    other.kill();
    return (Number(started) - killed) / 1e6;
}

/** All at the same time, each in a queue of its own: they do little but wait. */
async function measureRecovery(redis, settings) {
    await redis.clear();
    const { victims, fastOnly } = settings;
    const measured = subjects.filter(({ key }) => !fastOnly || key === 'tidekeeper-short');
    const rows = await Promise.all(measured.map(async (subject) => {
        const seconds = await Promise.all(Array.from({ length: victims }, (_, i) =>
            recover(subject, redis, settings, `${subject.key}-${i}`, 500 + 3000 * i / victims)));
        return { key: subject.key, name: subject.name, seconds: spread(seconds) };
    }));
    const longest = (key) => rows.find((row) => row.key === key)?.seconds.max;
    return {
        tables: [{ id: 'recovery', title: 'From kill -9 to the next start, s', columns: { seconds: 'seconds' }, rows }],
        figures: [
            ...(fastOnly ? [] : [figure('recovery', 'the longest recovery, default settings, s', longest('tidekeeper'), '≤', 15)]),
            figure('recovery-short', `the longest recovery, lease of ${shortLeaseMs / 1000} s, s`, longest('tidekeeper-short'), '≤', 5),
        ],
    };
}

module.exports = { measureRecovery };
