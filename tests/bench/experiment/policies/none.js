// SPDX-License-Identifier: Apache-2.0
'use strict';

/** What a limiter without feedback does about answers and delays: nothing. The base of all that follow. */
class NoLimiter {
    async acquire() {
        return { granted: true, waitMs: 0 };
    }

    /** Whether the grant may still be used. */
    async stillGood() {
        return true;
    }

    /** Gmail's answer to the call of this grant. */
    async answered() {}

    /** Whether it keeps callers away by itself after Gmail refused one. */
    get backsOff() {
        return false;
    }
}

module.exports = { NoLimiter };
