// SPDX-License-Identifier: Apache-2.0
'use strict';

const { BottleneckReservoir } = require('./bottleneck');
const { CallCounting } = require('./callcount');
const { ClientClockBucket } = require('./clientbucket');
const { FlexibleSingle, FlexibleUnion } = require('./flexible');
const { Gcra } = require('./gcra');
const { InProcess } = require('./inprocess');
const { NoLimiter } = require('./none');
const { Tidekeeper } = require('./tidekeeper');

const published = { accountPerMinute: 6000, projectPerMinute: 1_200_000 };
const usualCost = 20; // of messages.get, which is what most calls are

/** The policies side by side. `limit` is what each is configured with, per account and minute: units, or calls. */
const policies = [
    { name: 'tidekeeper', title: 'Tidekeeper', make: Tidekeeper, limit: published.accountPerMinute },
    { name: 'none', title: 'no limiter', make: NoLimiter, limit: Infinity },
    { name: 'call-counting', title: 'call counting', make: CallCounting,
      limit: published.accountPerMinute / usualCost },
    { name: 'client-clock-12000', title: 'client-clock bucket, 12,000', make: ClientClockBucket, limit: 12_000 },
    { name: 'client-clock-6000', title: 'client-clock bucket, 6,000', make: ClientClockBucket,
      limit: published.accountPerMinute },
    { name: 'flexible', title: 'rate-limiter-flexible', make: FlexibleSingle, limit: published.accountPerMinute },
    { name: 'flexible-union', title: 'rate-limiter-flexible Union', make: FlexibleUnion,
      limit: published.accountPerMinute },
    { name: 'bottleneck', title: 'bottleneck', make: BottleneckReservoir, limit: published.accountPerMinute },
    { name: 'redis-gcra', title: 'redis-gcra', make: Gcra, limit: published.accountPerMinute },
    { name: 'limiter', title: 'limiter', make: InProcess, limit: published.accountPerMinute },
];

const policyNamed = (name) => policies.find((policy) => policy.name === name);

module.exports = { policies, policyNamed, published };
