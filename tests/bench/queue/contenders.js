// SPDX-License-Identifier: Apache-2.0
'use strict';

const path = require('path');
const { Task } = require('./task');

const keptByOurs = 10_000;
const peer = path.join(__dirname, 'node/peer.js');

/**
 * Ours, and each peer as its documentation has it go fastest: nothing kept of finished jobs, and as many kept as ours
 * keeps. bee-queue can keep all or none.
 */
const contenders = [
    { key: 'tidekeeper', name: 'tidekeeper' },
    { key: 'bullmq', name: 'BullMQ, finished jobs removed', peer: 'bullmq', keep: 0 },
    { key: 'bullmq-keep', name: 'BullMQ, 10,000 kept', peer: 'bullmq', keep: keptByOurs },
    { key: 'bull', name: 'bull, finished jobs removed', peer: 'bull', keep: 0 },
    { key: 'bull-keep', name: 'bull, 10,000 kept', peer: 'bull', keep: keptByOurs },
    { key: 'bee-queue', name: 'bee-queue, finished jobs removed', peer: 'bee-queue', keep: 0 },
];

/** Starts one verb of a contender's program (client/main.cpp, node/peer.js) in a process of its own. */
function start(contender, redis, { build, payload }, verb, options) {
    const words = Object.entries({ socket: redis.socket, payload, ...options })
        .flatMap(([name, value]) => [`--${name}`, String(value)]);
    if (!contender.peer)
        return new Task(path.join(build, 'bin/tidekeeper-bench-queue'), [verb, ...words]);
    return new Task(process.execPath, [peer, contender.peer, verb, ...words, '--keep', String(contender.keep)]);
}

/** The best of the peers in a map of results by contender's key: the greatest, or the least, of what `value` gives. */
function bestPeer(results, value, better = Math.max) {
    return better(...contenders.filter((contender) => contender.peer).map(({ key }) => value(results.get(key))));
}

module.exports = { bestPeer, contenders, start };
