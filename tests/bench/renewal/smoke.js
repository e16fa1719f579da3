// SPDX-License-Identifier: Apache-2.0
'use strict';

// ctest's bench_smoke_renewal: the benchmark runs, and its JSON has each row and figure as a number.
const { checkComplete, smoke } = require('../support/smoke');

checkComplete(smoke('renewal'), { programs: ['@googleapis/gmail', 'google-auth-library'],
    rows: { throughput: ['tidekeeper', 'loop'] }, figures: ['renewals'] });
