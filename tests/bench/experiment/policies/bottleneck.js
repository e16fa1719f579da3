// SPDX-License-Identifier: Apache-2.0
'use strict';

const Bottleneck = require('bottleneck');
const Redis = require('ioredis');
const { NoLimiter } = require('./none');

const connections = new WeakMap(); // by the machine's own connection: limiters of a process share one, as advised

function connectionBeside(redis) {
    if (!connections.has(redis))
        connections.set(redis, new Bottleneck.IORedisConnection({ client: redis.duplicate(), Redis }));
    return connections.get(redis);
}

/** bottleneck, clustered over Redis, with a reservoir that is filled up each minute. It queues; it never refuses. */
class BottleneckReservoir extends NoLimiter {
    constructor({ redis, key, limit, windowMs }) {
        super();
        this.limiter = new Bottleneck({
            id: key,
            connection: connectionBeside(redis),
            reservoir: limit,
            reservoirRefreshAmount: limit,
            reservoirRefreshInterval: windowMs,
            heartbeatInterval: windowMs / 12, // it looks every 5 s whether a minute has passed
        });
        this.limiter.on('error', () => {}); // of connections that are closed at the end
    }

    async acquire(work) {
        const priority = work.lane === 'realtime' ? 0 : 5; // holds among the jobs of one process
        await this.limiter.schedule({ weight: work.cost, priority }, async () => {});
        return { granted: true, waitMs: 0 };
    }
}

module.exports = { BottleneckReservoir };
