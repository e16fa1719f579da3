// SPDX-License-Identifier: Apache-2.0
'use strict';

const { quantile } = require('../../support/statistics');
const { policyNamed, published } = require('../policies');
const { Drawing, linear, logarithmic } = require('./svg');

const width = 860;
const whole = (number) => Math.round(number).toLocaleString('en-US');
const colourOf = (policy) => (policy === 'tidekeeper' ? 'ours' : 'other');

/** One small chart: units of the last 60 s over time, served as a line, refused as what lies above it. */
function minutePanel(drawing, { policy, points }, { x, y, width: w, height: h, minutes, most }) {
    const across = linear(0, minutes, x, x + w);
    const up = linear(0, most, y + h, y);
    drawing.text(x, y - 6, policyNamed(policy).title, { weight: 600 });
    for (let units = 0; units <= most; units += 3000) {
        drawing.line(x, up(units), x + w, up(units), units === 0 ? 'axis' : 'grid');
        drawing.text(x - 6, up(units) + 4, whole(units), { name: 'quiet', anchor: 'end', size: 10 });
    }
    const step = Math.max(1, Math.ceil(minutes / 6));
    for (let minute = 0; minute <= minutes; minute += step)
        drawing.text(across(minute), y + h + 13, minute, { name: 'quiet', anchor: 'middle', size: 10 });
    const at = ([seconds, units]) => [across(seconds / 60), up(Math.min(most, units))];
    const served = points.map(({ atS, servedUnits }) => at([atS, servedUnits]));
    const asked = points.map(({ atS, askedUnits }) => at([atS, askedUnits]));
    drawing.area([...served, ...asked.reverse()], 'refused');
    drawing.path(served, colourOf(policy));
    drawing.line(x, up(published.accountPerMinute), x + w, up(published.accountPerMinute), 'limit', { dash: '5 3' });
}

/** {policy, points: [{atS, servedUnits, askedUnits}]} of each policy. */
function slidingMinutes(series) {
    const columns = 2;
    const rows = Math.ceil(series.length / columns);
    const height = 78 + rows * 142;
    const drawing = new Drawing(width, height, 'Units in the sliding minute, by policy');
    drawing.text(16, 46, 'line: served; shaded: refused by Gmail on top of it; dashed: the published 6,000. '
        + 'Across: minutes. Up: units of the last 60 s.', { name: 'quiet' });
    const minutes = Math.max(...series.flatMap(({ points }) => points.at(-1).atS)) / 60;
    const most = Math.min(15_000, Math.max(7000, ...series.flatMap(({ points }) => points.map((p) => p.askedUnits))));
    series.forEach((one, i) => minutePanel(drawing, one, {
        x: 62 + (i % columns) * 414, y: 84 + Math.floor(i / columns) * 142, width: 350, height: 92, minutes, most,
    }));
    return drawing.toString();
}

const reasons = [
    ['user_burst', 'refused', 'half the limit within 18 s'],
    ['user_minute', 'refused2', 'the limit within 60 s'],
    ['concurrency', 'refused3', 'more than 10 in flight'],
];

/** Bars by policy, parted by the limit that refused: rows are {policy, refused, calls, refusedBy}. */
function refusals(rows) {
    const left = 210;
    const drawing = new Drawing(width, 104 + rows.length * 26, 'Calls that Gmail refused');
    reasons.forEach(([, name, text], i) => {
        drawing.rect(16 + i * 220, 40, 12, 12, name, 2);
        drawing.text(34 + i * 220, 50, text, { name: 'quiet' });
    });
    const most = Math.max(1, ...rows.map(({ refused }) => refused));
    const across = linear(0, most, left, width - 150);
    rows.forEach(({ policy, refused, calls, refusedBy }, row) => {
        const y = 70 + row * 26;
        drawing.text(left - 10, y + 13, policyNamed(policy).title, { anchor: 'end' });
        let from = 0;
        for (const [reason, name] of reasons) {
            const count = refusedBy[reason] ?? 0;
            drawing.rect(across(from), y, across(from + count) - across(from), 18, name);
            from += count;
        }
        drawing.text(across(refused) + 8, y + 13, `${whole(refused)} of ${whole(calls)}`);
    });
    const bottom = 70 + rows.length * 26;
    drawing.line(left, 66, left, bottom, 'axis');
    drawing.text(across(0), bottom + 20, 'refused calls, in all minutes', { name: 'quiet' });
    return drawing.toString();
}

const quantiles = [0, 0.1, 0.5, 0.9, 0.99, 1];

/** Where the waits of realtime lie: {policy, waits} of each. */
function waits(series) {
    const left = 210;
    const right = width - 110;
    const bottom = 72 + series.length * 26;
    const drawing = new Drawing(width, bottom + 48, 'Wait of realtime calls');
    drawing.text(16, 46, 'thin: all; thick: the middle 80 %; dot: median; ring: 99th percentile; dashed: 50 ms',
        { name: 'quiet' });
    const across = logarithmic(0.1, 1_000_000, left, right);
    for (let ms = 0.1; ms <= 1_000_000; ms *= 10) {
        drawing.line(across(ms), 60, across(ms), bottom, 'grid');
        const label = ms < 1000 ? `${Number(ms.toPrecision(1))} ms` : `${Math.round(ms / 1000)} s`;
        drawing.text(across(ms), bottom + 16, label, { name: 'quiet', anchor: 'middle', size: 10 });
    }
    drawing.line(across(50), 60, across(50), bottom, 'limit', { dash: '5 3' });
    drawing.text((left + right) / 2, bottom + 36, 'wait before the call, on a logarithmic scale; own pauses left out',
        { name: 'quiet', anchor: 'middle' });
    series.filter(({ waits: all }) => all.length > 0).forEach(({ policy, waits: all }, row) => {
        const y = 76 + row * 26;
        const [least, p10, p50, p90, p99, most] = quantiles.map((share) => across(quantile(all, share)));
        drawing.text(left - 10, y + 4, policyNamed(policy).title, { anchor: 'end' });
        drawing.line(least, y, most, y, colourOf(policy));
        drawing.line(p10, y, p90, y, colourOf(policy), { width: 6 });
        drawing.dot(p50, y, 5, `${colourOf(policy)}Fill`);
        drawing.dot(p99, y, 5, `back ${colourOf(policy)}`);
        const worst = quantile(all, 0.99);
        const label = worst < 1000 ? `${worst.toFixed(1)} ms` : `${(worst / 1000).toFixed(1)} s`;
        drawing.text(right + 12, y + 4, `p99 ${label}`);
    });
    return drawing.toString();
}

module.exports = { refusals, slidingMinutes, waits };
