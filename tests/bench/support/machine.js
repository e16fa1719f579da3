// SPDX-License-Identifier: Apache-2.0
'use strict';

const { spawnSync } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');

const root = path.join(__dirname, '../../..');

function firstLine(command, args) {
    const { stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: 'utf8' });
    return (stdout || stderr || 'unknown').split('\n')[0].trim();
}

/** Where and when: what every table of figures has to say. */
function machine() {
    const cpus = os.cpus();
    return {
        date: new Date().toISOString(),
        cpu: cpus[0]?.model.trim() ?? 'unknown',
        cores: cpus.length,
        memory_gib: Math.round(os.totalmem() / 2 ** 30),
        system: `${/PRETTY_NAME="(.*)"/.exec(fs.readFileSync('/etc/os-release', 'utf8'))?.[1]}, Linux ${os.release()}`,
        load_before: os.loadavg()[0],
    };
}

/** Of the programs, and of the npm packages named. */
function versions(packages) {
    const found = {
        tidekeeper: firstLine('git', ['describe', '--always', '--dirty']),
        redis: /v=(\S+)/.exec(firstLine('redis-server', ['--version']))?.[1] ?? 'unknown',
        node: process.versions.node,
    };
    for (const name of packages) {
        const file = path.join(process.env.NODE_PATH, name, 'package.json');
        found[name] = JSON.parse(fs.readFileSync(file, 'utf8')).version;
    }
    return found;
}

module.exports = { machine, versions };
