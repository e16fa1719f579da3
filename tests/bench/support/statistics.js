// SPDX-License-Identifier: Apache-2.0
'use strict';

/** The smallest value that this share of all does not exceed; NaN without values. */
function quantile(values, share) {
    const sorted = Float64Array.from(values).sort();
    return sorted.length ? sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] : NaN;
}

function median(values) {
    const sorted = Float64Array.from(values).sort();
    const half = sorted.length >> 1;
    return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/** What the rounds gave: {median, min, max}. */
function spread(values) {
    return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/**
 * Runs each contender once per round, A B C, then B C A, so that what else happens on the machine meets all of them.
 * Contenders are {name, run}; run() gives an object of numbers. Returns, by name, an object with the spread of each.
 */
async function interleaved(contenders, rounds) {
    const results = new Map(contenders.map(({ name }) => [name, []]));
    for (let round = 0; round < rounds; ++round) {
        for (let i = 0; i < contenders.length; ++i) {
            const { name, run } = contenders[(i + round) % contenders.length];
            results.get(name).push(await run());
        }
    }
    return new Map([...results].map(([name, all]) => [name, spreadOfEach(all)]));
}

function spreadOfEach(all) {
    return Object.fromEntries(Object.keys(all[0]).map((key) => [key, spread(all.map((one) => one[key]))]));
}

module.exports = { interleaved, median, quantile, spread };
