// SPDX-License-Identifier: Apache-2.0
'use strict';

// What a product does that renews by itself: Google's own clients in a loop, so many accounts at the same time. Nothing
// is limited, saved, leased or tried again. Arguments: URL of Google, accounts at the same time; JSON lines on stdin.
// Prints the milliseconds that all took.
const { gmail } = require('@googleapis/gmail');
const { OAuth2Client } = require('google-auth-library');
const { readFileSync } = require('fs');

const [google, atOnce] = process.argv.slice(2);
const accounts = readFileSync(0, 'utf8').trim().split('\n').map((line) => JSON.parse(line));

async function renew(account) {
    const auth = new OAuth2Client({ clientId: 'sim-client', clientSecret: 'sim-secret',
        endpoints: { oauth2TokenUrl: `${google}/token` } });
    auth.setCredentials({ refresh_token: account.refresh_token });
    const api = gmail({ version: 'v1', auth, rootUrl: `${google}/` });
    const { data } = await api.users.watch({ userId: 'me',
        requestBody: { topicName: 'projects/sim-project/topics/gmail' } });
    if (!(Number(data.expiration) > 0))
        throw new Error(`no expiration in ${JSON.stringify(data)}`);
}

async function worker() {
    for (let account = accounts.pop(); account; account = accounts.pop())
        await renew(account);
}

async function main() {
    const started = performance.now();
    await Promise.all(Array.from({ length: Number(atOnce) }, worker));
    console.log(performance.now() - started);
}

main().catch((error) => {
    console.error(error.stack);
    process.exit(1);
});
