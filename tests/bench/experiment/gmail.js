// SPDX-License-Identifier: Apache-2.0
'use strict';

const { exchange } = require('./http');

const boundary = 'calls';

function pathOf(call) {
    return `/gmail/v1/users/me/${call}`;
}

function batchBody(calls) {
    return calls.map((call) => `--${boundary}\r\nContent-Type: application/http\r\n\r\nGET ${pathOf(call)}\r\n\r\n`)
        .join('') + `--${boundary}--\r\n`;
}

/** The inner answers of a multipart/mixed answer, in the order of the calls. */
function batchAnswers(answer) {
    const mark = /boundary="?([^";]+)/.exec(answer.headers['content-type'])[1];
    return answer.body.split(`--${mark}`).slice(1, -1).map((part) => {
        const [, , ...rest] = part.split('\r\n\r\n');
        return {
            status: Number(/HTTP\/1\.1 (\d+)/.exec(part)[1]),
            headers: { date: answer.headers.date },
            body: rest.join('\r\n\r\n').trim(),
        };
    });
}

/** Whether Gmail refused this call for the rate of calls. */
function isRateRefusal(answer) {
    return answer.status === 429 || (answer.status === 403 && answer.body.includes('ateLimitExceeded'));
}

/** Gmail as one mailbox sees it with one project's token. */
class Gmail {
    constructor(url, token) {
        this.url = url;
        this.headers = { authorization: `Bearer ${token}` };
    }

    get(call, signal) {
        return exchange('GET', this.url + pathOf(call), this.headers, undefined, signal);
    }

    /** All calls in one batch request, which has them in flight at once; one answer per call. */
    async batch(calls, signal) {
        const headers = { ...this.headers, 'content-type': `multipart/mixed; boundary=${boundary}` };
        const answer = await exchange('POST', `${this.url}/batch/gmail/v1`, headers, batchBody(calls), signal);
        return answer.status === 200 ? batchAnswers(answer) : calls.map(() => answer);
    }

    /** All calls one after the other; what follows a refusal is not sent and counts as refused too. */
    async inTurn(calls, signal) {
        const answers = [];
        for (const call of calls) {
            const last = answers.at(-1);
            answers.push(last && isRateRefusal(last) ? last : await this.get(call, signal));
        }
        return answers;
    }
}

module.exports = { Gmail, isRateRefusal };
