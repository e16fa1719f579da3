// SPDX-License-Identifier: Apache-2.0
'use strict';

// A peer in a process of its own, with the verbs, options and output of ../client/main.cpp:
//
//   node peer.js PEER VERB --socket PATH --queue Q [--keep K] …
const { parseArgs } = require('util');

const { values, positionals: [peer, verb] } = parseArgs({ allowPositionals: true, options: {
    socket: { type: 'string' },
    queue: { type: 'string', default: 'bench' },
    keep: { type: 'string', default: '0' },
    count: { type: 'string', default: '1' },
    warm: { type: 'string', default: '0' },
    bulk: { type: 'string', default: '1' },
    callers: { type: 'string', default: '1' },
    rate: { type: 'string', default: '1000' },
    payload: { type: 'string', default: '200' },
    consumers: { type: 'string', default: '1' },
} });
const plan = Object.fromEntries(Object.entries(values).map(([name, value]) =>
    [name, ['socket', 'queue'].includes(name) ? value : Number(value)]));
const { Adapter } = require(`./${peer}`);
const filling = 'x'.repeat(plan.payload - 50);

/** CLOCK_MONOTONIC in µs: the same for all processes of a machine. */
function monotonicUs() {
    return Math.round(Number(process.hrtime.bigint()) / 1000);
}

function payload(due, sent) {
    return { due, sent, filling };
}

class Stopwatch {
    constructor() {
        this.startUs = monotonicUs();
        this.startCpu = process.cpuUsage();
    }

    print(count) {
        const seconds = (monotonicUs() - this.startUs) / 1e6;
        const { user, system } = process.cpuUsage(this.startCpu);
        console.log(JSON.stringify({ count, seconds, cpuUs: user + system }));
    }
}

async function addAll(adapter, count, { bulk, callers }) {
    let left = count;
    const caller = async () => {
        while (left > 0) {
            const taken = Math.min(bulk, left);
            left -= taken;
            const now = monotonicUs();
            if (taken === 1)
                await adapter.add(payload(now, now));
            else
                await adapter.addBulk(Array.from({ length: taken }, () => payload(now, now)));
        }
    };
    await Promise.all(Array.from({ length: callers }, caller));
}

const verbs = {
    async add(adapter) {
        await adapter.openProducer();
        await addAll(adapter, plan.warm, plan);
        const watch = new Stopwatch();
        await addAll(adapter, plan.count, plan);
        watch.print(plan.count);
    },

    async produce(adapter) {
        await adapter.openProducer();
        const start = monotonicUs();
        const due = (job) => start + Math.floor(job * 1e6 / plan.rate);
        const answers = [];
        await new Promise((resolve) => {
            const timer = setInterval(() => {
                while (answers.length < plan.count && due(answers.length) <= monotonicUs())
                    answers.push(adapter.add(payload(due(answers.length), monotonicUs())));
                if (answers.length === plan.count) {
                    clearInterval(timer);
                    resolve();
                }
            }, 1);
        });
        await Promise.all(answers);
    },

    drain(adapter) {
        return new Promise((resolve) => {
            let ended = 0;
            let watch = plan.warm ? null : new Stopwatch();
            adapter.work(plan.consumers, async () => {}, () => {
                if (++ended === plan.warm)
                    watch = new Stopwatch();
                if (ended === plan.warm + plan.count) {
                    watch.print(plan.count);
                    resolve();
                }
            });
        });
    },

    consume(adapter) {
        return new Promise((resolve) => {
            const fromDue = [];
            const fromSent = [];
            const handler = async ({ due, sent }) => {
                const now = monotonicUs();
                fromDue.push(now - due);
                fromSent.push(now - sent);
            };
            let ended = 0;
            adapter.work(plan.consumers, handler, () => {
                if (++ended === plan.count) {
                    console.log(JSON.stringify({ fromDue, fromSent }));
                    resolve();
                }
            }).then(() => console.log('ready'));
        });
    },

    async hold(adapter) {
        const neverEnding = () => {
            console.log(`started ${monotonicUs()}`);
            return new Promise(() => {});
        };
        await adapter.work(plan.consumers, neverEnding, () => {});
        console.log('ready');
        await new Promise(() => {}); // until it is killed
    },
};

verbs[verb](new Adapter(plan)).then(() => process.exit(0), (error) => {
    console.error(error);
    process.exit(1);
});
