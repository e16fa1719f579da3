// SPDX-License-Identifier: Apache-2.0
'use strict';

// The trouble of each scenario, as arguments of `tidekeeper simulate`.
const worker = ['--outage', 'worker=6h@156h'];
const google = ['--outage', 'google=24h@13d'];
const secret = ['--outage', 'secret=2h@492h'];
const errors = ['--errors', '2%'];
const revoked = ['--revoked', '1%'];

const scenarios = [
    { name: 'calm', title: 'nothing goes wrong', trouble: [] },
    { name: 'worker', title: 'worker down for 6 h', trouble: worker },
    { name: 'google', title: 'Google answers 503 for 24 h', trouble: google },
    { name: 'network', title: 'no network for 24 h', trouble: ['--outage', 'network=24h@13d'] },
    { name: 'errors', title: '2 % of all calls fail', trouble: errors },
    { name: 'revoked', title: '1 % of the users revoke', trouble: revoked },
    { name: 'secret', title: 'wrong client secret for 2 h', trouble: secret },
    { name: 'grants', title: 'invalid_grant for everybody for 2 h', trouble: ['--outage', 'grants=2h@492h'] },
    { name: 'topic', title: 'no right to the topic for 2 h', trouble: ['--outage', 'topic=2h@492h'] },
    { name: 'all', title: 'worker, Google, errors, revoked and secret together',
      trouble: [...worker, ...google, ...secret, ...errors, ...revoked] },
];

/** Of ours, each in each scenario: name, limit, and what is compared with it. */
const goals = [
    { name: 'lapsed', most: 0, of: (figures) => figures.lapsed },
    { name: 'grants lost', most: 0, of: (figures) => figures.grants_lost },
    { name: 'peak hour ÷ mean', most: 2, of: (figures) => figures.peak_ratio },
    { name: 'peak hour in recovery ÷ mean', most: 4, of: (figures) => figures.recovery_peak_ratio },
];

module.exports = { goals, scenarios };
