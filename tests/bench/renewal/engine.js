// SPDX-License-Identifier: Apache-2.0
'use strict';

const fs = require('fs');
const path = require('path');

const linesPerImport = 1000; // as the API takes them

/** The engine with SQLite and a private Redis, as it is after installation, but for its limits and its consumers. */
class Engine {
    static async start(programs, google, { build, consumers, name = 'engine', extra = '' }) {
        const folder = path.join(programs.folder, name);
        const secret = path.join(programs.folder, 'client-secret');
        const config = path.join(programs.folder, `${name}.toml`);
        fs.writeFileSync(secret, 'sim-secret');
        fs.writeFileSync(config, `[google]
oauth_url = "${google.url}"
gmail_url = "${google.url}"
[google.projects.default]
project_id = "sim-project"
topic = "projects/sim-project/topics/gmail"
preset = "custom"
account_capacity = 1_000_000
account_refill_per_minute = 1_000_000
project_capacity = 1_000_000_000
project_refill_per_minute = 1_000_000_000
published_account = 0
published_project = 0
[google.projects.default.clients.default]
client_id = "sim-client"
client_secret_file = "${secret}"
[log]
level = "error"
[plugins.watch-renewal]
consumers = ${consumers}
${extra}`);
        const { program, url } = await programs.startListening(name, path.join(build, 'bin/tidekeeperd'),
            ['--config', config, '--state-dir', folder, '--listen', '127.0.0.1:0']);
        const token = fs.readFileSync(path.join(folder, 'admin.token'), 'utf8').trim();
        return new Engine(program.pid, url, token);
    }

    constructor(pid, url, token) {
        this.pid = pid;
        this.url = url;
        this.token = token;
    }

    async get(where) {
        return (await this.ask(where, {})).json();
    }

    /** Accounts as JSON lines. */
    async import(lines) {
        const all = lines.trim().split('\n');
        for (let at = 0; at < all.length; at += linesPerImport) {
            const body = all.slice(at, at + linesPerImport).join('\n');
            const answer = await this.ask('/api/v1/accounts/import',
                { method: 'POST', body, headers: { 'content-type': 'application/x-ndjson' } });
            const { errors } = await answer.json();
            if (errors.length)
                throw new Error(`import: ${JSON.stringify(errors[0])}`);
        }
    }

    async ask(where, init) {
        const answer = await fetch(this.url + where,
            { ...init, headers: { ...init.headers, authorization: `Bearer ${this.token}` } });
        if (!answer.ok)
            throw new Error(`${where} answered ${answer.status}: ${await answer.text()}`);
        return answer;
    }
}

module.exports = { Engine };
