// SPDX-License-Identifier: Apache-2.0
'use strict';

const fs = require('fs');
const path = require('path');
const { markdown } = require('../support/report');
const { callsByHour } = require('./plots');
const { goals } = require('./scenarios');

const folder = path.join(__dirname, '../../../resources/doc');

const text = {
    setting: `Ten thousand watches whose first expiries lie within one hour, thirty days, in virtual time. A simulated
Google answers with the bodies that the token endpoint and \`users.watch\` are known to give and keeps the truth: which
grants live, until when each watch does. A policy knows only what it was answered. Two renewals run at the same time, each
call takes 200 ms, a call without an answer 10 s.

* **expiry-day**: a job at midnight UTC renews whatever expires within a day.
* **fifty-per-hour**: a job of each hour renews at most fifty of those that expire within a day, and forgets the grant at
  any error of its refresh.
* **ours**: planner, outcome tables, back-off, breakers, waves and pacing are the engine's own code; a test gives engine
  and simulation the same answers and compares every row after every step.`,
    columns: `*Lapsed*: accounts without a watch at any time while their grant was alive, and the hours of all of them
together. *Grants lost*: alive at the end and no longer held by the policy. *Calls/h*: to the token endpoint and Gmail,
mean of all hours; *peak*: the busiest hour outside recovery; *in recovery*: of an outage and the day after it; × is the
ratio to the mean.`,
    reading: `* expiry-day renews at the very moment of expiry: any outage that meets its one run makes everybody lapse,
  for a day. Where users revoke, the many lapses are seconds long: the dead accounts stay at the head of its list, and
  everybody behind them comes a little later than a week before.
* fifty-per-hour renews 8,400 accounts in a week and has ten thousand: it can never keep them, in no scenario. What it
  loses in grants, a person has to mend with each user.
* ours renews each watch about once a day, so that it makes more calls and has days left when trouble comes. The first
  expiries of one hour are spread over the day by the first renewal and stay spread.`,
};

const whole = (number) => Math.round(number).toLocaleString('en-US');
const times = (ratio) => `${ratio.toFixed(1)} ×`;

function figuresTable(results) {
    return {
        title: 'Figures',
        columns: { policy: 'policy', lapsed: 'lapsed', hours: 'hours without', lost: 'grants lost', mean: 'calls/h',
                   peak: 'peak', ratio: '×', recovery: 'in recovery', recoveryRatio: '×' },
        rows: results.flatMap(({ title, policies }) => policies.map((figures, i) => ({
            name: i === 0 ? title : '', policy: figures.policy, lapsed: whole(figures.lapsed),
            hours: whole(figures.lapse_minutes / 60), lost: whole(figures.grants_lost),
            mean: whole(figures.mean_calls_per_hour), peak: whole(figures.peak_calls_per_hour),
            ratio: times(figures.peak_ratio), recovery: whole(figures.recovery_peak_calls_per_hour),
            recoveryRatio: times(figures.recovery_peak_ratio),
        }))),
    };
}

function goalsText(judged) {
    const missed = judged.filter(({ met }) => !met)
        .map(({ scenario, goal, value, most }) => `${scenario}: ${goal} ${value.toFixed(2)} (goal ${most})`);
    const wanted = goals.map(({ name, most }) => `${name} ≤ ${most}`).join(', ');
    return `Goals of ours, in every scenario: ${wanted}. ${missed.length ? `Missed: ${missed.join('; ')}.` : 'All are met.'}`;
}

/** Writes the table and the drawings; returns the folder. */
function writeDocument({ machine: m, versions, tookS, results, goals: judged }) {
    const plot = (name) => `![Calls per hour, ${name}](renewal-experiment-${name}.svg)`;
    const when = `${m.date.slice(0, 10)}, tidekeeper ${versions.tidekeeper}; the same seed gives the same figures on every `
        + `machine (${tookS.toFixed(0)} s for all on ${m.cores} × ${m.cpu}). Repeat it with `
        + '`tests/bench/run.sh renewal-experiment --document`, or with numbers of your own: `tidekeeper simulate --help`.';
    const parts = ['# The renewal experiment', when, text.setting, markdown(figuresTable(results)).replace('###', '##'),
        text.columns, goalsText(judged), '## What they show', text.reading, '## Calls per hour', plot('calm'), plot('all')];
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, 'renewal-experiment.md'), `${parts.map((part) => part.trim()).join('\n\n')}\n`);
    for (const { name, title, policies } of results.filter((result) => ['calm', 'all'].includes(result.name)))
        fs.writeFileSync(path.join(folder, `renewal-experiment-${name}.svg`), callsByHour(title, policies));
    return folder;
}

module.exports = { figuresTable, writeDocument };
