// SPDX-License-Identifier: Apache-2.0
'use strict';

const { RateLimiterRedis, RateLimiterUnion } = require('rate-limiter-flexible');
const { NoLimiter } = require('./none');

function limiterOf(redis, keyPrefix, points, windowMs) {
    return new RateLimiterRedis({ storeClient: redis, keyPrefix, points, duration: windowMs / 1000 });
}

/** rate-limiter-flexible: `consume(key, points)`, and when that rejects, again after msBeforeNext. */
class FlexibleSingle extends NoLimiter {
    constructor({ redis, key, limit, windowMs }) {
        super();
        this.limiter = limiterOf(redis, key, limit, windowMs);
    }

    async acquire(work) {
        try {
            await this.limiter.consume('account', work.cost);
            return { granted: true, waitMs: 0 };
        } catch (rejected) {
            return refusal([rejected]);
        }
    }
}

/** Its RateLimiterUnion of account and project. */
class FlexibleUnion extends NoLimiter {
    constructor({ redis, key, projectKey, limit, projectLimit, windowMs }) {
        super();
        const account = limiterOf(redis, `${key}:account`, limit, windowMs);
        this.project = limiterOf(redis, projectKey, projectLimit, windowMs);
        // A Union asks all its limiters for one key; the project's bucket is the same for every account.
        const shared = Object.create(this.project, { consume: {
            value: (key, points) => this.project.consume('project', points),
        } });
        this.union = new RateLimiterUnion(account, shared);
    }

    async acquire(work) {
        try {
            await this.union.consume('account', work.cost);
            return { granted: true, waitMs: 0 };
        } catch (rejected) {
            return refusal(Object.values(rejected));
        }
    }
}

function refusal(rejections) {
    const error = rejections.find((rejection) => rejection instanceof Error);
    if (error)
        throw error;
    return { granted: false, retryAfterMs: Math.max(...rejections.map((rejection) => rejection.msBeforeNext)) };
}

module.exports = { FlexibleSingle, FlexibleUnion };
