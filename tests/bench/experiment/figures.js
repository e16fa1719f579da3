// SPDX-License-Identifier: Apache-2.0
'use strict';

const { quantile } = require('../support/statistics');
const { projectOf } = require('./scene');

/** 1 when all have the same, 1/n when one has everything. */
function jainIndex(values) {
    const sum = values.reduce((a, b) => a + b, 0);
    const squares = values.reduce((a, b) => a + b * b, 0);
    return squares === 0 ? 0 : (sum * sum) / (values.length * squares);
}

function waitsOf(consumers) {
    return consumers.flatMap(({ waits }) => waits);
}

const total = (consumers, field) => consumers.reduce((sum, consumer) => sum + consumer[field], 0);

/** What one policy did in a scene; rates are those after the first `warmUpS` seconds. */
function figuresOf({ scene, samples, seen, accounts }, policy, warmUpS, limitPerMinute) {
    const project = projectOf(scene, policy);
    const own = seen.filter((consumer) => consumer.policy === policy);
    const mailboxes = accounts.filter((account) => account.project_id === project);
    const at = (sample) => sample.projects.get(project);
    const from = samples.find((sample) => sample.atS >= warmUpS) ?? samples[0];
    const to = samples.at(-1);
    const unitsPerMinute = ((at(to).units - at(from).units) * 60) / (to.atS - from.atS);
    const realtime = waitsOf(own.filter(({ kind }) => kind === 'realtime'));
    const bulk = waitsOf(own.filter(({ kind }) => kind !== 'realtime'));
    return {
        policy,
        calls: at(to).calls,
        refused: at(to).refused,
        refusedShare: at(to).refused / Math.max(1, at(to).calls),
        refusedBy: at(to).refused_by,
        unitsPerMinute,
        percentOfLimit: (100 * unitsPerMinute) / limitPerMinute,
        worstMinute: Math.max(...mailboxes.map((account) => account.units_worst_60s)),
        worst18s: Math.max(...mailboxes.map((account) => account.units_worst_18s)),
        mostInFlight: Math.max(...mailboxes.map((account) => account.in_flight_worst)),
        realtimeCalls: realtime.length,
        realtimeWaitMs: { p50: quantile(realtime, 0.5), p99: quantile(realtime, 0.99) },
        bulkWaitMs: { p50: quantile(bulk, 0.5), p99: quantile(bulk, 0.99) },
        askedAgain: total(own, 'askedAgain'),
        unusedGrants: total(own, 'unused'),
        degradedGrants: total(own, 'degraded'),
        otherFailures: total(own, 'failures'),
    };
}

/** Units served and asked for in the last 60 s, sample by sample. */
function slidingMinute({ scene, samples }, policy) {
    const project = projectOf(scene, policy);
    const points = samples.map(({ atS, projects }) => {
        const { units, refused_units: refusedUnits } = projects.get(project);
        return { atS, units, asked: units + refusedUnits };
    });
    let first = 0;
    return points.map((point) => {
        while (points[first].atS < point.atS - 60)
            ++first;
        const before = first === 0 ? { units: 0, asked: 0 } : points[first];
        return { atS: point.atS, servedUnits: point.units - before.units, askedUnits: point.asked - before.asked };
    });
}

/** All realtime waits of a policy in ms. */
function realtimeWaits({ seen }, policy) {
    return waitsOf(seen.filter((consumer) => consumer.policy === policy && consumer.kind === 'realtime'));
}

module.exports = { figuresOf, jainIndex, realtimeWaits, slidingMinute };
