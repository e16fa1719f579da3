// SPDX-License-Identifier: Apache-2.0
'use strict';

// The Node.js example behind lines of JSON: ../consumer.js writes them.
const readline = require('readline');
const { GmailQuota, QuotaRefused, costs } = require(process.argv[2]);

let quota;
const operations = {
    open: ({ url, options }) => {
        quota = new GmailQuota(url, options);
        return { costs };
    },
    acquire: ({ account, ask }) => quota.acquire(account, ask),
    report: ({ account, status, headers, body, grant }) => quota.report(account, status, headers, body, grant ?? undefined),
    refund: async ({ grant }) => ({ back: await quota.refund(grant) }),
};

readline.createInterface({ input: process.stdin }).on('line', async (line) => {
    const request = JSON.parse(line);
    const before = performance.now();
    let answer;
    try {
        answer = { ok: await operations[request.op](request) };
    } catch (error) {
        answer = error instanceof QuotaRefused
            ? { refusedBy: error.refusedBy, retryAfterMs: error.retryAfterMs } : { error: String(error) };
    }
    console.log(JSON.stringify({ id: request.id, tookMs: performance.now() - before, ...answer }));
}).on('close', () => quota?.close());
