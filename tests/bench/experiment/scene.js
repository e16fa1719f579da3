// SPDX-License-Identifier: Apache-2.0
'use strict';

const path = require('path');
const { Worker } = require('worker_threads');
const { now, sleep } = require('./time');

const machines = 10;
const clocksApartMs = 500;
const sampleEveryMs = 1000;
const layouts = {
    /** The ten programs on one mailbox. */
    ten: [...Array(3).fill('first-sync'), ...Array(5).fill('batch'), ...Array(2).fill('realtime')],
    four: ['first-sync', 'batch', 'batch', 'realtime'],
    sixteen: [...Array(4).fill('first-sync'), ...Array(8).fill('batch'), ...Array(4).fill('realtime')],
};
const usualSizes = { threads: 2, messages: 4, burst: 3 };

/** The project at Google in which a policy's accounts live, so that policies cannot disturb each other. */
const projectOf = (scene, policy) => `${scene.name}-${policy}`;

/** Consumers by machine: those of an account are spread over all machines, so their clocks differ. */
async function consumersByMachine(scene, google) {
    const byMachine = Array.from({ length: machines }, () => []);
    let seed = scene.seed;
    for (const policy of scene.policies) {
        const accounts = await google.accounts(projectOf(scene, policy), scene.emails);
        accounts.forEach((account, row) => scene.layout.forEach((kind, i) =>
            byMachine[(row + i) % machines].push({ policy, account, kind, seed: seed++ })));
    }
    return byMachine;
}

function startMachine(data, broken) {
    const worker = new Worker(path.join(__dirname, 'machine.js'), { workerData: data });
    worker.on('error', (error) => broken.push(error.stack));
    worker.on('message', (message) => message.broken && broken.push(message.broken));
    return worker;
}

async function stopMachine(worker) {
    const seen = new Promise((resolve) => worker.on('message', (message) => message.seen && resolve(message.seen)));
    worker.postMessage('stop');
    const all = await seen;
    await worker.terminate();
    return all;
}

/** Looks at the truth once a second until the scene is over: [{atS, projects}]. */
async function watch(scene, google, broken) {
    const samples = [];
    const startedAt = now();
    const lengthMs = scene.seconds * 1000;
    for (let next = 0; next <= lengthMs; next += sampleEveryMs) {
        await sleep(startedAt + next - now());
        if (broken.length > 0)
            throw new Error(`A consumer broke: ${broken[0]}`);
        const { projects } = await google.truth(false);
        samples.push({ atS: (now() - startedAt) / 1000, projects });
        await scene.during?.(next / 1000, google);
    }
    return samples;
}

/**
 * Runs consumers of all policies of a scene at the same time:
 * {name, policies, emails, layout, sizes?, seconds, seed, during?(second, google)} → {scene, samples, seen,
 * accounts}.
 */
async function runScene(scene, { google, engine, redisPort }) {
    const byMachine = await consumersByMachine(scene, google);
    const broken = [];
    const workers = byMachine.map((consumers, i) => startMachine({
        scene: scene.name, sizes: scene.sizes ?? usualSizes, consumers, machines, engine, redisPort,
        googleUrl: google.url,
        clockOffsetMs: Math.round(clocksApartMs * (i / (machines - 1) - 0.5)),
    }, broken));
    workers.forEach((worker) => worker.postMessage('start'));
    const samples = await watch(scene, google, broken);
    const { accounts } = await google.truth(true);
    const seen = (await Promise.all(workers.map(stopMachine))).flat();
    return { scene, samples, seen, accounts };
}

module.exports = { layouts, projectOf, runScene };
