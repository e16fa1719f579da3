// SPDX-License-Identifier: Apache-2.0
'use strict';

// The quota experiment: ours and its peers on a simulated Gmail at the same time; then faults; then what each promises
// against what it does. See README.md one folder up.
const os = require('os');
const { machine, versions } = require('../support/machine');
const { Programs } = require('../support/programs');
const { figure, print } = require('../support/report');
const { checkComplete } = require('./check');
const { faultScenes, goalShare } = require('./faults');
const { measureFidelity } = require('./fidelity');
const { figuresOf, realtimeWaits, slidingMinute } = require('./figures');
const { options } = require('./options');
const { policies, published } = require('./policies');
const { writeDocument } = require('./report/document');
const { experimentTable, faultsTable, fidelityTable } = require('./report/tables');
const { layouts, runScene } = require('./scene');
const { startEngine, startGoogle } = require('./world');

const packages = ['ioredis', 'rate-limiter-flexible', 'bottleneck', 'redis-gcra', 'limiter'];
const consumersNiceness = 10;
const log = (text) => console.error(`${new Date().toISOString().slice(11, 19)} ${text}`);

function mainScene(seconds) {
    return { name: 'side-by-side', policies: policies.map(({ name }) => name), emails: ['mailbox@example.com'],
             layout: layouts.ten, seconds, seed: 1 };
}

async function runScenes(given, programs) {
    const redis = await programs.startRedis('redis');
    const google = await startGoogle(programs, given.build);
    const scene = mainScene(given.seconds);
    const scenes = given.faultSeconds ? faultScenes(given.faultSeconds, given.faultAtS) : [];
    const names = [scene, ...scenes].map(({ name }) => name);
    const engine = await startEngine(programs, given.build, google.url, redis.port, names);
    const world = { google, engine, redisPort: redis.port };
    // Consumers live on other machines; here they must not keep the servers from a processor.
    os.setPriority(consumersNiceness);
    log(`side by side: ${policies.length} policies, ${given.seconds} s`);
    const main = await runScene(scene, world);
    log(`faults: ${scenes.length} scenes, ${given.faultSeconds} s`);
    const faults = await Promise.all(scenes.map((one) => runScene(one, world)));
    const fidelity = await measureFidelity(redis.port, given.smoke ? 'smoke' : 'full', log);
    return { main, faults, fidelity };
}

function goals(rows, faults) {
    const ours = rows.find(({ policy }) => policy === 'tidekeeper');
    return [
        figure('refused', 'refused by Gmail', ours.refused, '≤', 0),
        figure('used', 'of the published limit, %', ours.percentOfLimit, '≥', 90),
        figure('realtime_p99', 'realtime wait p99, ms', ours.realtimeWaitMs.p99, '≤', 50),
        ...faults.map(({ name, title, rows: [own] }) =>
            figure(`refused_${name}`, `refused, ${title}, %`, 100 * own.refusedShare, '≤', 100 * goalShare)),
    ];
}

function resultOf({ main, faults, fidelity }, given, where) {
    const rows = policies.map(({ name }) => figuresOf(main, name, given.warmUpS, published.accountPerMinute));
    const scenes = faults.map((fault) => ({
        name: fault.scene.name, title: fault.scene.title,
        rows: fault.scene.policies.map((policy) =>
            figuresOf(fault, policy, given.warmUpS, published.accountPerMinute * fault.scene.emails.length)),
    }));
    const degraded = [rows, ...scenes.map((scene) => scene.rows)].flat()
        .reduce((sum, row) => sum + row.degradedGrants, 0);
    return {
        benchmark: 'Quota experiment', machine: where, versions: versions(packages),
        settings: { minutes: given.minutes, consumers: 10, seed: 1, degraded_grants: degraded },
        tables: [experimentTable(rows), ...(scenes.length ? [faultsTable(scenes)] : []), fidelityTable(fidelity)],
        figures: goals(rows, scenes), policies: rows, faults: scenes, fidelity,
        series: policies.map(({ name }) =>
            ({ policy: name, points: slidingMinute(main, name), waits: realtimeWaits(main, name) })),
    };
}

async function run() {
    const given = options();
    const where = machine(); // how busy it was before
    const programs = new Programs();
    const seen = await runScenes(given, programs); // when that throws, the programs' logs stay
    await programs.stop();
    const result = resultOf(seen, given, where);
    print(result, given.json);
    if (given.document)
        log(`written to ${writeDocument(result)}`);
    if (given.smoke)
        checkComplete(result);
}

run().then(() => process.exit(), (error) => {
    console.error(error);
    process.exit(1);
});
