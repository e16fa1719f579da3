// SPDX-License-Identifier: Apache-2.0
'use strict';

const Queue = require('bee-queue');

/** bee-queue without what its documentation lets a queue do without. It has no bounded list of finished jobs. */
class BeeQueue {
    constructor({ socket, queue, keep }) {
        if (keep)
            throw new Error('bee-queue keeps all finished jobs or none.');
        this.name = queue;
        this.options = { redis: { path: socket }, getEvents: false, sendEvents: false, storeJobs: false,
            removeOnSuccess: true };
    }

    async openProducer() {
        this.queue = new Queue(this.name, { ...this.options, isWorker: false });
        await this.queue.ready();
    }

    add(data) {
        return this.queue.createJob(data).save();
    }

    async addBulk(list) {
        const errors = await this.queue.saveAll(list.map((data) => this.queue.createJob(data)));
        if (errors.size)
            throw [...errors.values()][0];
    }

    async work(concurrency, handler, onDone) {
        this.worker = new Queue(this.name, this.options);
        await this.worker.ready();
        this.worker.on('succeeded', onDone);
        this.worker.on('failed', (job, error) => { throw error; });
        this.worker.checkStalledJobs(this.worker.settings.stallInterval); // its way to recover them, once per interval
        this.worker.process(concurrency, async (job) => handler(job.data));
    }
}

module.exports = { Adapter: BeeQueue };
