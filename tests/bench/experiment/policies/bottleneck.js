// SPDX-License-Identifier: Apache-2.0
'use strict';

const Bottleneck = require('bottleneck');
const Redis = require('ioredis');
const { NoLimiter } = require('./none');

const wholeQueue = 5;

/** bottleneck, clustered over Redis, with a reservoir that is filled up each minute. It queues; it never refuses. */
class BottleneckReservoir extends NoLimiter {
    constructor({ redis, key, limit, windowMs }) {
        super();
        this.connection = new Bottleneck.IORedisConnection({ client: redis.duplicate(), Redis });
        this.limiter = new Bottleneck({
            id: key,
            connection: this.connection,
            reservoir: limit,
            reservoirRefreshAmount: limit,
            reservoirRefreshInterval: windowMs,
        });
        this.limiter.on('error', () => {}); // of connections that are closed at the end
    }

    async acquire(work) {
        const priority = work.lane === 'realtime' ? 0 : wholeQueue;
        await this.limiter.schedule({ weight: work.cost, priority }, async () => {});
        return { granted: true, waitMs: 0 };
    }

    async close() {
        await this.connection.disconnect(false);
    }
}

module.exports = { BottleneckReservoir };
