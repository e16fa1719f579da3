// SPDX-License-Identifier: Apache-2.0
'use strict';

const Bottleneck = require('bottleneck');
const Redis = require('ioredis');
const { NoLimiter } = require('./none');

/** bottleneck, clustered over Redis, with a reservoir that is filled up each minute. It queues; it never refuses. */
class BottleneckReservoir extends NoLimiter {
    constructor({ redis, key, limit, windowMs }) {
        super();
        const connection = new Bottleneck.IORedisConnection({ client: redis.duplicate(), Redis });
        this.limiter = new Bottleneck({
            id: key,
            connection,
            reservoir: limit,
            reservoirRefreshAmount: limit,
            reservoirRefreshInterval: windowMs,
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
