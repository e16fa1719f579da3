// SPDX-License-Identifier: Apache-2.0
'use strict';

// Units of Gmail's quota from the buckets that Tidekeeper keeps in Redis. Copy this file; ../README.md explains it.
const Redis = require('ioredis');

// By Google's table of May 2026. For projects of before that, and for other methods, give `cost`.
const costs = {
    getProfile: 1, 'history.list': 2, watch: 100, stop: 50, 'labels.list': 1, 'labels.get': 1, 'messages.list': 5,
    'messages.get': 20, 'messages.attachments.get': 20, 'messages.modify': 5, 'messages.batchModify': 50,
    'messages.trash': 20, 'messages.delete': 10, 'messages.insert': 25, 'messages.send': 100, 'threads.list': 10,
    'threads.get': 40, 'threads.modify': 10, 'threads.trash': 20, 'drafts.create': 10, 'drafts.get': 20,
    'drafts.list': 5, 'drafts.update': 15, 'drafts.send': 100,
};
const limitFields = ['capacity_milli', 'refill_per_minute', 'reserve_milli'];
const ourFault = /^(TKPOLICY|NOPERM|NOAUTH|WRONGPASS)|Function not found|user executing the script/;
const rateReason = /"(user_?rate_?limit_?exceeded|rate_?limit_?exceeded|quotaExceeded|dailyLimitExceeded)"/i;
const mostBuckets = 10_000; // remembered for the time without Redis
const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
const base64url = (text) => Buffer.from(text).toString('base64url');
const keyName = (account) => base64url(account.trim().replace(/[A-Z]/g, (letter) => letter.toLowerCase()));

/** Do not call Gmail now: run the job again after retryAfterMs. −1: never, no grant is ever that large. */
class QuotaRefused extends Error {
    constructor(refusedBy, retryAfterMs, text = '') {
        super(`Gmail quota refused by ${refusedBy} ${text}`.trim());
        Object.assign(this, { name: 'QuotaRefused', refusedBy, retryAfterMs });
    }
}

class GmailQuota {
    /** share: of the limits, for this process while Redis is away: 1 ÷ number of processes. */
    constructor(url, { project = 'default', failOpen = true, share = 1, commandTimeoutMs = 100 } = {}) {
        const [prefix, serverUs] = [`tk:{gmail:${project}}:`, null]; // serverUs: what to add to our clock
        Object.assign(this, { prefix, failOpen, share, commandTimeoutMs, serverUs, askAgainAt: 0, buckets: new Map() });
        this.limits = { account: [360_000, 5450, 180_000], project: [72e6, 1_090_000, 14.4e6] }; // until they are read
        this.redis = new Redis(url, { commandTimeout: commandTimeoutMs, connectTimeout: 500, enableOfflineQueue: false,
            maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, retryStrategy: () => 500 });
        this.redis.on('error', () => {}); // every call says so
        this.redis.on('ready', () => this.readLimits());
        this.timer = setInterval(() => this.readLimits(), 10_000).unref();
        this.started = Promise.race([new Promise((resolve) => { this.redis.once('ready', resolve); }), sleep(500)]);
    }

    close() {
        clearInterval(this.timer);
        this.redis.disconnect();
    }

    /** Returns when Gmail may be called, within the next 2 s; else throws QuotaRefused. method: without gmail.users. */
    async acquire(account, { method, count = 1, cost = costs[method] * count, lane = 'realtime', maxWaitMs = 0 } = {}) {
        if (!Number.isSafeInteger(cost) || cost < 0)
            throw new TypeError(`The cost of ${method} is not known: give cost, a whole number of units.`);
        const ask = { name: keyName(account), lane, family: /\.send$/.test(method) ? 'mail_sending' : '' };
        const grant = await this.decide({ ...ask, cost, maxWaitMs });
        await sleep(grant.waitMs);
        if (grant.waitMs > 1000) { // Gmail may have refused a call meanwhile: a freeze makes the booking void
            await this.decide({ ...ask, cost: 0, maxWaitMs: 0 }).catch(async (refused) => {
                await this.refund(grant);
                throw refused;
            });
        }
        return grant;
    }

    /** Says what Gmail answered, so that a refusal pauses everybody: {rate, scope, family, retryAfterMs}. */
    async report(account, status, headers, body, grant = {}) {
        const { verdict, toldLimit, ...answer } = meaningOf(status, headers, body);
        const [name, rate] = [keyName(account), answer.rate];
        try {
            const told = verdict && await this.call('report', this.keys(name), verdict, answer.scope, answer.family,
                answer.retryAfterMs, grant.grantUs ?? 0, grant.cost ?? 0, toldLimit);
            answer.retryAfterMs = rate ? told[2] : answer.retryAfterMs;
        } catch (error) {
            onlyAway(error);
            answer.retryAfterMs ||= rate ? 1000 : 0;
        }
        if (rate && !answer.family)
            this.bucket(answer.scope === 'project' ? '' : name).frozenUntil = performance.now() + answer.retryAfterMs;
        return answer;
    }

    /** Gives back what was not sent, within 60 s: whether it was. Without Redis nothing comes back. */
    refund({ name, cost, grantUs }) {
        const keys = [...this.keys(name), `${this.prefix}id:${name}:.${grantUs}`];
        return grantUs ? this.call('refund', keys, cost, grantUs).then((a) => a[0] === 1, onlyAway) : false;
    }

    async decide(ask) {
        await this.started;
        const now = performance.now();
        if (now < this.askAgainAt)
            return this.decideAlone(ask);
        this.askAgainAt &&= now + 1000; // of those who call while Redis is away one a second tries it
        try {
            return await this.decideInRedis(ask, now);
        } catch (error) {
            onlyAway(error);
            this.askAgainAt = performance.now() + 1000;
            return this.decideAlone(ask);
        }
    }

    async decideInRedis(ask, now, isSecond = false) {
        const { name, cost, lane, maxWaitMs, family } = ask;
        this.settle(name);
        // Later than this the call has been given up, and must not be charged.
        const deadlineUs = this.serverUs === null ? ''
            : Math.ceil(this.serverUs + (now + this.commandTimeoutMs) * 1000);
        const [granted, waitMs, retryAfterMs, refusedBy, accountLevel, , projectLevel, , grantUs] =
            await this.call('acquire', this.keys(name), cost, lane, maxWaitMs, deadlineUs, family);
        this.askAgainAt = 0;
        this.serverUs = grantUs - now * 1000;
        this.bucket(name).level = accountLevel * this.share;
        this.bucket('').level = projectLevel * this.share;
        if (/_frozen$/.test(refusedBy))
            this.bucket(refusedBy === 'project_frozen' ? '' : name).frozenUntil = performance.now() + retryAfterMs;
        if (refusedBy === 'late' && !isSecond) // the server's clock was set
            return this.decideInRedis(ask, performance.now(), true);
        if (!granted)
            throw new QuotaRefused(refusedBy, retryAfterMs);
        return { name, cost, waitMs, grantUs, degraded: false };
    }

    /** While Redis is away: by the same buckets in this process, in milli-units. */
    decideAlone({ name, cost, lane, maxWaitMs }) {
        if (!this.failOpen)
            throw new QuotaRefused('unavailable', 1000);
        const [account, project] = [this.bucket(name), this.bucket('')];
        const frozenMs = Math.ceil(Math.max(account.frozenUntil, project.frozenUntil) - performance.now());
        if (frozenMs > 0)
            throw new QuotaRefused(account.frozenUntil > project.frozenUntil ? 'account_frozen' : 'project_frozen', frozenMs);
        const waitMs = (bucket) => {
            const floor = lane === 'bulk' ? bucket.reserve : 0;
            if (cost * 1000 * this.share > bucket.capacity - floor)
                throw new QuotaRefused('never', -1);
            const needed = Math.min(cost * 1000, bucket.capacity - floor) + floor - bucket.level;
            return cost > 0 && needed > 0 ? Math.ceil(needed / bucket.perMs) : 0;
        };
        const [accountMs, projectMs] = [waitMs(account), waitMs(project)];
        const longestMs = lane === 'bulk' ? Math.min(maxWaitMs, account.reserve / 2 / account.perMs) : maxWaitMs;
        if (projectMs > 0)
            throw new QuotaRefused('project', projectMs);
        if (accountMs > longestMs)
            throw new QuotaRefused('account', Math.ceil(accountMs - longestMs));
        for (const bucket of [account, project])
            bucket.level -= cost * 1000;
        account.owed += cost * 1000;
        return { name, cost, waitMs: accountMs, grantUs: 0, degraded: true };
    }

    /** A bucket as it is now; that of the project has no name. */
    bucket(name) {
        const [capacity, perMinute, reserve] = this.limits[name ? 'account' : 'project'].map((n) => n * this.share);
        const [now, perMs] = [performance.now(), perMinute / 60];
        const known = this.buckets.get(name) ?? { level: capacity, at: now, owed: 0, frozenUntil: 0 };
        const level = Math.min(capacity, known.level + (now - known.at) * perMs);
        this.buckets.delete(name); // the least used one goes first
        this.buckets.set(name, Object.assign(known, { capacity, reserve, perMs, level, at: now }));
        if (this.buckets.size > mostBuckets)
            this.buckets.delete(this.buckets.keys().next().value);
        return known;
    }

    /** Tells Redis what was granted while it was away. */
    settle(name) {
        const bucket = this.bucket(name);
        const owed = Math.ceil(Math.min(bucket.owed, bucket.capacity - bucket.level)); // the rest has refilled
        bucket.owed = 0;
        if (owed > 0)
            this.call('settle', this.keys(name), owed, owed).catch(() => { bucket.owed += owed; });
    }

    readLimits() {
        for (const scope of ['account', 'project']) {
            this.redis.hmget(`${this.prefix}policy`, limitFields.map((field) => `${scope}_${field}`)).then((values) => {
                if (values.every((value) => value > 0))
                    this.limits[scope] = values.map(Number);
            }, () => {});
        }
    }

    keys(name) {
        return [`${this.prefix}account:${name}`, `${this.prefix}project`, `${this.prefix}policy`];
    }

    async call(name, keys, ...args) {
        try {
            return await this.redis.fcall(`tidekeeper_${name}_v1`, keys.length, ...keys, ...args);
        } catch ({ message }) {
            if (message.startsWith('TKARG'))
                throw new TypeError(message);
            // Somebody has to mend these; waiting for Redis does not.
            throw new QuotaRefused(ourFault.test(message) ? 'not_published' : 'unavailable', 1000, `(${message})`);
        }
    }
}

function onlyAway(error) {
    if (error.refusedBy !== 'unavailable')
        throw error;
    return false;
}

/** What an answer of Gmail says about the rate. The reason decides, which comes with 403 or 429. */
function meaningOf(status, headers, body) {
    const text = typeof body === 'string' ? body : JSON.stringify(body ?? '');
    const pairs = typeof headers?.entries === 'function' ? [...headers.entries()] : Object.entries(headers ?? {});
    const header = (name) => pairs.find(([key]) => key.toLowerCase() === name)?.[1] ?? '';
    const quota = (field) => new RegExp(`"${field}"\\s*:\\s*"([^"]*)"`).exec(text)?.[1] ?? '';
    const reason = rateReason.exec(text)?.[1];
    const isRate = status >= 400 && status < 500
        && (status === 429 || reason || /rate limit exceeded|quota exceeded for quota metric/i.test(text));
    const daily = isRate && /dailyLimitExceeded|PerDay|per day/i.test(text);
    const now = Date.parse(header('date')) || Date.now(); // theirs, so that our clock may be off
    const after = header('retry-after');
    const inMessage = Date.parse(/Retry after\s+([\dT:.Z+-]+)/i.exec(text)?.[1]);
    const told = [inMessage - now, after * 1000, Date.parse(after) - now].find((ms) => ms > 0) ?? 0;
    const hintMs = daily ? 3_600_000 : told; // one call an hour finds out whether the day is over
    const retryAfterMs = hintMs && status >= 400 ? Math.ceil(Math.min(Math.max(hintMs, 1000), 86_400_000)) : 0;
    if (!isRate) { // a failure of Gmail's own or a refused token says nothing about the rate
        const passed = status < 500 && ![401, 403, 408].includes(status);
        return { verdict: passed ? 'ok' : '', rate: false, scope: '', family: '', retryAfterMs, toldLimit: 0 };
    }
    const limit = quota('quota_limit');
    const isUser = /PerUser$/.test(limit) || (!limit && !daily && /\buser\b/i.test(text));
    const isProject = !isUser && (daily || /PerProject$/.test(limit) || /and limit '/.test(text)
        || (status === 403 && /^rate_?limit/i.test(reason)));
    const suffix = /\((Mail sending|Forwarding rules)\)/i.exec(text)?.[1] ?? '';
    const family = isProject ? '' : suffix.toLowerCase().replace(' ', '_');
    const inUnits = /PerMinutePer(User|Project)$/.test(limit)
        && /^$|\/(default|total_query_cost)$/.test(quota('quota_metric'));
    const toldLimit = inUnits ? Number(quota('quota_limit_value')) || 0 : 0;
    return { verdict: 'rate', rate: true, scope: isProject ? 'project' : 'account', family, retryAfterMs, toldLimit };
}

module.exports = { GmailQuota, QuotaRefused, costs };
