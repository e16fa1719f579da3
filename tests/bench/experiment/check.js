// SPDX-License-Identifier: Apache-2.0
'use strict';

const assert = require('assert');
const { policies } = require('./policies');

const mayBeMissing = new Set(['chargedByRefusals', 'admittedAsTold', 'unitsLost']); // of those that refuse nothing

function isFiniteNumber(value, what) {
    assert(Number.isFinite(value), `${what} is ${value}`);
}

/** What a short run can show: every policy worked, all figures are there, and ours was not refused once. */
function checkComplete({ policies: rows, fidelity }) {
    assert.deepStrictEqual(rows.map(({ policy }) => policy), policies.map(({ name }) => name));
    for (const row of rows) {
        assert(row.calls > 20, `${row.policy} made ${row.calls} calls only`);
        assert.strictEqual(row.otherFailures, 0, `${row.policy} had answers that nobody expected`);
        for (const name of ['unitsPerMinute', 'percentOfLimit', 'worstMinute', 'worst18s', 'mostInFlight'])
            isFiniteNumber(row[name], `${name} of ${row.policy}`);
        isFiniteNumber(row.realtimeWaitMs.p99, `realtime wait of ${row.policy}`);
        isFiniteNumber(row.bulkWaitMs.p99, `bulk wait of ${row.policy}`);
    }
    const [ours, none] = ['tidekeeper', 'none'].map((name) => rows.find(({ policy }) => policy === name));
    assert.strictEqual(ours.refused, 0, `Gmail refused ours: ${JSON.stringify(ours.refusedBy)}`);
    assert(none.refused > 0, 'Gmail refused nobody, so the limit was never reached');
    assert.strictEqual(fidelity.rows.length, policies.length - 1);
    for (const row of fidelity.rows) {
        for (const [name, value] of Object.entries(row).filter(([key]) => key !== 'policy'))
            if (value !== null || !mayBeMissing.has(name))
                isFiniteNumber(value, `${name} of ${row.policy}`);
    }
    const exact = fidelity.rows.find(({ policy }) => policy === 'tidekeeper');
    assert(exact.worstWindow <= 1 && exact.chargedByRefusals === 0 && exact.admittedAsTold === 1
        && Math.abs(exact.unitsLost) < 1, `Ours is not exact: ${JSON.stringify(exact)}`);
}

module.exports = { checkComplete };
