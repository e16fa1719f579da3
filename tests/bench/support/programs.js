// SPDX-License-Identifier: Apache-2.0
'use strict';

const { execFileSync, spawn } = require('child_process');
const fs = require('fs');
const net = require('net');
const os = require('os');
const path = require('path');
const { setTimeout: sleep } = require('timers/promises');

const startMs = 20_000;
const luaFolder = path.join(__dirname, '../../../lua');
const quotaLibrary = ['quota.lua', 'quota_acquire.lua', 'quota_feedback.lua', 'quota_upkeep.lua'];

/** Servers with their logs in a folder of their own; stop() ends them and removes the folder. */
class Programs {
    constructor() {
        this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidekeeper-bench.'));
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

    /** A redis-server on a free port of loopback and on a Unix socket, with these files of functions loaded as one library. */
    async startRedis(name, extra = [], library = quotaLibrary) {
        const port = await freePort();
        const folder = path.join(this.folder, name);
        const socket = path.join(folder, 'socket');
        fs.mkdirSync(folder);
        const program = this.start(name, 'redis-server', ['--bind', '127.0.0.1', '--port', String(port),
            '--unixsocket', socket, '--save', '', '--maxmemory-policy', 'noeviction', '--dir', folder, ...extra]);
        await this.eventually(name, program, () => /Ready to accept connections/.test(this.read(name)));
        const redis = new RedisServer(program, port, socket);
        if (library.length)
            redis.cli(['-x', 'FUNCTION', 'LOAD'],
                library.map((file) => fs.readFileSync(path.join(luaFolder, file), 'utf8')).join(''));
        return redis;
    }

    /** A program of ours that prints "listening on URL": {program, url}. */
    async startListening(name, command, args) {
        const program = this.start(name, command, args);
        const url = await this.eventually(name, program, () => /^listening on (\S+)$/m.exec(this.read(name))?.[1]);
        return { program, url };
    }

    read(name) {
        return fs.readFileSync(this.logOf(name), 'utf8');
    }

    async eventually(name, program, condition) {
        for (const until = performance.now() + startMs; performance.now() < until; await sleep(20)) {
            const met = condition();
            if (met)
                return met;
            if (program.exitCode !== null)
                break;
        }
        throw new Error(`${name} did not start:\n${this.read(name)}`);
    }

    async stop() {
        await Promise.all(this.running.filter((program) => program.exitCode === null).map((program) => {
            program.kill('SIGCONT');
            program.kill('SIGTERM');
            return new Promise((resolve) => program.once('exit', resolve));
        }));
        fs.rmSync(this.folder, { recursive: true, force: true });
    }
}

class RedisServer {
    constructor(program, port, socket) {
        this.program = program;
        this.port = port;
        this.socket = socket;
    }

    /** What redis-cli prints; an error reply throws. */
    cli(args, input) {
        return execFileSync('redis-cli', ['-e', '-p', String(this.port), ...args],
            { input, encoding: 'utf8', maxBuffer: 1e8, stdio: ['pipe', 'pipe', 'pipe'] }).trim();
    }

    resetStatistics() {
        this.cli(['CONFIG', 'RESETSTAT']);
    }

    /** µs that Redis spent in functions and scripts since resetStatistics(). */
    microsecondsInScripts() {
        const lines = this.cli(['INFO', 'commandstats']).matchAll(/^cmdstat_(?:fcall|evalsha|eval):calls=\d+,usec=(\d+)/gm);
        return [...lines].reduce((sum, [, us]) => sum + Number(us), 0);
    }

    /** Processor time of Redis' main thread so far. */
    processorUs() {
        const lines = this.cli(['INFO', 'cpu']).matchAll(/^used_cpu_(?:sys|user)_main_thread:(\S+)/gm);
        return [...lines].reduce((sum, [, seconds]) => sum + Number(seconds) * 1e6, 0);
    }

    /** Empties it and its append-only file, so that nobody pays for what another left. */
    async clear() {
        this.cli(['FLUSHALL', 'SYNC']);
        this.cli(['BGREWRITEAOF']);
        const busy = /^aof_(?:rewrite_in_progress|rewrite_scheduled|pending_bio_fsync):[1-9]/m;
        while (busy.test(this.cli(['INFO', 'persistence'])))
            await sleep(5);
    }

    /** Bytes of the append-only file. */
    appendedBytes() {
        return Number(/aof_current_size:(\d+)/.exec(this.cli(['INFO', 'persistence']))[1]);
    }

    pause() {
        this.program.kill('SIGSTOP');
    }

    resume() {
        this.program.kill('SIGCONT');
    }
}

function freePort() {
    return new Promise((resolve, reject) => {
        const server = net.createServer().once('error', reject).listen(0, '127.0.0.1', () => {
            const { port } = server.address();
            server.close(() => resolve(port));
        });
    });
}

module.exports = { Programs };
