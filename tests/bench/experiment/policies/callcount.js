// SPDX-License-Identifier: Apache-2.0
'use strict';

const { NoLimiter } = require('./none');

/** Counts calls, not units, in windows of the caller's clock, as if all cost what the usual one does. */
class CallCounting extends NoLimiter {
    constructor({ redis, key, limit, windowMs }) {
        super();
        this.redis = redis;
        this.key = key;
        this.limit = limit; // calls
        this.windowMs = windowMs;
    }

    async acquire(work) {
        const window = Math.floor(Date.now() / this.windowMs);
        const calls = work.calls.length;
        const [[, counted]] = await this.redis.multi()
            .incrby(`${this.key}:${window}`, calls)
            .pexpire(`${this.key}:${window}`, 2 * this.windowMs)
            .exec();
        if (counted <= this.limit)
            return { granted: true, waitMs: 0 };
        return { granted: false, retryAfterMs: (window + 1) * this.windowMs - Date.now() };
    }
}

module.exports = { CallCounting };
