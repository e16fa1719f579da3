// SPDX-License-Identifier: Apache-2.0
'use strict';

const { policies } = require('../policies');
const { Direct } = require('./direct');

/** What is measured: ours without the engine, and every policy but that without a limiter. */
const subjects = policies.filter(({ name }) => name !== 'none').map((policy) => ({
    ...policy,
    make: policy.name === 'tidekeeper' ? Direct : policy.make,
    // These two queue inside of their acquire: they neither refuse nor tell a wait.
    queues: policy.name === 'bottleneck' || policy.name === 'limiter',
}));

const subjectNamed = (name) => subjects.find((subject) => subject.name === name);

/** A limiter of this subject under a key that nobody else uses; `options` may change the window and others. */
async function fresh(subject, redis, key, options = {}) {
    const limiter = new subject.make({
        redis, key, limit: subject.limit, windowMs: 60_000, processes: 1,
        projectKey: `${key}:project`, projectLimit: 1_200_000, ...options,
    });
    await limiter.publish?.();
    return limiter;
}

/** A request for so many units, by so many calls. */
const workOf = (cost, calls = 1) => ({ cost, lane: 'realtime', calls: { length: calls } });

module.exports = { fresh, subjectNamed, subjects, workOf };
