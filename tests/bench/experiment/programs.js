// SPDX-License-Identifier: Apache-2.0
'use strict';

const { spawn } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const { sleep } = require('./time');

const startMs = 20_000;

/** Programs in a folder of their own; stop() ends them and removes the folder. */
class Programs {
    constructor(build) {
        this.build = build;
        this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidekeeper-experiment.'));
        this.running = [];
        process.once('exit', () => this.running.forEach((program) => program.kill('SIGKILL')));
    }

    start(name, command, args) {
        const log = fs.openSync(this.logOf(name), 'w');
        const program = spawn(command, args, { stdio: ['ignore', log, log] });
        program.on('error', (error) => fs.appendFileSync(this.logOf(name), `${error}\n`));
        this.running.push(program);
        return program;
    }

    logOf(name) {
        return path.join(this.folder, `${name}.log`);
    }

    /** The URL that a program of ours prints when it listens. */
    async startListening(name, args) {
        const program = this.start(name, path.join(this.build, 'bin', name), [...args, '--listen', '127.0.0.1:0']);
        return this.eventually(name, program, () =>
            /^listening on (\S+)$/m.exec(fs.readFileSync(this.logOf(name), 'utf8'))?.[1]);
    }

    /** A Redis on a Unix socket; its path. Nothing is written to disk. */
    async startRedis() {
        const socket = path.join(this.folder, 'redis.sock');
        const program = this.start('redis-server', 'redis-server',
            ['--port', '0', '--unixsocket', socket, '--save', '', '--appendonly', 'no', '--dir', this.folder]);
        await this.eventually('redis-server', program, () => fs.existsSync(socket));
        return socket;
    }

    async eventually(name, program, condition) {
        for (const until = performance.now() + startMs; performance.now() < until; await sleep(50)) {
            const met = condition();
            if (met)
                return met;
            if (program.exitCode !== null)
                break;
        }
        throw new Error(`${name} did not start:\n${fs.readFileSync(this.logOf(name), 'utf8')}`);
    }

    async stop() {
        await Promise.all(this.running.filter((program) => program.exitCode === null).map((program) => {
            program.kill('SIGTERM');
            return new Promise((resolve) => program.once('exit', resolve));
        }));
        fs.rmSync(this.folder, { recursive: true, force: true });
    }
}

module.exports = { Programs };
