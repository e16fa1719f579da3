// SPDX-License-Identifier: Apache-2.0
'use strict';

const { NoLimiter } = require('./none');

// The token bucket as many services write it: the caller says what time it is, and the refill is stored with it.
const script = `
local capacity, perMs, now, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local kept = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens, at = tonumber(kept[1]) or capacity, tonumber(kept[2]) or now
tokens = math.min(capacity, tokens + math.max(0, now - at) * perMs)
local granted = tokens >= cost
if granted then tokens = tokens - cost end
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', ARGV[3])
redis.call('PEXPIRE', KEYS[1], math.ceil(2 * capacity / perMs))
return { granted and 1 or 0, granted and 0 or math.ceil((cost - tokens) / perMs) }`;

/** Capacity and refill per minute are the same number, as is usual. */
class ClientClockBucket extends NoLimiter {
    constructor({ redis, key, limit, windowMs }) {
        super();
        if (!redis.clientClockBucket)
            redis.defineCommand('clientClockBucket', { numberOfKeys: 1, lua: script });
        this.redis = redis;
        this.key = key;
        this.limit = limit; // units
        this.windowMs = windowMs;
    }

    async acquire(work) {
        const perMs = this.limit / this.windowMs;
        const [granted, retryAfterMs] =
            await this.redis.clientClockBucket(this.key, this.limit, perMs, Date.now(), work.cost);
        return { granted: granted === 1, waitMs: 0, retryAfterMs };
    }
}

module.exports = { ClientClockBucket };
