// SPDX-License-Identifier: Apache-2.0
'use strict';

const RedisGCRA = require('redis-gcra');
const { NoLimiter } = require('./none');

/** redis-gcra with the whole minute as burst, as its README has it. */
class Gcra extends NoLimiter {
    constructor({ redis, key, limit, windowMs }) {
        super();
        this.limiter = RedisGCRA({ redis, keyPrefix: key, burst: limit, rate: limit, period: windowMs });
    }

    async acquire(work) {
        const answer = await this.limiter.limit({ key: 'account', cost: work.cost });
        return { granted: !answer.limited, waitMs: 0, retryAfterMs: answer.retryIn };
    }
}

module.exports = { Gcra };
