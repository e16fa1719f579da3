// SPDX-License-Identifier: Apache-2.0
'use strict';

// Own background and colours for either scheme, so that a drawing is readable on any page.
const style = `
.back{fill:#ffffff;stroke:#d0d7de}.text{fill:#1f2328}.quiet{fill:#59636e}.grid{stroke:#d8dee4}.axis{stroke:#59636e}
.limit{stroke:#c4432b}.limitText{fill:#c4432b}.ours{stroke:#0f766e}.oursFill{fill:#0f766e}.other{stroke:#6d5bb0}
.otherFill{fill:#6d5bb0}.refused{fill:#d9822b}.refused2{fill:#b8402f}.refused3{fill:#7a8794}
@media (prefers-color-scheme:dark){
.back{fill:#0d1117;stroke:#30363d}.text{fill:#e6edf3}.quiet{fill:#9198a1}.grid{stroke:#2a313c}.axis{stroke:#9198a1}
.limit{stroke:#ff7b6b}.limitText{fill:#ff7b6b}.ours{stroke:#3dd6c0}.oursFill{fill:#3dd6c0}.other{stroke:#a99bf0}
.otherFill{fill:#a99bf0}.refused{fill:#e59b4c}.refused2{fill:#e8705f}.refused3{fill:#9aa7b4}}`;

const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const n = (value) => Number(value.toFixed(1));

/** A picture that is built stroke by stroke; units are pixels. */
class Drawing {
    constructor(width, height, title) {
        this.parts = [];
        this.head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" `
            + `height="${height}" role="img" font-family="system-ui,sans-serif" font-size="12">`
            + `<title>${escaped(title)}</title><style>${style}</style>`;
        this.rect(0.5, 0.5, width - 1, height - 1, 'back', 8);
        this.text(16, 26, title, { size: 15, weight: 600 });
    }

    rect(x, y, width, height, name, radius = 0) {
        this.parts.push(`<rect x="${n(x)}" y="${n(y)}" width="${n(width)}" height="${n(height)}" rx="${radius}" `
            + `class="${name}"/>`);
    }

    line(x1, y1, x2, y2, name, { width = 1, dash = '' } = {}) {
        this.parts.push(`<line x1="${n(x1)}" y1="${n(y1)}" x2="${n(x2)}" y2="${n(y2)}" class="${name}" `
            + `stroke-width="${width}"${dash && ` stroke-dasharray="${dash}"`}/>`);
    }

    dot(x, y, radius, name) {
        this.parts.push(`<circle cx="${n(x)}" cy="${n(y)}" r="${radius}" class="${name}"/>`);
    }

    path(points, name) {
        const all = points.map(([x, y]) => `${n(x)},${n(y)}`).join(' ');
        this.parts.push(`<polyline points="${all}" class="${name}" fill="none" stroke-width="1.6" `
            + 'stroke-linejoin="round"/>');
    }

    area(points, name) {
        const all = points.map(([x, y]) => `${n(x)},${n(y)}`).join(' ');
        this.parts.push(`<polygon points="${all}" class="${name}" fill-opacity="0.35"/>`);
    }

    text(x, y, content, { name = 'text', anchor = 'start', size = 12, weight = 400, turn = 0 } = {}) {
        const turned = turn ? ` transform="rotate(${turn} ${n(x)} ${n(y)})"` : '';
        this.parts.push(`<text x="${n(x)}" y="${n(y)}" class="${name}" text-anchor="${anchor}" font-size="${size}" `
            + `font-weight="${weight}"${turned}>${escaped(content)}</text>`);
    }

    toString() {
        return `${this.head}\n${this.parts.join('\n')}\n</svg>\n`;
    }
}

/** From values to pixels. */
const linear = (from, to, start, end) => (value) => start + ((value - from) / (to - from)) * (end - start);

function logarithmic(from, to, start, end) {
    const scale = linear(Math.log10(from), Math.log10(to), start, end);
    return (value) => scale(Math.log10(Math.min(to, Math.max(from, value))));
}

module.exports = { Drawing, linear, logarithmic };
