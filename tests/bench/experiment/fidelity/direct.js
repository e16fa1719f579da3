// SPDX-License-Identifier: Apache-2.0
'use strict';

const { NoLimiter } = require('../policies/none');

const minuteMs = 60_000;

// What the engine makes of the preset gmail-2026.
const preset = { accountCapacity: 360, accountRefill: 5450, projectCapacity: 72_000, projectRefill: 1_090_000 };

/**
 * Tidekeeper without its engine: the functions in Redis, called by anyone. A window shorter than a minute runs
 * everything so many times faster. `atUs`, when set, is the time that the functions are told.
 */
class Direct extends NoLimiter {
    constructor({ redis, key, windowMs, maxWaitMs = 0 }) {
        super();
        this.redis = redis;
        this.keys = ['account:YQ', 'project', 'policy'].map((name) => `tk:{gmail:${key}}:${name}`);
        this.speed = minuteMs / windowMs;
        this.maxWaitMs = maxWaitMs;
        this.atUs = null;
    }

    /** Stores the policy; once is enough for all who use these keys. */
    async publish() {
        const [, project, policy] = this.keys;
        const fields = {
            account_capacity_milli: preset.accountCapacity * 1000,
            account_refill_per_minute: Math.round(preset.accountRefill * this.speed),
            account_reserve_milli: preset.accountCapacity * 500,
            project_capacity_milli: preset.projectCapacity * 1000,
            project_refill_per_minute: Math.round(preset.projectRefill * this.speed),
            project_reserve_milli: preset.projectCapacity * 200,
            key_ttl_ms: 3_600_000,
            enforce: 1,
        };
        await this.redis.fcall('tidekeeper_publish_v1', 2, policy, project, ...Object.entries(fields).flat());
    }

    async acquire(work) {
        const answer = await this.decide(work.cost, work.lane);
        const [granted, waitMs, retryAfterMs] = answer;
        return { granted: granted === 1, waitMs, retryAfterMs, levelsMilli: [answer[4], answer[6]] };
    }

    decide(cost, lane = 'realtime') {
        return this.atUs === null
            ? this.redis.fcall('tidekeeper_acquire_v1', 3, ...this.keys, cost, lane, this.maxWaitMs)
            : this.redis.fcall('tidekeeper_acquire_at_v1', 3, ...this.keys, this.atUs, cost, lane, this.maxWaitMs);
    }
}

module.exports = { Direct, preset };
