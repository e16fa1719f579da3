// SPDX-License-Identifier: Apache-2.0
'use strict';

const { spawn } = require('child_process');
const readline = require('readline');

const limitMs = 180_000; // longer than anything here takes: what hangs must not hang the benchmark
const running = new Set();
process.once('exit', () => running.forEach((task) => task.kill()));

/** A process that says lines. */
class Task {
    constructor(command, args) {
        this.lines = [];
        this.waiting = new Set();
        this.process = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
        running.add(this);
        readline.createInterface({ input: this.process.stdout }).on('line', (line) => {
            this.lines.push(line);
            this.waiting.forEach((look) => look());
        });
        this.ended = new Promise((resolve, reject) => {
            this.process.once('error', reject);
            const limit = setTimeout(() => this.process.kill('SIGKILL'), limitMs);
            this.process.once('close', (code, signal) => {
                clearTimeout(limit);
                running.delete(this);
                const text = `${command} ${args.join(' ')} ended with ${code ?? signal}`;
                code === 0 || this.killed ? resolve() : reject(new Error(text));
            });
        });
        this.ended.catch(() => {}); // whoever waits for a line or the end hears of it
    }

    /** The match of the first line, said or to come, that the pattern fits. */
    line(pattern) {
        const found = new Promise((resolve) => {
            const look = () => {
                const match = this.lines.map((line) => pattern.exec(line)).find(Boolean);
                if (match) {
                    this.waiting.delete(look);
                    resolve(match);
                }
            };
            this.waiting.add(look);
            look();
        });
        const tooEarly = this.ended.then(() => { throw new Error(`no line ${pattern} in time`); });
        tooEarly.catch(() => {});
        return Promise.race([found, tooEarly]);
    }

    /** What its last line says, once it has ended: JSON or nothing. */
    async result() {
        await this.ended;
        return this.lines.length ? JSON.parse(this.lines.at(-1)) : {};
    }

    kill() {
        this.killed = true;
        this.process.kill('SIGKILL');
    }
}

module.exports = { Task };
