// SPDX-License-Identifier: Apache-2.0
'use strict';

// A thread that stands for one machine with its own clock. On it one greedy caller for each subject asks as often as
// it may, and sleeps as told. On the message "start" they run; the answer is {subject: [[ms, units], …]}, when each grant
// might be used and how large it is.
const { parentPort, workerData } = require('worker_threads');
const Redis = require('ioredis');
const { now, sleep } = require('../time');
const { fresh, subjectNamed, workOf } = require('./subjects');

const { names, key, windowMs, clockOffsetMs, machines, cost, paceMs, phases, redisPort } = workerData;
const realNow = Date.now;
Date.now = () => realNow() + clockOffsetMs;
const maxWaitMs = Math.min(30_000, Math.round(windowMs / 12));

/** Asks for one after another until the time is over, then leaves whatever it waits for. */
async function askUntil(limiter, untilMs, grants) {
    while (now() < untilMs) {
        const askedAt = now();
        const answer = await limiter.acquire(workOf(cost));
        if (now() >= untilMs)
            return;
        if (answer.granted)
            grants.push([performance.timeOrigin + now() + answer.waitMs, cost]);
        await sleep(answer.granted ? answer.waitMs : Math.min(answer.retryAfterMs, untilMs - now()));
        await sleep(paceMs - (now() - askedAt));
    }
}

/** Each phase is {idleMs, greedyMs}: quiet, then greedy. */
async function runPhases(limiter, grants) {
    for (const { idleMs, greedyMs } of phases) {
        await sleep(idleMs);
        const untilMs = now() + greedyMs;
        await Promise.race([askUntil(limiter, untilMs, grants), sleep(greedyMs)]);
    }
}

async function prepare() {
    const redis = new Redis({ host: '127.0.0.1', port: redisPort });
    const limiters = await Promise.all(names.map((name) =>
        fresh(subjectNamed(name), redis, `${key}:${name}`, { windowMs, processes: machines, maxWaitMs })));
    parentPort.on('message', async () => {
        const grants = names.map(() => []);
        await Promise.all(limiters.map((limiter, i) => runPhases(limiter, grants[i])));
        parentPort.postMessage({ grants: Object.fromEntries(names.map((name, i) => [name, grants[i]])) });
    });
    parentPort.postMessage({ ready: true });
}

prepare();
