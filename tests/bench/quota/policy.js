// SPDX-License-Identifier: Apache-2.0
'use strict';

// Policies published by hand, as lua/README.md describes: no engine is needed for a direct client.

const cost = 20; // of gmail.users.messages.get, what most calls are
const day = 24 * 3600 * 1e6; // µs

/** The keys of a project of the limiter "gmail". */
function keysOf(project) {
    const prefix = `tk:{gmail:${project}}:`;
    return { account: `${prefix}account:`, project: `${prefix}project`, policy: `${prefix}policy`,
        id: `${prefix}id:`, slots: `${prefix}slots:` };
}

/** Every check has something to do, and nothing but the account ever refuses. */
const everything = {
    account_capacity_milli: 360_000, account_refill_per_minute: 5450, account_reserve_milli: 180_000,
    project_capacity_milli: 1e12, project_refill_per_minute: 1e9, project_reserve_milli: 1e11,
    account_published: 6000, project_published: 1e9, key_ttl_ms: 3_600_000, enforce: 1,
    day_budget: 1e12, day_action: 2, slots: 1000,
};

function publish(redis, project, changes = {}) {
    const keys = keysOf(project);
    const today = Math.floor(Date.now() * 1000 / day) * day;
    const policy = { ...everything, day_start_us: today, day_end_us: today + day, day_after_us: today + 2 * day,
        ...changes };
    redis.cli(['FCALL', 'tidekeeper_publish_v1', '2', keys.policy, keys.project,
        ...Object.entries(policy).flat().map(String)]);
    return keys;
}

/** A project whose accounts are empty and refill by a unit a minute: every further request is refused. */
function publishDrained(redis, project, accounts) {
    const keys = publish(redis, project, { account_refill_per_minute: 1, key_ttl_ms: 1e9 });
    const take = (account) =>
        `FCALL tidekeeper_acquire_v1 3 ${keys.account}${account} ${keys.project} ${keys.policy} 360 realtime 0\n`;
    redis.cli([], accounts.map(take).join(''));
    return keys;
}

module.exports = { cost, keysOf, publish, publishDrained };
