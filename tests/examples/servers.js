// SPDX-License-Identifier: Apache-2.0
'use strict';

const fs = require('fs');
const net = require('net');
const path = require('path');
const { setTimeout: sleep } = require('timers/promises');
const { Programs } = require('../bench/support/programs');

const policy = {
    account_capacity_milli: 360_000, account_refill_per_minute: 5450, account_reserve_milli: 180_000,
    project_capacity_milli: 72_000_000, project_refill_per_minute: 1_090_000, project_reserve_milli: 14_400_000,
    key_ttl_ms: 3_600_000, enforce: 1,
};

/** A Redis with the functions and no engine; what it holds survives a restart. */
class Redis {
    static async start(programs, name = 'redis') {
        const server = await programs.startRedis(name, Redis.persistent);
        return new Redis(programs, name, server);
    }

    constructor(programs, name, server) {
        Object.assign(this, { programs, name, server, port: server.port, url: `redis://127.0.0.1:${server.port}` });
    }

    cli(...args) {
        return this.server.cli(args);
    }

    publish(changes = {}, project = 'default') {
        this.cli('FCALL', 'tidekeeper_publish_v1', '2', `tk:{gmail:${project}}:policy`, `tk:{gmail:${project}}:project`,
            ...Object.entries({ ...policy, ...changes }).flat().map(String));
    }

    /** {level, capacity} of an account now, in units; nothing is charged. */
    level(account, project = 'default') {
        const prefix = `tk:{gmail:${project}}:`;
        const answer = this.cli('FCALL', 'tidekeeper_acquire_v1', '3',
            `${prefix}account:${Buffer.from(account).toString('base64url')}`, `${prefix}project`, `${prefix}policy`,
            '0', 'realtime', '0').split('\n');
        return Number(answer[4]) / 1000;
    }

    async stop() {
        this.server.program.kill('SIGKILL');
        await new Promise((resolve) => { this.server.program.once('exit', resolve); });
    }

    async restart() {
        const again = `${this.name}-again`;
        this.server.program = this.programs.start(again, 'redis-server', ['--bind', '127.0.0.1', '--port',
            String(this.port), '--dir', path.join(this.programs.folder, this.name), ...Redis.persistent]);
        await this.programs.eventually(again, this.server.program,
            () => /Ready to accept connections/.test(this.programs.read(again)));
    }
}
Redis.persistent = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];

/** tidekeeperd on a given Redis. */
class Engine {
    static async start(programs, redis) {
        const folder = path.join(programs.folder, 'engine');
        const config = path.join(programs.folder, 'tidekeeper.toml');
        fs.writeFileSync(config, `[redis]\nurl = "${redis.url}"\n[plugins.watch-renewal]\nenabled = false\n`);
        const { program, url } = await programs.startListening('tidekeeperd',
            path.join(process.env.TIDEKEEPER_BUILD, 'bin/tidekeeperd'),
            ['--config', config, '--state-dir', folder, '--listen', '127.0.0.1:0']);
        const token = fs.readFileSync(path.join(folder, 'admin.token'), 'utf8').trim();
        const engine = new Engine();
        return Object.assign(engine, { program, url: `${url}/api/v1/limiters/gmail`, token });
    }

    async call(method, where, body) {
        const response = await fetch(this.url + where, { method, body: JSON.stringify(body),
            headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' } });
        return { status: response.status, ...await response.json() };
    }

    async stop() {
        this.program.kill('SIGTERM');
        await new Promise((resolve) => { this.program.once('exit', resolve); });
    }
}

/** A server that accepts connections and never says anything. */
async function silentServer() {
    const sockets = new Set();
    const server = net.createServer((socket) => sockets.add(socket.on('error', () => {}).resume()));
    await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
    return {
        url: `redis://127.0.0.1:${server.address().port}`,
        stop: () => {
            server.close();
            sockets.forEach((socket) => socket.destroy());
        },
    };
}

/** The first truthy answer, asked for again every 50 ms. */
async function eventually(what, ask, withinMs = 10_000) {
    for (const until = performance.now() + withinMs; performance.now() < until; await sleep(50)) {
        const answer = await ask();
        if (answer)
            return answer;
    }
    throw new Error(`not within ${withinMs} ms: ${what}`);
}

module.exports = { Engine, Programs, Redis, eventually, policy, silentServer, sleep };
