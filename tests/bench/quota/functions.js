// SPDX-License-Identifier: Apache-2.0
'use strict';

// The Redis functions by the engine's own client and by redis-benchmark, the same call word for word.
const { execFile } = require('child_process');
const path = require('path');
const { promisify } = require('util');
const { figure } = require('../support/report');
const { interleaved } = require('../support/statistics');
const { cost, publish, publishDrained } = require('./policy');

const run = promisify(execFile);
const inFlight = 512;
const deadlineUs = '9000000000000000';

/** FUNCTION NUMKEYS KEY… ARGUMENT… of an acquire about a random account. */
function acquireWords(keys) {
    return ['tidekeeper_acquire_v1', '3', `${keys.account}__rand_int__`, keys.project, keys.policy, String(cost),
        'realtime', '0', deadlineUs, 'messages'];
}

/** redis-benchmark: {perSecond}. */
async function redisBenchmark(redis, words, { clients, pipeline, calls, accounts }) {
    const { stdout } = await run('redis-benchmark', ['-p', String(redis.port), '-c', String(clients), '-P', String(pipeline),
        '-n', String(calls), '-r', String(accounts), '--csv', 'FCALL', ...words]);
    return { perSecond: Number(stdout.trim().split('\n').at(-1).split(',').at(-7).replaceAll('"', '')) };
}

async function engineClient(redis, words, { build, calls, accounts }, granted) {
    const { stdout } = await run(path.join(build, 'bin/tidekeeper-bench-client'), ['--port', String(redis.port),
        '--calls', String(calls), '--in-flight', String(inFlight), '--random', String(accounts), ...words]);
    const result = JSON.parse(stdout);
    if (result.granted !== (granted ? calls : 0))
        throw new Error(`expected ${granted ? 'grants' : 'refusals'} only, got ${result.granted} of ${calls} granted`);
    return { perSecond: calls / result.seconds };
}

/** Runs one contender and adds what its calls cost inside Redis. */
async function withRedisUs(redis, calls, contender) {
    redis.resetStatistics();
    const result = await contender();
    return { ...result, redisUs: redis.microsecondsInScripts() / calls };
}

async function measureFunctions(redis, settings, { programs }) {
    const calls = settings.calls;
    const numbers = Array.from({ length: settings.accounts }, (_, i) => String(i).padStart(12, '0'));
    const grant = acquireWords(publish(redis, 'open'));
    const refusal = acquireWords(publishDrained(redis, 'empty', numbers));
    const benchmark = (words, clients, pipeline) => redisBenchmark(redis, words, { ...settings, clients, pipeline });
    const contenders = [
        { key: 'engine-grant', name: 'engine\'s client, grant', run: () => engineClient(redis, grant, settings, true) },
        { key: 'benchmark-grant', name: 'redis-benchmark -c 32 -P 16, grant', run: () => benchmark(grant, 32, 16) },
        { key: 'benchmark-one', name: 'redis-benchmark -c 1 -P 512, grant', run: () => benchmark(grant, 1, 512) },
        { key: 'engine-refusal', name: 'engine\'s client, refusal', run: () => engineClient(redis, refusal, settings, false) },
        { key: 'benchmark-refusal', name: 'redis-benchmark -c 32 -P 16, refusal', run: () => benchmark(refusal, 32, 16) },
    ];
    for (const contender of contenders)
        await contender.run();
    const results = await interleaved(contenders.map(({ key, run }) =>
        ({ name: key, run: () => withRedisUs(redis, calls, run) })), settings.rounds);
    const bytes = await appendedBytes(programs, settings);
    const perSecond = (key) => results.get(key).perSecond.median;
    return {
        tables: [{
            id: 'functions',
            title: `One function call, ${inFlight} in flight`,
            columns: { perSecond: 'calls/s', redisUs: 'Redis µs per call', bytes: 'append-only bytes per call' },
            rows: contenders.map(({ key, name }) =>
                ({ key, name, ...results.get(key), bytes: bytes[key] })),
        }],
        figures: [
            figure('engine-client', 'engine\'s client ÷ redis-benchmark (the faster one)', perSecond('engine-grant')
                / Math.max(perSecond('benchmark-grant'), perSecond('benchmark-one')), '≥', 0.9),
            figure('refusals', 'refusals ÷ grants, engine\'s client', perSecond('engine-refusal')
                / perSecond('engine-grant'), '≥', 1.5),
            figure('refusal-bytes', 'append-only bytes per refusal', bytes['engine-refusal'], '≤', 0),
        ],
    };
}

/** Bytes that a grant and a refusal add to an append-only file, in a Redis of their own. */
async function appendedBytes(programs, settings) {
    const redis = await programs.startRedis('redis-aof', ['--appendonly', 'yes', '--appendfsync', 'no']);
    const calls = 1000;
    const bytesOf = async (words) => {
        await redisBenchmark(redis, words, { clients: 1, pipeline: 16, calls, accounts: 1 }); // the bucket is there
        const before = redis.appendedBytes();
        await redisBenchmark(redis, words, { clients: 1, pipeline: 16, calls, accounts: 1 });
        return (redis.appendedBytes() - before) / calls;
    };
    const wide = { account_capacity_milli: 1e9 };
    const grant = await bytesOf(acquireWords(publish(redis, 'open', wide)));
    const refusal = await bytesOf(acquireWords(publishDrained(redis, 'empty', ['000000000000'])));
    return { 'engine-grant': grant, 'engine-refusal': refusal };
}

module.exports = { acquireWords, measureFunctions, redisBenchmark };
