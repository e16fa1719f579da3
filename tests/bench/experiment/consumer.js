// SPDX-License-Identifier: Apache-2.0
'use strict';

const { Attempt } = require('./attempt');
const { sleep } = require('./time');

// What one consumer of a mailbox wants from Gmail. Costs are those of May 2026; bulk asks for equal amounts, since
// whoever asks for more than his rivals at a nearly empty bucket would be overtaken for ever.
const costs = { 'threads.get': 40, 'messages.get': 20, 'history.list': 2 };
const historyEvery = 8; // of the rounds of a batch consumer
const meanArrivalMs = 5000;

function work(method, lane, calls, how) {
    return { method: `gmail.users.${method}`, cost: costs[method] * calls.length, lane, calls, how };
}

/** One of the programs on a mailbox: "first-sync", "batch" or "realtime". */
class Consumer {
    constructor(kind, mailbox, sizes, limiter, gmail, random, signal) {
        this.kind = kind;
        this.mailbox = mailbox; // {threads: ids, messages: ids, historyId}
        this.sizes = sizes; // calls at once: {threads, messages, burst}
        this.attempt = new Attempt(kind, limiter, gmail, random, signal);
        this.random = random;
        this.signal = signal;
        this.next = Math.floor(random() * 1000);
    }

    /** Works until the signal aborts. */
    async run() {
        await sleep(this.random() * 1000, this.signal);
        for (;;) {
            if (this.kind === 'first-sync')
                await this.fetchThreads();
            else if (this.kind === 'batch')
                await this.fetchMessages();
            else
                await this.awaitMail();
        }
    }

    fetchThreads() {
        const calls = this.some(this.mailbox.threads, this.sizes.threads).map((id) => `threads/${id}`);
        return this.attempt.perform(work('threads.get', 'bulk', calls, 'batch'));
    }

    fetchMessages() {
        if (this.next % historyEvery === 0) {
            this.next += 1;
            return this.listHistory('bulk');
        }
        return this.attempt.perform(work('messages.get', 'bulk', this.messages(this.sizes.messages), 'inTurn'));
    }

    async awaitMail() {
        await sleep(-Math.log(1 - this.random()) * meanArrivalMs, this.signal);
        await this.listHistory('realtime');
        const burst = 1 + Math.floor(this.random() * this.sizes.burst);
        await this.attempt.perform(work('messages.get', 'realtime', this.messages(burst), 'batch'));
    }

    listHistory(lane) {
        const call = `history?startHistoryId=${this.mailbox.historyId}`;
        return this.attempt.perform(work('history.list', lane, [call], 'inTurn'));
    }

    messages(count) {
        return this.some(this.mailbox.messages, count).map((id) => `messages/${id}`);
    }

    some(ids, count) {
        const chosen = [];
        for (let i = 0; i < count; ++i)
            chosen.push(ids[this.next++ % ids.length]);
        return chosen;
    }
}

module.exports = { Consumer };
