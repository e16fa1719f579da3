// SPDX-License-Identifier: Apache-2.0
'use strict';

const Queue = require('bull');

/** bull. keep: how many finished jobs stay, 0 = none. */
class Bull {
    constructor({ socket, queue, keep }) {
        this.queue = new Queue(queue, { redis: { path: socket },
            defaultJobOptions: { removeOnComplete: keep || true } });
    }

    openProducer() {
        return this.queue.isReady();
    }

    add(data) {
        return this.queue.add(data);
    }

    addBulk(list) {
        return this.queue.addBulk(list.map((data) => ({ data })));
    }

    async work(concurrency, handler, onDone) {
        await this.queue.isReady();
        this.queue.on('completed', onDone);
        this.queue.on('failed', (job, error) => { throw error; });
        this.queue.process(concurrency, (job) => handler(job.data));
    }
}

module.exports = { Adapter: Bull };
