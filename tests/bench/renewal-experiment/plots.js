// SPDX-License-Identifier: Apache-2.0
'use strict';

const { Drawing, linear, logarithmic } = require('../experiment/report/svg');

const width = 860;
const panel = { x: 70, width: 760, height: 110, gap: 44, top: 86 };

/** Calls of each hour of one policy, on a logarithmic scale; an hour without calls lies on the floor. */
function drawPanel(drawing, { policy, calls_by_hour: hours, mean_calls_per_hour: mean }, y) {
    const across = linear(0, hours.length, panel.x, panel.x + panel.width);
    const up = logarithmic(1, 100_000, y + panel.height, y);
    drawing.text(panel.x, y - 6, policy, { weight: 600 });
    for (let calls = 1; calls <= 100_000; calls *= 10) {
        drawing.line(panel.x, up(calls), panel.x + panel.width, up(calls), calls === 1 ? 'axis' : 'grid');
        drawing.text(panel.x - 6, up(calls) + 4, calls.toLocaleString('en-US'), { name: 'quiet', anchor: 'end', size: 10 });
    }
    for (let hour = 0; hour <= hours.length; hour += 5 * 24)
        drawing.text(across(hour), y + panel.height + 14, hour / 24, { name: 'quiet', anchor: 'middle', size: 10 });
    const steps = hours.flatMap((calls, hour) => [[across(hour), up(calls)], [across(hour + 1), up(calls)]]);
    drawing.path(steps, policy === 'ours' ? 'ours' : 'other');
    drawing.line(panel.x, up(mean), panel.x + panel.width, up(mean), 'limit', { dash: '5 3' });
}

/** One panel for each policy; policies as `tidekeeper simulate --json` prints them. */
function callsByHour(title, policies) {
    const step = panel.height + panel.gap;
    const drawing = new Drawing(width, panel.top + policies.length * step, `Calls per hour: ${title}`);
    drawing.text(16, 46, 'Across: days. Up: calls to Google in each hour, on a logarithmic scale. Dashed: the mean.',
        { name: 'quiet' });
    policies.forEach((figures, i) => drawPanel(drawing, figures, panel.top + i * step));
    return drawing.toString();
}

module.exports = { callsByHour };
