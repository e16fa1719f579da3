// SPDX-License-Identifier: Apache-2.0
'use strict';

const { isRateRefusal } = require('./gmail');
const { now, sleep } = require('./time');

const longestPauseMs = 2000;
const longestBackOffMs = 32_000;
const longestJitterMs = 1000;

/** Google's advice: min(2^n s + up to 1 s of chance, 32 s). */
function backOffMs(refusals, random) {
    return Math.min(1000 * 2 ** refusals + 1000 * random(), longestBackOffMs);
}

/** On top of the time told, more with each no: whoever waits for the same units shall not come at the same time. */
function jitterMs(refusals, random) {
    return random() * Math.min(25 * 2 ** refusals, longestJitterMs);
}

/** How long one piece of work waits for its permission; what its own program dawdles is left out. */
class Stopwatch {
    constructor() {
        this.startedAt = now();
        this.idleMs = 0;
        this.idleSince = null;
    }

    /** Runs what is not waiting: a pause, the call itself. */
    async leaveOut(action) {
        this.idleSince = now();
        const result = await action();
        this.idleMs += now() - this.idleSince;
        this.idleSince = null;
        return result;
    }

    elapsedMs() {
        return (this.idleSince ?? now()) - this.startedAt - this.idleMs;
    }
}

/** The way of every consumer to Gmail, whatever its limiter: ask until granted, dawdle, send, learn from the answer. */
class Attempt {
    constructor(kind, limiter, gmail, random, signal) {
        this.kind = kind;
        this.limiter = limiter;
        this.gmail = gmail;
        this.random = random;
        this.signal = signal;
        this.waits = []; // ms, of work that was served
        this.askedAgain = 0; // times the limiter said no
        this.unused = 0; // grants that came to nothing before the call
        this.degraded = 0; // grants that were made without a decision
        this.failures = 0; // answers that were neither served nor refused for their rate
        this.pending = null; // stopwatch of the work at hand
    }

    /** Returns when all calls of the work were served. */
    async perform(work) {
        const watch = this.pending = new Stopwatch();
        let left = work;
        for (let refusals = 0; left.calls.length > 0;) {
            const grant = await this.granted(left);
            await watch.leaveOut(() => this.pause());
            if (!(await this.limiter.stillGood(grant))) {
                this.unused += 1;
                continue;
            }
            const answers = await watch.leaveOut(() => this.send(grant, left));
            left = this.refusedPart(left, answers);
            if (left.calls.length > 0)
                await sleep(this.limiter.backsOff ? 0 : backOffMs(refusals++, this.random), this.signal);
        }
        this.waits.push(watch.elapsedMs());
        this.pending = null;
    }

    async granted(work) {
        for (let refusals = 0; ; ++refusals) {
            const grant = await this.limiter.acquire(work);
            if (grant.granted) {
                this.degraded += grant.degraded ? 1 : 0;
                await sleep(grant.waitMs, this.signal);
                return grant;
            }
            this.askedAgain += 1;
            await sleep(grant.retryAfterMs + jitterMs(refusals, this.random), this.signal);
        }
    }

    /** A consumer does not send at once: it is swapped out, collects garbage, waits for a lock. */
    pause() {
        return sleep(this.random() * longestPauseMs, this.signal);
    }

    async send(grant, work) {
        const answers = await this.gmail[work.how](work.calls, this.signal);
        await this.limiter.answered(grant, answers.find(isRateRefusal) ?? answers[0]);
        return answers;
    }

    refusedPart(work, answers) {
        const calls = work.calls.filter((call, i) => isRateRefusal(answers[i]));
        this.failures += answers.filter((answer) => answer.status >= 300 && !isRateRefusal(answer)).length;
        return { ...work, calls, cost: (work.cost / work.calls.length) * calls.length };
    }

    /** Waits in ms, that of the work at hand included: a stall must not hide because it has not ended. */
    waitsUntilNow() {
        return this.pending ? [...this.waits, this.pending.elapsedMs()] : this.waits;
    }
}

module.exports = { Attempt };
