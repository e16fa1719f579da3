// SPDX-License-Identifier: Apache-2.0
'use strict';

// Each contender is made with an ioredis client and gives a function that asks once about one account. The answer of ours
// says `granted`; the others reject when they refuse.
const Bottleneck = require('bottleneck');
const { RateLimiter } = require('limiter');
const { RateLimiterRedis, RateLimiterUnion } = require('rate-limiter-flexible');
const redisGcra = require('redis-gcra');
const { cost, keysOf } = require('../policy');

const deadlineUs = 30e6; // far enough for a loaded machine: a late answer is not what is measured

/** What a consumer without the engine writes: one function call, an answer with names. */
class Tidekeeper {
    constructor(redis, project) {
        this.redis = redis;
        this.keys = keysOf(project);
    }

    async acquire(account, { id, family = '' } = {}) {
        const { keys } = this;
        const name = Buffer.from(account).toString('base64url');
        const given = [keys.account + name, keys.project, keys.policy];
        if (id)
            given.push(`${keys.id}${name}:${Buffer.from(id).toString('base64url')}`);
        return answerOf(await this.redis.fcall('tidekeeper_acquire_v1', given.length, ...given, cost, 'realtime', 0,
            Date.now() * 1000 + deadlineUs, family));
    }

    async hold(account) {
        const { keys } = this;
        const name = Buffer.from(account).toString('base64url');
        const slots = keys.slots + name;
        const answer = await this.redis.fcall('tidekeeper_hold_v1', 4, keys.account + name, keys.project, keys.policy,
            slots, cost, 'realtime', 0, Date.now() * 1000 + deadlineUs, '');
        return { ...answerOf(answer), slots, hold: answer[9] };
    }

    release({ slots, hold }) {
        return this.redis.fcall('tidekeeper_release_v1', 1, slots, hold);
    }
}

function answerOf(a) {
    return { granted: a[0] === 1, waitMs: a[1], retryAfterMs: a[2], refusedBy: a[3], accountLevel: a[4],
        accountCapacity: a[5], projectLevel: a[6], projectCapacity: a[7], grantUs: a[8] };
}

function flexible(redis, keyPrefix) {
    return new RateLimiterRedis({ storeClient: redis, keyPrefix, points: 1e9, duration: 60 });
}

const contenders = {
    tidekeeper(redis) {
        const limiter = new Tidekeeper(redis, 'open');
        return (account) => limiter.acquire(account, { family: 'messages' });
    },
    'tidekeeper-id'(redis) {
        const limiter = new Tidekeeper(redis, 'open');
        let n = 0;
        return (account) => limiter.acquire(account, { id: `${process.pid}-${++n}` });
    },
    'tidekeeper-hold'(redis) {
        const limiter = new Tidekeeper(redis, 'open');
        return async (account) => {
            const held = await limiter.hold(account);
            await limiter.release(held);
            return held;
        };
    },
    'tidekeeper-refusal'(redis) {
        const limiter = new Tidekeeper(redis, 'drained');
        return (account) => limiter.acquire(account);
    },
    'flexible-single'(redis) {
        const limiter = flexible(redis, 'single');
        return (account) => limiter.consume(account, cost);
    },
    'flexible-union'(redis) {
        const limiter = new RateLimiterUnion(flexible(redis, 'minute'), flexible(redis, 'project'));
        return (account) => limiter.consume(account, cost);
    },
    'redis-gcra'(redis) {
        const limiter = redisGcra({ redis, keyPrefix: 'gcra', burst: 1e6, rate: 1e6, period: 1000 });
        return (account) => limiter.limit({ key: account, cost });
    },
    // One limiter for all: it keeps eight keys for each, which is not meant for one per mailbox.
    bottleneck(redis) {
        const connection = new Bottleneck.IORedisConnection({ client: redis });
        const limiter = new Bottleneck({ id: 'bench', connection, reservoir: 1e9 });
        return () => limiter.schedule({ weight: cost }, async () => {});
    },
    limiter() {
        const limiters = new Map();
        return async (account) => {
            if (!limiters.has(account))
                limiters.set(account, new RateLimiter({ tokensPerInterval: 1e9, interval: 'minute' }));
            limiters.get(account).tryRemoveTokens(cost);
        };
    },
    'empty-function'(redis) {
        return () => redis.fcall('tidekeeper_quota_build', 0);
    },
};

module.exports = { contenders };
