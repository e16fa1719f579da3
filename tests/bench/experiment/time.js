// SPDX-License-Identifier: Apache-2.0
'use strict';

const timers = require('timers/promises');

/** Milliseconds that only go forward, whatever the machine's clock is set to. */
const now = () => performance.now();

/** Sleeps; a signal that aborts ends the sleep with an AbortError. */
async function sleep(ms, signal) {
    if (ms > 0)
        await timers.setTimeout(ms, undefined, { signal });
}

/** Numbers from 0 to 1, the same ones for the same seed (mulberry32). */
function randomFrom(seed) {
    let state = seed >>> 0;
    return () => {
        state = (state + 0x6d2b79f5) >>> 0;
        let mixed = Math.imul(state ^ (state >>> 15), state | 1);
        mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
        return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    };
}

module.exports = { now, sleep, randomFrom };
