// SPDX-License-Identifier: Apache-2.0
'use strict';

const { policyNamed } = require('../policies');

const titleOf = (policy) => policyNamed(policy).title;
const percent = (share, digits = 1) => (share === null ? '–' : `${(100 * share).toFixed(digits)} %`);

function duration(ms) {
    if (!Number.isFinite(ms))
        return '–';
    return ms < 1000 ? `${ms.toFixed(1)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

function reasonsOf(refusedBy) {
    return Object.entries(refusedBy).map(([reason, count]) => `${reason} ${count}`).sort().join(', ') || '–';
}

/** What the policies did side by side. */
function experimentTable(rows) {
    return {
        title: 'Ten consumers on one account, side by side',
        columns: { calls: 'calls', refused: 'refused', by: 'by which limit', unitsPerMinute: 'units/min',
                   ofLimit: 'of the limit', rt50: 'realtime p50', rt99: 'realtime p99', bulk50: 'bulk p50',
                   bulk99: 'bulk p99', worstMinute: 'worst 60 s', worst18s: 'worst 18 s' },
        rows: rows.map((row) => ({
            name: titleOf(row.policy), calls: row.calls, refused: row.refused, by: reasonsOf(row.refusedBy),
            unitsPerMinute: row.unitsPerMinute, ofLimit: `${row.percentOfLimit.toFixed(1)} %`,
            rt50: duration(row.realtimeWaitMs.p50), rt99: duration(row.realtimeWaitMs.p99),
            bulk50: duration(row.bulkWaitMs.p50), bulk99: duration(row.bulkWaitMs.p99),
            worstMinute: row.worstMinute, worst18s: row.worst18s,
        })),
    };
}

function faultsTable(scenes) {
    return {
        title: 'The same under faults',
        columns: { policy: 'policy', calls: 'calls', refused: 'refused', share: 'share', by: 'by',
                   unitsPerMinute: 'units/min' },
        rows: scenes.flatMap(({ title, rows }) => rows.map((row, i) => ({
            name: i === 0 ? title : '', policy: titleOf(row.policy), calls: row.calls, refused: row.refused,
            share: percent(row.refusedShare, 3), by: reasonsOf(row.refusedBy), unitsPerMinute: row.unitsPerMinute,
        }))),
    };
}

function fidelityTable({ rows }) {
    return {
        title: 'Fidelity',
        columns: { worst: 'worst 60 s ÷ limit', charged: 'refused units charged', told: 'admitted after the told wait',
                   lost: 'units lost to rounding', over: 'granted with clocks ±1 s ÷ in step', jain: 'Jain index' },
        rows: rows.map((row) => ({
            name: titleOf(row.policy), worst: row.worstWindow.toFixed(2), charged: percent(row.chargedByRefusals, 0),
            told: percent(row.admittedAsTold), lost: row.unitsLost === null ? '–' : Math.abs(row.unitsLost).toFixed(3),
            over: row.overGrant.toFixed(2), jain: row.jain.toFixed(3),
        })),
    };
}

module.exports = { experimentTable, faultsTable, fidelityTable };
