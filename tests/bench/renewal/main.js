// SPDX-License-Identifier: Apache-2.0
'use strict';

// How fast one engine renews: see README.md one folder up.
const { machine, versions } = require('../support/machine');
const { options } = require('../support/options');
const { Programs } = require('../support/programs');
const { print } = require('../support/report');
const { Engine } = require('./engine');
const { Google } = require('./google');
const { measureThroughput } = require('./throughput');

const peers = ['@googleapis/gmail', 'google-auth-library'];
const common = { latencyMs: 20 }; // of Google's Gmail
const full = { renewals: 3000, consumers: 64 };
const tiny = { renewals: 60, consumers: 8 };

async function measure(settings) {
    const programs = new Programs();
    try {
        const google = await Google.start(programs, settings);
        const engine = await Engine.start(programs, google, settings);
        return await measureThroughput({ engine, google }, settings);
    } finally {
        await programs.stop();
    }
}

async function main() {
    const { rounds, json, smoke, build } = options(3);
    const settings = { rounds, ...common, ...(smoke ? tiny : full) };
    const where = machine(); // before we put load on it
    const measured = await measure({ ...settings, build });
    print({ benchmark: 'renewal', machine: where, versions: versions(peers), settings, ...measured }, json);
}

main().catch((error) => {
    console.error(error.stack);
    process.exit(1);
});
