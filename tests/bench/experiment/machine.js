// SPDX-License-Identifier: Apache-2.0
'use strict';

// A thread that stands for one machine: its own clock, its own connections, some consumers. It starts on the message
// "start", and on "stop" answers what its consumers saw: [{policy, account, kind, waits, …}].
const { setMaxListeners } = require('events');
const { parentPort, workerData } = require('worker_threads');
const Redis = require('ioredis');
const { Consumer } = require('./consumer');
const { Gmail } = require('./gmail');
const { policyNamed, published } = require('./policies');
const { randomFrom } = require('./time');

const { scene, sizes, consumers, clockOffsetMs, machines, engine, googleUrl, redisPort } = workerData;
const realNow = Date.now;
Date.now = () => realNow() + clockOffsetMs; // before any limiter looks at it

const redis = new Redis({ host: '127.0.0.1', port: redisPort });
const limiters = new Map();
const end = new AbortController();
setMaxListeners(0, end.signal);

function limiterFor({ policy, account, kind }) {
    const own = policy === 'tidekeeper' ? kind : ''; // its state is in the engine; each program names itself
    const key = `${scene}:${policy}:${account.email}`;
    if (!limiters.has(key + own)) {
        const { make, limit } = policyNamed(policy);
        limiters.set(key + own, new make({
            redis, engine, key, limit, windowMs: 60_000, processes: machines,
            projectKey: `${scene}:${policy}:project`, projectLimit: published.projectPerMinute,
            account: account.email, project: scene, caller: kind,
        }));
    }
    return limiters.get(key + own);
}

function made(consumer) {
    const { account, kind, seed } = consumer;
    const gmail = new Gmail(googleUrl, account.token);
    return new Consumer(kind, account, sizes, limiterFor(consumer), gmail, randomFrom(seed), end.signal);
}

async function run(consumer) {
    try {
        await consumer.run();
    } catch (error) {
        if (!end.signal.aborted)
            parentPort.postMessage({ broken: `${consumer.kind}: ${error.stack}` });
    }
}

const all = consumers.map(made);

parentPort.on('message', async (message) => {
    if (message === 'start') {
        all.forEach(run);
        return;
    }
    const seen = all.map(({ attempt, kind }, i) => ({
        policy: consumers[i].policy, account: consumers[i].account.email, kind,
        waits: attempt.waitsUntilNow(), askedAgain: attempt.askedAgain, unused: attempt.unused,
        failures: attempt.failures, degraded: attempt.degraded,
    }));
    end.abort();
    parentPort.postMessage({ seen });
});
