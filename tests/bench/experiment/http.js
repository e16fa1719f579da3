// SPDX-License-Identifier: Apache-2.0
'use strict';

const http = require('http');

const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity });

/** One exchange over a kept connection: {status, headers, body}; the body is text. */
function exchange(method, url, headers = {}, body = undefined, signal = undefined) {
    return new Promise((resolve, reject) => {
        const sized = body === undefined ? headers : { ...headers, 'content-length': Buffer.byteLength(body) };
        const request = http.request(url, { method, headers: sized, agent, signal }, (response) => {
            let text = '';
            response.setEncoding('utf8');
            response.on('data', (piece) => { text += piece; });
            response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body: text }));
            response.on('error', reject);
        });
        request.on('error', reject);
        request.end(body);
    });
}

/** As exchange, of JSON; `json` is the parsed answer. */
async function exchangeJson(method, url, value, headers = {}, signal = undefined) {
    const body = value === undefined ? undefined : JSON.stringify(value);
    const sent = body === undefined ? headers : { 'content-type': 'application/json', ...headers };
    const answer = await exchange(method, url, sent, body, signal);
    return { ...answer, json: answer.body ? JSON.parse(answer.body) : {} };
}

module.exports = { exchange, exchangeJson };
