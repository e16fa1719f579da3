// SPDX-License-Identifier: Apache-2.0
'use strict';

const { spawn } = require('child_process');
const readline = require('readline');

/** How run.sh says that each language's driver is started: {"node": ["node", "…/driver.js"], …}. */
const commands = JSON.parse(process.env.TIDEKEEPER_EXAMPLE_DRIVERS);
const all = new Set();
const languages = Object.keys(commands);

const longestMs = 40_000; // beyond it an example hangs

/** An example in a process of its own. A call answers {ok}, {refusedBy, retryAfterMs} or {error}; and tookMs. */
class Consumer {
    static async open(language, url, options = {}) {
        const consumer = new Consumer(language);
        const { ok, error } = await consumer.call('open', { url, options: { commandTimeoutMs: 2000, ...options } });
        if (error)
            throw new Error(error);
        consumer.costs = ok.costs;
        return consumer;
    }

    constructor(language) {
        const [command, ...args] = commands[language];
        this.waiting = new Map();
        all.add(this);
        this.process = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
        readline.createInterface({ input: this.process.stdout }).on('line', (line) => {
            const { id, ...answer } = JSON.parse(line);
            this.waiting.get(id)(answer);
            this.waiting.delete(id);
        });
        this.ended = new Promise((resolve) => { this.process.once('close', resolve); });
        this.ended.then((code) => this.waiting.forEach((resolve) => resolve({ error: `the driver ended with ${code}` })));
        this.count = 0;
    }

    call(op, fields) {
        const id = ++this.count;
        return new Promise((resolve) => {
            const timer = setTimeout(() => resolve({ error: `${op}: no answer`, tookMs: longestMs }), longestMs);
            this.waiting.set(id, (answer) => {
                clearTimeout(timer);
                resolve(answer);
            });
            this.process.stdin.write(`${JSON.stringify({ id, op, ...fields })}\n`);
        });
    }

    acquire(account, ask) {
        return this.call('acquire', { account, ask });
    }

    report(account, { status, headers = {}, body = '' }, grant = null) {
        return this.call('report', { account, status, headers, body, grant });
    }

    refund(grant) {
        return this.call('refund', { grant });
    }

    /** Also of those that a failed test left behind: nobody else ends them. */
    static closeAll() {
        return Promise.all([...all].map((consumer) => consumer.close()));
    }

    close() {
        all.delete(this);
        this.process.stdin.end();
        setTimeout(() => this.process.kill('SIGKILL'), 5000).unref();
        return this.ended;
    }
}

module.exports = { Consumer, languages };
