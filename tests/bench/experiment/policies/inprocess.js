// SPDX-License-Identifier: Apache-2.0
'use strict';

const { RateLimiter } = require('limiter');
const { NoLimiter } = require('./none');

/** `limiter` knows only its own process, so each of the processes is given its share. It queues; it never refuses. */
class InProcess extends NoLimiter {
    constructor({ limit, windowMs, processes }) {
        super();
        this.limiter = new RateLimiter({ tokensPerInterval: Math.floor(limit / processes), interval: windowMs });
    }

    async acquire(work) {
        await this.limiter.removeTokens(work.cost);
        return { granted: true, waitMs: 0 };
    }
}

module.exports = { InProcess };
