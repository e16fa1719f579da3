// SPDX-License-Identifier: Apache-2.0
'use strict';

const http = require('http');

const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity });

function exchangeOnce(method, url, headers, body, signal) {
    return new Promise((resolve, reject) => {
        const sized = body === undefined ? headers : { ...headers, 'content-length': Buffer.byteLength(body) };
        const request = http.request(url, { method, headers: sized, agent, signal }, (response) => {
            let text = '';
            response.setEncoding('utf8');
            response.on('data', (piece) => { text += piece; });
            response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body: text }));
            response.on('error', reject);
        });
        request.on('error', (error) => reject(Object.assign(error, { onKeptLine: request.reusedSocket })));
        request.end(body);
    });
}

/**
 * One exchange over a kept connection: {status, headers, body}; the body is text. When the other side closed a kept
 * connection just as it was to be used again, the exchange is made anew.
 */
async function exchange(method, url, headers = {}, body = undefined, signal = undefined) {
    for (;;) {
        try {
            return await exchangeOnce(method, url, headers, body, signal);
        } catch (error) {
            if (error.code !== 'ECONNRESET' || !error.onKeptLine)
                throw error;
        }
    }
}

/** As exchange, of JSON; `json` is the parsed answer. */
async function exchangeJson(method, url, value, headers = {}, signal = undefined) {
    const body = value === undefined ? undefined : JSON.stringify(value);
    const sent = body === undefined ? headers : { 'content-type': 'application/json', ...headers };
    const answer = await exchange(method, url, sent, body, signal);
    return { ...answer, json: answer.body ? JSON.parse(answer.body) : {} };
}

module.exports = { exchange, exchangeJson };
