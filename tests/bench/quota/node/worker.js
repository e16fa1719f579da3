// SPDX-License-Identifier: Apache-2.0
'use strict';

// One contender in a process of its own: for each message {ms} it asks for so long, 50 in flight, about random
// accounts, and answers {calls, seconds, cpuUs}.
const Redis = require('ioredis');
const { contenders } = require('./contenders');

const inFlight = 50;
const [name, port, accounts, autoPipelining] = process.argv.slice(2);
const redis = new Redis({ host: '127.0.0.1', port: Number(port), enableAutoPipelining: autoPipelining === 'true' });
const ask = contenders[name](redis);
const expected = name !== 'tidekeeper-refusal';
const addresses = Array.from({ length: Number(accounts) }, (_, i) => `user${i}@example.com`);

async function run(ms) {
    const start = performance.now();
    const end = start + ms;
    const before = process.cpuUsage();
    let calls = 0;
    const consumer = async () => {
        while (performance.now() < end) {
            const answer = await ask(addresses[Math.floor(Math.random() * addresses.length)]);
            if (answer?.granted === !expected)
                throw new Error(`an unexpected answer: ${JSON.stringify(answer)}`);
            ++calls;
        }
    };
    await Promise.all(Array.from({ length: inFlight }, consumer));
    const { user, system } = process.cpuUsage(before);
    return { calls, seconds: (performance.now() - start) / 1000, cpuUs: user + system };
}

process.on('message', async ({ ms }) => {
    try {
        process.send(await run(ms));
    } catch (error) {
        process.send({ error: `${name}: ${error.stack ?? JSON.stringify(error)}` });
    }
});
process.on('disconnect', () => process.exit(0));
