// SPDX-License-Identifier: Apache-2.0
'use strict';

/** A number for people: three significant digits, or whole when larger. */
function short(number) {
    if (!Number.isFinite(number))
        return '–';
    if (Math.abs(number) >= 100)
        return Math.round(number).toLocaleString('en-US');
    return String(Number(number.toPrecision(3)));
}

function cell(value) {
    if (value === undefined || value === null)
        return '';
    if (typeof value === 'number')
        return short(value);
    if (typeof value === 'object')
        return value.min === value.max ? short(value.median)
            : `${short(value.median)} (${short(value.min)}–${short(value.max)})`;
    return value;
}

/** A table of {title, columns: {key: heading}, rows: [{name, key: number, spread or text}]} in Markdown. */
function markdown({ title, columns, rows }) {
    const keys = ['name', ...Object.keys(columns)];
    const lines = [['', ...Object.values(columns)], ...rows.map((row) => keys.map((key) => cell(row[key])))];
    const widths = keys.map((_, i) => Math.max(...lines.map((line) => line[i].length)));
    const text = lines.map((line) => `| ${line.map((word, i) => word.padEnd(widths[i])).join(' | ')} |`);
    text.splice(1, 0, `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`);
    return `### ${title}\n\n${text.join('\n')}\n`;
}

/** A goal: value must be at least or at most `wanted`. */
function figure(id, text, value, comparison, wanted) {
    return { id, text, value, comparison, wanted, met: comparison === '≥' ? value >= wanted : value <= wanted };
}

function figuresTable(figures) {
    return {
        title: 'Figures to reach',
        columns: { value: 'measured', goal: 'goal', verdict: '' },
        rows: figures.map(({ text, value, comparison, wanted, met }) =>
            ({ name: text, value, goal: `${comparison} ${wanted}`, verdict: met ? 'met' : 'missed' })),
    };
}

/** Prints {benchmark, machine, versions, settings, tables, figures}: as JSON, or for people. */
function print(result, json) {
    if (json) {
        console.log(JSON.stringify(result, null, 1));
        return;
    }
    const { machine: m, versions } = result;
    console.log(`## ${result.benchmark}\n`);
    console.log(`${m.date.slice(0, 16).replace('T', ' ')} UTC, ${m.cores} × ${m.cpu}, ${m.memory_gib} GiB, ${m.system}, `
        + `load before ${m.load_before.toFixed(1)}`);
    console.log(Object.entries(versions).map(([name, version]) => `${name} ${version}`).join(', '));
    console.log(`${Object.entries(result.settings).map(([name, value]) => `${name} ${value}`).join(', ')}\n`);
    for (const table of [...result.tables, figuresTable(result.figures)])
        console.log(markdown(table));
}

module.exports = { figure, markdown, print };
