// SPDX-License-Identifier: Apache-2.0
'use strict';

const { execFile } = require('child_process');
const fs = require('fs');
const path = require('path');
const { promisify } = require('util');

const run = promisify(execFile);

/** The engine on a given Redis, with a project so wide that only accounts can refuse, and ways to put load on it. */
class Engine {
    static async start(programs, redis, { build }) {
        const folder = path.join(programs.folder, 'engine');
        const config = path.join(programs.folder, 'tidekeeper.toml');
        fs.writeFileSync(config, `[redis]
url = "redis://127.0.0.1:${redis.port}"
[google.projects.default]
project_capacity = 1_000_000_000
project_refill_per_minute = 1_000_000_000
[log]
level = "error"
[plugins.watch-renewal]
enabled = false
`);
        const { program, url } = await programs.startListening('tidekeeperd', path.join(build, 'bin/tidekeeperd'),
            ['--config', config, '--state-dir', folder, '--listen', '127.0.0.1:0']);
        const token = fs.readFileSync(path.join(folder, 'admin.token'), 'utf8').trim();
        return new Engine(program.pid, url, token);
    }

    constructor(pid, url, token) {
        this.pid = pid;
        this.url = url;
        this.token = token;
    }

    get acquirePath() {
        return '/api/v1/limiters/gmail/acquire';
    }

    get headers() {
        return { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' };
    }

    /** Keep-alive acquires by wrk for so long, a second at least: {requests, perSecond, p50Ms, p99Ms, p999Ms, maxMs}. */
    async load({ connections, ms, accounts }) {
        const seconds = Math.max(1, Math.round(ms / 1000));
        const { stdout } = await run('wrk', ['-t', '1', '-c', String(connections), '-d', `${seconds}s`,
            '-s', path.join(__dirname, 'acquire.lua'), this.url, '--', this.token, String(accounts)]);
        const { requests, seconds: took, failed, ...latencies } = JSON.parse(stdout.trim().split('\n').at(-1));
        if (failed > 0)
            throw new Error(`${failed} of ${requests} acquires over HTTP failed`);
        return { requests, perSecond: requests / took, ...latencies };
    }

    /** Memory of the process, in bytes: {rss, pss}. */
    memory() {
        const text = fs.readFileSync(`/proc/${this.pid}/smaps_rollup`, 'utf8');
        const bytes = (name) => 1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)[1]);
        return { rss: bytes('Rss'), pss: bytes('Pss') };
    }
}

module.exports = { Engine };
