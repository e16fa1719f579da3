// SPDX-License-Identifier: Apache-2.0
'use strict';

const { exchangeJson } = require('../http');
const { now } = require('../time');
const { NoLimiter } = require('./none');

const validMs = 2000; // a grant that was not used this long after its wait is given back
const recheckAfterMs = 250; // whoever comes later than this asks whether a freeze has begun
const probeMs = 10_000; // how long a scope waits for the answer to the first call after a freeze
const probeToleranceMs = 250; // between the engine's clock and ours
const placeRetryMs = 500; // a place comes back when a call ends, long before the lease that is told
const longestWaitMs = { realtime: 5000, bulk: 1000 };
const unavailableRetryMs = 1000;

function retryAfterMs({ refused_by: refusedBy, retry_after_ms: told }) {
    return refusedBy === 'concurrency' ? Math.min(told, placeRetryMs) : told;
}

/** Tidekeeper over HTTP with everything a good consumer does: waits as told, holds a place, reports every answer. */
class Tidekeeper extends NoLimiter {
    constructor({ engine, project, account, caller }) {
        super();
        this.url = `${engine.url}/api/v1/limiters/gmail`;
        this.headers = { authorization: `Bearer ${engine.token}` };
        this.who = { account, project };
        this.caller = caller;
    }

    async acquire(work) {
        const askedAt = now();
        const answer = await this.post('acquire', {
            ...this.who, method: work.method, count: work.calls.length, lane: work.lane,
            max_wait_ms: longestWaitMs[work.lane], hold: true, caller: this.caller,
        });
        if (answer.status === 200) {
            const { wait_ms: waitMs, grant_id: id, degraded, hold } = answer.json;
            return { granted: true, askedAt, waitMs, id, degraded, hold: hold?.id };
        }
        if (answer.status === 429)
            return { granted: false, retryAfterMs: retryAfterMs(answer.json) };
        if (answer.status === 503)
            return { granted: false, retryAfterMs: unavailableRetryMs };
        throw new Error(`acquire was answered by ${answer.status}: ${answer.body}`);
    }

    async stillGood(grant) {
        const ageMs = now() - grant.askedAt;
        const usable = ageMs - grant.waitMs <= validMs && (ageMs <= recheckAfterMs || !(await this.isFrozen(grant)));
        if (!usable)
            await Promise.all([this.post('refund', { grant_id: grant.id }), this.release(grant)]);
        return usable;
    }

    /** Asks without taking; only a freeze refuses that. One that ends 10 s after our grant waits for our own answer. */
    async isFrozen(grant) {
        const answer = await this.post('acquire', { ...this.who, cost: 0 });
        const sinceGrantMs = answer.json.retry_after_ms + now() - grant.askedAt;
        return answer.status === 429 && Math.abs(sinceGrantMs - probeMs) > probeToleranceMs;
    }

    async answered(grant, answer) {
        const { date, 'retry-after': retryAfter } = answer.headers;
        const headers = { ...(date && { date }), ...(retryAfter && { 'retry-after': retryAfter }) };
        const told = { status: answer.status, headers, ...(answer.status >= 300 && { body: answer.body }) };
        await Promise.all([this.post('report', { ...this.who, ...told, grant_id: grant.id }), this.release(grant)]);
    }

    async release(grant) {
        if (grant.hold)
            await this.post('release', { hold: grant.hold });
    }

    /** A freeze refuses everybody until it ends; no other back-off is needed. */
    get backsOff() {
        return true;
    }

    post(action, body) {
        return exchangeJson('POST', `${this.url}/${action}`, body, this.headers);
    }
}

module.exports = { Tidekeeper };
