// SPDX-License-Identifier: Apache-2.0
'use strict';

// Each language beside a real engine on the same Redis: same keys, same prices, same reading of Gmail's answers.
const assert = require('assert');
const { after, before, describe, test } = require('node:test');
const { Consumer, languages } = require('./consumer');
const { answers } = require('./gmailanswers');
const { Engine, Programs, Redis, eventually } = require('./servers');

const programs = new Programs();
let redis, engine;
const consumers = new Map();
before(async () => {
    redis = new Redis(programs, 'redis', await programs.startRedis('redis', Redis.persistent));
    redis.cli('FUNCTION', 'FLUSH'); // the engine's own
    engine = await Engine.start(programs, redis);
    for (const language of languages)
        consumers.set(language, await Consumer.open(language, redis.url));
});
after(async () => {
    await Consumer.closeAll();
    await programs.stop();
});

for (const language of languages) {
    describe(language, () => {
        const accounts = ['plain', 'with:colon', '{tag}', '}{', 'münchen', 'İstanbul', '메일', ' Trimmed ', 'UPPERÄ', 'a/b+c=']
            .map((name) => (name.trim() === name ? `${name}@${language}.example` : ` ${name.trim()}@${language}.EXAMPLE\t`));
        for (const account of accounts) {
            test(`the bucket of ${JSON.stringify(account)} is the engine's`, async () => {
                const before = redis.cli('--raw', 'KEYS', 'tk:{gmail:default}:account:*').split('\n').filter(Boolean);
                assert.strictEqual((await engine.call('POST', '/acquire', { account, cost: 200 })).granted, true);
                assert((await consumers.get(language).acquire(account, { cost: 100 })).ok);
                const added = redis.cli('--raw', 'KEYS', 'tk:{gmail:default}:account:*').split('\n').length - before.length;
                assert.strictEqual(added, 1, 'both use one key');
                const { level } = (await engine.call('POST', '/acquire', { account, cost: 0 })).account;
                assert(level >= 60 && level < 250, `the level is ${level}`);
            });
        }

        test('the costs are those of the engine', async () => {
            const { costs } = consumers.get(language);
            assert(Object.keys(costs).length > 20);
            for (const [method, cost] of Object.entries(costs)) {
                const answer = await engine.call('POST', '/acquire',
                    { account: `cost-${method}-${language}@example.com`, method: `gmail.users.${method}` });
                assert.strictEqual(answer.cost, cost, method);
            }
        });

        Object.entries(answers).forEach(([name, answer], i) => {
            test(`Gmail's answer "${name}" means what the engine says`, async () => {
                const ours = await consumers.get(language).report(`ours-${language}-${i}@example.com`, answer);
                const theirs = await engine.call('POST', '/report', { account: `theirs-${language}-${i}@example.com`,
                    status: answer.status, headers: answer.headers ?? {}, body: answer.body ?? '' });
                for (const field of ['rate', 'scope', 'family'])
                    assert.strictEqual(ours.ok?.[field], theirs[field], `${field} of ${JSON.stringify(ours)}`);
                if (theirs.rate && answer.compareTime !== false) {
                    const difference = Math.abs(ours.ok.retryAfterMs - theirs.retry_after_ms);
                    assert(difference < 2000, `${ours.ok.retryAfterMs} ms, the engine: ${theirs.retry_after_ms} ms`);
                }
                redis.cli('DEL', 'tk:{gmail:default}:project'); // a freeze of all of them ends here
            });
        });

        test('a limit that an operator changes holds at once', async () => {
            const consumer = consumers.get(language);
            const capacity = async (units) => {
                const changed = await engine.call('PATCH', '', { projects: { default: { account_capacity: units } } });
                assert.strictEqual(changed.status, 200, JSON.stringify(changed));
                const field = () => redis.cli('HGET', 'tk:{gmail:default}:policy', 'account_capacity_milli');
                await eventually('the policy is published', () => field() === String(units * 1000));
            };
            const large = { cost: 400 };
            assert.strictEqual((await consumer.acquire(`small-${language}@example.com`, large)).refusedBy, 'never');
            await capacity(420);
            assert.strictEqual((await consumer.acquire(`large-${language}@example.com`, large)).refusedBy, 'account',
                'a raised capacity leaves levels where they were');
            await eventually('it has refilled', async () => (await consumer.acquire(`large-${language}@example.com`, large)).ok);
            await capacity(360);
            assert.strictEqual((await consumer.acquire(`small-${language}@example.com`, large)).refusedBy, 'never');
        });
    });
}

test('the engine stops, its consumers go on', async () => {
    await engine.stop();
    for (const language of languages) {
        const answer = await consumers.get(language).acquire(`after-${language}@example.com`, { method: 'threads.get' });
        assert.strictEqual(answer.ok?.degraded, false, JSON.stringify(answer));
    }
});
