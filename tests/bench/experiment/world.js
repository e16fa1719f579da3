// SPDX-License-Identifier: Apache-2.0
'use strict';

const fs = require('fs');
const path = require('path');
const { exchange, exchangeJson } = require('./http');
const { Gmail } = require('./gmail');

const lister = 'setup'; // a project of its own: what the set-up asks counts for nobody

/** Simulated Google: accounts with tokens, faults, and the truth. */
class Google {
    constructor(url) {
        this.url = url;
    }

    async post(where, body) {
        const answer = await exchangeJson('POST', this.url + where, body);
        if (answer.status !== 200)
            throw new Error(`${where} was answered by ${answer.status}: ${answer.body}`);
        return answer.json;
    }

    /** The projects as they are now, by id, and all accounts when wanted. */
    async truth(withAccounts) {
        const { json } = await exchangeJson('GET', `${this.url}/sim/state${withAccounts ? '' : '?accounts=0'}`);
        return { accounts: json.accounts, projects: new Map(json.projects.map((one) => [one.project_id, one])) };
    }

    fault(fault) {
        return this.post('/sim/faults', fault);
    }

    /** Accounts of one project: [{email, project, token, threads, messages, historyId}]. */
    async accounts(project, emails) {
        const made = await this.madeAccounts(project, emails);
        const mailboxes = await this.madeAccounts(lister, emails);
        return Promise.all(made.map(async ({ email, token }, i) =>
            ({ email, project, token, ...(await this.mailbox(mailboxes[i].token)) })));
    }

    async madeAccounts(project, emails) {
        const client = { client_id: `${project}-client`, client_secret: 'secret' };
        const { accounts } = await this.post('/sim/accounts', { emails, project_id: project, ...client });
        return Promise.all(accounts.map(async ({ email, refresh_token: refreshToken }) =>
            ({ email, token: await this.token(client, refreshToken) })));
    }

    async token(client, refreshToken) {
        const form = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken, ...client });
        const answer = await exchange('POST', `${this.url}/token`,
            { 'content-type': 'application/x-www-form-urlencoded' }, form.toString());
        return JSON.parse(answer.body).access_token;
    }

    async mailbox(token) {
        const gmail = new Gmail(this.url, token);
        const list = async (call) => JSON.parse((await gmail.get(call)).body);
        const ids = (entries) => entries.map((entry) => entry.id);
        return {
            threads: ids((await list('threads')).threads),
            messages: ids((await list('messages')).messages),
            historyId: (await list('profile')).historyId,
        };
    }
}

/** A simulated Google of its own process. */
async function startGoogle(programs, build) {
    const command = path.join(build, 'bin/tidekeeper-google-sim');
    const { url } = await programs.startListening('google', command, ['--listen', '127.0.0.1:0']);
    return new Google(url);
}

/** The engine with one project for each scene; {url, token}. */
async function startEngine(programs, build, googleUrl, redisPort, projects) {
    const secret = path.join(programs.folder, 'client-secret');
    const config = path.join(programs.folder, 'tidekeeper.toml');
    const state = path.join(programs.folder, 'state');
    fs.writeFileSync(secret, 'secret', { mode: 0o600 });
    fs.writeFileSync(config, [
        `[redis]\nurl = "redis://127.0.0.1:${redisPort}"`,
        `[google]\noauth_url = "${googleUrl}"\ngmail_url = "${googleUrl}"\nfcm_url = "${googleUrl}"`,
        ...projects.map((name) => `[google.projects.${name}]\nproject_id = "${name}"\n`
            + `topic = "projects/${name}/topics/gmail"\n[google.projects.${name}.clients.default]\n`
            + `client_id = "${name}-client"\nclient_secret_file = "${secret}"`),
    ].join('\n\n'));
    const { url } = await programs.startListening('tidekeeperd', path.join(build, 'bin/tidekeeperd'),
        ['--config', config, '--state-dir', state, '--listen', '127.0.0.1:0']);
    return { url, token: fs.readFileSync(path.join(state, 'admin.token'), 'utf8').trim() };
}

module.exports = { startEngine, startGoogle };
