// SPDX-License-Identifier: Apache-2.0
'use strict';

const { Queue, Worker } = require('bullmq');

/** BullMQ. keep: how many finished jobs stay, 0 = none. */
class BullMq {
    constructor({ socket, queue, keep }) {
        this.name = queue;
        this.connection = { path: socket, maxRetriesPerRequest: null };
        this.removeOnComplete = keep ? { count: keep } : true;
    }

    async openProducer() {
        this.queue = new Queue(this.name, { connection: this.connection,
            defaultJobOptions: { removeOnComplete: this.removeOnComplete } });
        await this.queue.waitUntilReady();
    }

    add(data) {
        return this.queue.add('bench', data);
    }

    addBulk(list) {
        return this.queue.addBulk(list.map((data) => ({ name: 'bench', data })));
    }

    /** handler gets the data; onDone is called for each job whose end Redis has. */
    async work(concurrency, handler, onDone) {
        this.worker = new Worker(this.name, (job) => handler(job.data), { connection: this.connection, concurrency });
        this.worker.on('completed', onDone);
        this.worker.on('failed', (job, error) => { throw error; });
        await this.worker.waitUntilReady();
    }
}

module.exports = { Adapter: BullMq };
