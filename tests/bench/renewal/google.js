// SPDX-License-Identifier: Apache-2.0
'use strict';

const path = require('path');

/** The simulated Google, with limits so wide that none is met, and its books. */
class Google {
    static async start(programs, { build, latencyMs }) {
        const { url } = await programs.startListening('google', path.join(build, 'bin/tidekeeper-google-sim'),
            ['--listen', '127.0.0.1:0', '--latency-ms', String(latencyMs)]);
        const google = new Google(url);
        await google.post('/sim/settings', { user_limit_per_minute: 1e9, project_limit_per_minute: 1e9 });
        return google;
    }

    constructor(url) {
        this.url = url;
    }

    async post(where, body) {
        return (await this.ask(where, { method: 'POST', body: JSON.stringify(body) })).text();
    }

    /** Accounts without a watch, as JSON lines that the engine imports. */
    async makeAccounts(prefix, count) {
        return this.post('/sim/accounts?format=jsonl', { prefix, count });
    }

    /** Calls of watch so far: {watches, refused}. */
    async totals() {
        const { totals } = await (await this.ask('/sim/state?accounts=0', {})).json();
        return totals;
    }

    async ask(where, init) {
        const answer = await fetch(this.url + where, { ...init, headers: { 'content-type': 'application/json' } });
        if (!answer.ok)
            throw new Error(`${where} answered ${answer.status}: ${await answer.text()}`);
        return answer;
    }
}

module.exports = { Google };
