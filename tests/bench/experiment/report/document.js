// SPDX-License-Identifier: Apache-2.0
'use strict';

const fs = require('fs');
const path = require('path');
const { markdown } = require('../../support/report');
const { refusals, slidingMinutes, waits } = require('./plots');

const folder = path.join(__dirname, '../../../../resources/doc');

const text = {
    experiment: `A simulated Gmail enforces what is published for an account since May 2026, 6,000 units in any sliding
60 s, and what is observed of it: half of that in any 18 s, ten calls in flight. It does not count what it refused. On
one account ten consumers work as fast as they may: three fetch threads for a first sync (two per batch), five fetch
messages (four per grant) and list history, two wait for mail and then read it at once. Each takes up to 2 s between
grant and call, and the clocks of the machines are up to 500 ms apart. Every policy has the same consumers, its own
mailbox and its own Google project. Who is refused by Gmail backs off as Google advises.

*Wait* is from wanting a call to sending the one that was served: what a limiter makes wait, and what refusals and
back-off cost; the pause of the consumer itself is left out. A wait that had not ended counts as long as it had lasted.`,
    faults: `*Retry after*: Gmail locks two accounts out for a minute; every call before the end starts that minute
anew. *Calls of 4 s*: more consumers than places; ours take a place for each call. *Project limit*: Google allows the
project a twelfth of what it did. The peers shown do not listen to Gmail's answers; their consumers do, each for itself.
Places are not kept by lane: with more consumers than places realtime waits for one like everybody.`,
    fidelity: `Each against a real Redis. *Worst 60 s*: one call, almost a window of silence, then four greedy callers.
*Refused units charged*: 200 % means that the same refusal was charged in two buckets. *Rounding*: {calls} calls of 1, 3
and 7 units, 3 to 11 ms apart; counters have nothing to round; below
one it is what reading the level rounds. *Clocks*: two callers whose clocks are 2 s apart, against
two in step; below 1, the one whose clock is late is kept out. *Jain index*: ten equal callers, 1 is fair. Windows
are {windowS} s long for all but charges and rounding, with all rates so many times higher. \`limiter\` knows one process
only, so each is given its share. It and bottleneck queue inside: they tell no waits and refuse nothing.`,
};

const filled = (template, values) => template.replace(/\{(\w+)\}/g, (_, name) => values[name]);

function whereAndWhen({ machine: m, versions, settings }) {
    const names = Object.entries(versions).map(([name, version]) => `${name} ${version}`).join(', ');
    return `${m.date.slice(0, 10)}, ${m.cores} × ${m.cpu}, ${m.memory_gib} GiB, ${m.system}; ${names}; `
        + `${settings.minutes} minutes after the first, everything at the same time, load before ${m.load_before.toFixed(1)}, `
        + `${settings.degraded_grants} grants without a decision because Redis was slow.`;
}

/** Writes the tables and drawings of a whole result, as --json prints it; returns the folder. */
function writeDocument(result) {
    const [experiment, faults, fidelity] = result.tables.map((table) => markdown(table).replace('###', '##'));
    const { windowMs, calls } = result.fidelity.scale;
    const values = { windowS: windowMs / 1000, calls: calls.toLocaleString('en-US') };
    const plot = (name, title) => `![${title}](quota-experiment-${name}.svg)\n`;
    const parts = [
        '# The quota experiment', `${whereAndWhen(result)}\nRepeat it with \`tests/bench/run.sh experiment\`.`,
        experiment, text.experiment, plot('minute', 'Units in the sliding minute'), plot('refused', 'Refused calls'),
        plot('waits', 'Waits of realtime calls'), faults, text.faults, fidelity, filled(text.fidelity, values),
    ];
    fs.mkdirSync(folder, { recursive: true });
    const write = (name, content) => fs.writeFileSync(path.join(folder, name), content);
    write('quota-experiment.md', `${parts.map((part) => part.trim()).join('\n\n')}\n`);
    write('quota-experiment-minute.svg', slidingMinutes(result.series));
    write('quota-experiment-refused.svg', refusals(result.policies));
    write('quota-experiment-waits.svg', waits(result.series));
    return folder;
}

module.exports = { writeDocument };
