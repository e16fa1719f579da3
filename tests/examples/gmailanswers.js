// SPDX-License-Identifier: Apache-2.0
'use strict';

// What Gmail answers: status, headers and body. Shapes are of public captures; names and numbers are made up.
// compareTime false: the example says an hour where the engine knows the end of the day.
const envelope = (code, message, reason, details, domain = 'usageLimits') => JSON.stringify({ error: {
    code, message, errors: [{ message, domain, reason }], status: code === 429 ? 'RESOURCE_EXHAUSTED' : 'PERMISSION_DENIED',
    ...(details && { details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'RATE_LIMIT_EXCEEDED',
        domain: 'googleapis.com', metadata: details }] }) } });
const exceeded = (limit) => `Quota exceeded for quota metric 'Queries' and limit '${limit}' of service 'gmail.googleapis.com'.`;
const lockOut = 'User-rate limit exceeded.  Retry after 2026-06-12T19:16:46.648Z';
const date = { Date: 'Fri, 12 Jun 2026 19:01:46 GMT' };

const answers = {
    'one user, units per minute': { status: 403, body: envelope(403, exceeded('Queries per minute per user'),
        'rateLimitExceeded', { quota_metric: 'gmail.googleapis.com/default', quota_limit: 'defaultPerMinutePerUser',
            quota_limit_value: '15000' }) },
    'project, units per minute': { status: 403, body: envelope(403, exceeded('Queries per minute'), 'rateLimitExceeded',
        { quota_metric: 'gmail.googleapis.com/default', quota_limit: 'defaultPerMinutePerProject', quota_limit_value: '1200000' }) },
    'project, without details': { status: 429, body: envelope(429, exceeded('Queries per minute'), 'rateLimitExceeded') },
    'neither is named': { status: 403, body: envelope(403, 'Rate Limit Exceeded', 'rateLimitExceeded') },
    'documented for a user': { status: 403, body: envelope(403, 'User Rate Limit Exceeded', 'userRateLimitExceeded') },
    concurrency: { status: 429, body: envelope(429, 'Too many concurrent requests for user.', 'rateLimitExceeded', null, 'global') },
    'exhausted': { status: 429, body: envelope(429, 'Resource has been exhausted (e.g. check quota).', 'rateLimitExceeded') },
    // googleapis/google-api-ruby-client#20544
    'lock-out of 15 minutes by their clock': { status: 429, headers: date, body: envelope(429, lockOut, 'rateLimitExceeded') },
    'lock-out of one kind of call': { status: 429, headers: date,
        body: envelope(429, `${lockOut} (Forwarding rules)`, 'rateLimitExceeded') },
    'a time that is past': { status: 429, headers: { ...date, 'Retry-After': '7' },
        body: envelope(429, 'User-rate limit exceeded.  Retry after 2026-06-12T19:00:00.000Z', 'rateLimitExceeded') },
    'Retry-After as a date': { status: 429, headers: { ...date, 'retry-after': 'Fri, 12 Jun 2026 19:02:46 GMT' }, body: '' },
    'Retry-After that is none': { status: 429, headers: { 'retry-after': 'soon' }, body: '' },
    'more than a day': { status: 429, headers: { 'retry-after': '999999' }, body: '' },
    'a day is used up': { status: 403, body: envelope(403, 'Daily Limit Exceeded', 'dailyLimitExceeded'), compareTime: false },
    'a page': { status: 429, body: '<html><title>429</title>Too many requests</html>' },
    'no right': { status: 403, body: envelope(403, 'Request had insufficient authentication scopes.', 'insufficientPermissions') },
    'no token': { status: 401, body: envelope(401, 'Invalid Credentials', 'authError', null, 'global') },
    'Gmail failed': { status: 503, headers: { 'retry-after': '3' }, body: envelope(503, 'Backend Error', 'backendError') },
    'not found': { status: 404, body: envelope(404, 'Requested entity was not found.', 'notFound', null, 'global') },
    'a message about rateLimitExceeded': { status: 200, body: '{"snippet": "why do I get \\"rateLimitExceeded\\"?"}' },
};

module.exports = { answers };
