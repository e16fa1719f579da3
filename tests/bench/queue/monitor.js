// SPDX-License-Identifier: Apache-2.0
'use strict';

const net = require('net');
const readline = require('readline');

const marker = 'tidekeeper-bench-marker';

/** Counts what Redis executes, told apart by who asked: MONITOR marks what a script or function called with "lua". */
class Monitor {
    static async open(redis) {
        const monitor = new Monitor(redis);
        await monitor.started;
        return monitor;
    }

    constructor(redis) {
        this.redis = redis;
        this.fromClients = 0;
        this.inner = 0;
        this.socket = net.connect(redis.port, '127.0.0.1', () => this.socket.write('MONITOR\r\n'));
        this.started = new Promise((resolve) => { this.onOk = resolve; });
        this.done = new Promise((resolve) => { this.onMarker = resolve; });
        readline.createInterface({ input: this.socket }).on('line', (line) => this.take(line));
    }

    take(line) {
        if (line === '+OK')
            this.onOk();
        else if (line.includes(marker))
            this.onMarker();
        else if (/^\+[\d.]+ \[\d+ lua\]/.test(line))
            ++this.inner;
        else
            ++this.fromClients;
    }

    /** What was executed since it was opened: {fromClients, inner}. */
    async close() {
        this.redis.cli(['ECHO', marker]);
        await this.done;
        this.socket.destroy();
        return { fromClients: this.fromClients, inner: this.inner };
    }
}

module.exports = { Monitor };
