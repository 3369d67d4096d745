// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The two kinds of chart, as SVG: bars of a ratio on a log axis that starts at 1, and lines with their names at the end.
// A chart is drawn for the width that it has, in CSS pixels, so that its text has the same size on a phone and on a desk;
// it is drawn again when the width changes and before printing. lido's rows carry the colour, the baseline is dashed, the
// others are grey; what colour says, a shape, a dash or a word says too.

const textSize = 12;

// ---- Figures: an element with a chart that follows its width ----

const figures = [];
let isPrinting = false;    // paper is higher than it is wide: rows are closer, so that a workload fits a page
const printWidth = {half: 340, whole: 700};

// draw(width) gives an <svg>. Charts out of sight have no width and are drawn when they come into sight.
function figure(caption, draw, {whole = false, note = null} = {}) {
    const canvas = html("div", {class: "canvas"});
    const element = html("figure", {}, html("figcaption", {}, caption), canvas, note === null ? null : html("p", {class: "note"}, note));
    const item = {canvas, whole, width: 0};
    item.drawAt = (width) => {
        if (width < 1 || width === item.width) return;
        item.width = width;
        canvas.replaceChildren(draw(width));
    };
    figures.push(item);
    return element;
}

function followWidths() {
    const observer = new ResizeObserver((entries) => {
        for (const entry of entries) figures.find((item) => item.canvas === entry.target).drawAt(Math.floor(entry.contentRect.width));
    });
    for (const item of figures) observer.observe(item.canvas);
    const redraw = (widthOf) => figures.filter((item) => item.canvas.clientWidth > 0).forEach((item) => {
        item.width = 0;
        item.drawAt(widthOf(item));
    });
    addEventListener("beforeprint", () => {
        isPrinting = true;
        redraw((item) => (item.whole ? printWidth.whole : printWidth.half));
    });
    addEventListener("afterprint", () => {
        isPrinting = false;
        redraw((item) => item.canvas.clientWidth);
    });
}

let chartCount = 0;
function chart(width, height, title, description, ...children) {
    const id = `chart-${++chartCount}`;
    return svg("svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-labelledby": `${id}-title ${id}-text`},
        svg("title", {id: `${id}-title`}, title), svg("desc", {id: `${id}-text`}, description), ...children);
}

const label = (x, y, text, attributes = {}) => svg("text", {x, y, ...attributes}, text);
const line = (x1, y1, x2, y2, name) => svg("line", {x1, y1, x2, y2, class: name});

// ---- Scales and ticks ----

const linear = (from, to, low, high) => (value) => low + ((value - from) / (to - from)) * (high - low);
function logarithmic(from, to, low, high) {
    const scale = linear(Math.log(from), Math.log(to), low, high);
    return (value) => scale(Math.log(value));
}

// 1, 2 and 5 times the powers of ten in a range, or only the powers when there is no room for more.
function logTicks(from, to, room) {
    for (const steps of [[1, 2, 5], [1, 3], [1]]) {
        const ticks = [];
        for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); power++)
            for (const step of steps) ticks.push(Number((step * 10 ** power).toPrecision(6)));
        const inside = ticks.filter((tick) => tick >= from * 0.999 && tick <= to * 1.001);
        if (inside.length <= room || steps.length === 1) return thinned(inside, room);
    }
    return [];
}

function thinned(ticks, room) {
    const every = Math.max(1, Math.ceil(ticks.length / Math.max(2, room)));
    return ticks.filter((_, index) => index % every === 0);
}

// Round steps from 0; `base` is 1024 for bytes, so that the labels are round numbers of KB and MB.
function linearTicks(to, room, base = 10) {
    const unit = base ** Math.floor(Math.log(to / room) / Math.log(base));
    const steps = base === 1024 ? [1, 2, 5, 10, 20, 50, 100, 200, 500, 1024] : [1, 2, 5, 10];
    const step = unit * steps.find((candidate) => (to / (unit * candidate)) <= room + 1e-9);
    return Array.from({length: Math.floor(to / step + 1e-9) + 1}, (_, index) => index * step);
}

// ---- Bars of ratios ----

// The span that all bars of a page share, so that their lengths compare.
function ratioSpan(ratios) {
    const known = ratios.filter((ratio) => isNumber(ratio) && ratio > 0);
    return [Math.min(0.5, ...known) / 1.08, Math.max(2, ...known) * 1.08];
}

function ratioAxis(x, [from, to], top, bottom, base) {
    const ticks = logTicks(from, to, Math.max(3, Math.floor((x(to) - x(from)) / 44)));
    const clear = (tick) => Math.abs(x(tick) - x(1)) > 22 || tick === 1;
    const shown = [...new Set([1, ...ticks])].filter(clear);
    return svg("g", {class: "axis"}, ...shown.map((tick) => [
        line(x(tick), top, x(tick), bottom, tick === 1 ? "one" : "grid"),
        label(x(tick), bottom + 15, withoutZeros(digits(tick)), {"text-anchor": "middle"}),
    ]).flat(), label(x(1), top - 6, base, {"text-anchor": "middle", class: "strong"}),
    label(x(from), top - 6, "◂ less", {class: "muted"}), label(x(to), top - 6, "more ▸", {class: "muted", "text-anchor": "end"}));
}

function ratioMark(row, x, y, thick) {
    const marks = [];
    const [one, at] = [x(1), x(row.ratio)];
    if (row.role === "base") marks.push(svg("circle", {cx: one, cy: y, r: 4, class: "dot base"}));
    else
        marks.push(svg("rect", {x: Math.min(one, at), y: y - thick / 2, width: Math.max(1.5, Math.abs(at - one)), height: thick, rx: 1.5,
            class: `bar ${row.role}${row.verdict === "no difference" ? " open" : ""}`}));
    if (row.role !== "base" && row.low !== null && row.high !== null) {
        const [low, high, cap] = [x(row.low), x(row.high), thick / 2 + 2];
        const d = `M${low} ${y - cap}V${y + cap}M${low} ${y}H${high}M${high} ${y - cap}V${y + cap}`;
        marks.push(svg("path", {d, class: "whisker"}));
    }
    return marks;
}

function barSentence(row, base) {
    if (row.failed !== null) return `${row.name}: failed, ${row.failed}`;
    const interval = row.low !== null && row.high !== null ? ` (${digits(row.low)} to ${digits(row.high)})` : "";
    const ratio = row.ratio === null ? "" : `, ${digits(row.ratio)}${interval} of ${base}`;
    const verdict = row.verdict === null || row.role === "base" ? "" : `, ${row.verdict}`;
    return `${row.name}: ${row.figure ?? ""}${ratio}${verdict}`;
}

// One row: its name, its figures, its bar. On a narrow chart the bar has a line of its own.
function barRow(row, place, base) {
    const {y, x, narrow, nameWidth, width, step} = place;
    const side = row.ratio !== null && row.figure !== null ? digits(row.ratio) : "";
    const equal = row.verdict === "no difference" ? "≈" : "";
    const nameY = narrow ? y + 13 : y + 16;
    const barY = narrow ? y + (isPrinting ? 20 : 25) : y + 12;
    const group = svg("g", {class: `row ${row.role}`}, svg("title", {}, barSentence(row, base)),
        label(0, nameY, fitted(row.name, nameWidth, textSize, row.role === "peer" ? 400 : 600), {class: "name"}));
    if (row.failed !== null) {
        const left = narrow ? 0 : nameWidth + 10;
        group.append(label(left, narrow ? y + step - 8 : nameY, fitted(`failed: ${row.failed}`, width - left), {class: "failed"}));
        return group;
    }
    const edge = width - (row.figure === null ? 0 : 62);
    if (row.figure !== null) group.append(label(width, nameY, row.figure, {"text-anchor": "end", class: "muted"}));
    const ratioText = row.ratio === null ? (row.figure === null ? "not measured" : "") : `${equal}${equal ? space : ""}${side || digits(row.ratio)}`;
    group.append(label(edge, nameY, ratioText, {"text-anchor": "end", class: row.ratio === null ? "muted" : "strong"}));
    if (row.ratio !== null) group.append(...ratioMark(row, x, barY, isPrinting ? 6 : 8));
    return group;
}

// sections: [{title, rows}], a row as in page_model.js with its `figure` (text) or null.
function ratioBars(width, {title, sections, span, base}) {
    const narrow = width < 440;
    const rows = sections.flatMap((section) => section.rows);
    const step = !narrow ? 24 : isPrinting ? 27 : 36;
    const widest = Math.max(...rows.map((row) => textWidth(row.name, textSize, 600)));
    const nameWidth = narrow ? width - 120 : Math.min(widest + 2, width * 0.32);
    const figureWidth = rows.some((row) => row.figure !== null && row.failed === null) ? 108 : 52;
    const [left, right] = narrow ? [8, width - 8] : [nameWidth + 18, width - figureWidth - 14];
    const x = logarithmic(span[0], span[1], left, right);
    const top = 20;
    let y = top + 4;
    const drawn = [];
    for (const section of sections) {
        if (section.title !== null) {
            drawn.push(label(0, y + 15, section.title, {class: "section"}));
            y += 22;
        }
        for (const row of section.rows) {
            drawn.push(barRow(row, {y, x, narrow, nameWidth, width, step}, base));
            y += step;
        }
    }
    const description = rows.map((row) => barSentence(row, base)).join("; ");
    return chart(width, y + 22, title, description, ratioAxis(x, span, top, y + 2, base), ...drawn);
}

// ---- Lines with their names at the right end ----

// Moves the labels apart, keeping their order, so that they are at least `gap` apart inside [top, bottom].
function spread(labels, gap, top, bottom) {
    labels.sort((a, b) => a.y - b.y);
    let above = top - gap;
    for (const item of labels) {
        item.at = Math.max(item.y, above + gap);
        above = item.at;
    }
    let below = bottom + gap;
    for (const item of [...labels].reverse()) {
        item.at = Math.min(item.at, below - gap);
        below = item.at;
    }
}

function pathOf(points, isStep) {
    let [px, py] = points[0];
    let d = `M${px.toFixed(1)} ${py.toFixed(1)}`;
    points.forEach(([x, y], index) => {
        const last = index === points.length - 1;
        if (index === 0 || (!last && Math.abs(x - px) < 0.8 && Math.abs(y - py) < 0.8)) return;
        d += isStep ? `V${y.toFixed(1)}H${x.toFixed(1)}` : `L${x.toFixed(1)} ${y.toFixed(1)}`;
        [px, py] = [x, y];
    });
    return d;
}

function lineClass(item, order) {
    return `line ${item.role}${item.role === "own" && order > 0 ? ` dash-${1 + ((order - 1) % 3)}` : ""}`;
}

function lineLabel(item, left, width) {
    const text = fitted(item.name, width, textSize, item.role === "peer" ? 400 : 600);
    return svg("g", {class: `row ${item.role}`},
        svg("path", {d: `M${left + 2} ${item.y.toFixed(1)}L${left + 15} ${item.at.toFixed(1)}`, class: "leader"}),
        label(left + 18, item.at + 4, text, {class: "name"}));
}

// Ticks along x; one whose label would touch the one before it goes without.
function xLabels(x, xAt, left, right, top, bottom) {
    let free = -Infinity;
    return x.ticks(Math.max(2, Math.floor((right - left) / 44))).flatMap((tick) => {
        const [at, text] = [xAt(tick), x.text(tick)];
        const grid = line(at, top, at, bottom, "grid");
        const half = textWidth(text) / 2;
        const middle = Math.min(at, right + 14 - half);
        if (middle - half < free) return [grid];
        free = middle + half + 6;
        return [grid, label(middle, bottom + 15, text, {"text-anchor": "middle"})];
    });
}

// A pointer on the curve or on its name shows both.
function lit(curve, name) {
    for (const element of [curve, name]) {
        element.addEventListener("pointerenter", () => [curve, name].forEach((part) => part.classList.add("lit")));
        element.addEventListener("pointerleave", () => [curve, name].forEach((part) => part.classList.remove("lit")));
    }
    return name;
}

// series: [{name, role, points: [[x, y]...], text}] in the units of the axes; role "live" is drawn as an area.
// x, y: {from, to, scale: linear or logarithmic, ticks(room), text(tick), title}
function lineChart(width, {title, series, x, y, isStep = false}) {
    const gap = isPrinting ? 12 : 14;
    const height = Math.max(200, 44 + gap * series.length);
    const nameWidth = Math.min(Math.max(...series.map((item) => textWidth(item.name, textSize, 600))) + 2, width * 0.3);
    const yTicks = y.ticks(Math.floor((height - 44) / 28));
    const left = Math.max(...yTicks.map((tick) => textWidth(y.text(tick)))) + 8;
    const [top, right, bottom] = [10, width - nameWidth - 20, height - 34];
    const [xAt, yAt] = [x.scale(x.from, x.to, left, right), y.scale(y.from, y.to, bottom, top)];
    const axis = svg("g", {class: "axis"},
        ...yTicks.flatMap((tick) => [line(left, yAt(tick), right, yAt(tick), "grid"),
            label(left - 6, yAt(tick) + 4, y.text(tick), {"text-anchor": "end"})]),
        ...xLabels(x, xAt, left, right, top, bottom),
        label(right, height - 4, x.title, {class: "muted", "text-anchor": "end"}));
    const order = {peer: 0, live: -1, base: 1, own: 2};
    let own = 0;
    const curves = [...series].sort((a, b) => order[a.role] - order[b.role]).map((item) => {
        const points = item.points.map(([px, py]) => [xAt(px), yAt(py)]);
        item.y = points[points.length - 1][1];
        const d = pathOf(points, isStep);
        const area = `${d}L${points[points.length - 1][0].toFixed(1)} ${bottom}L${points[0][0].toFixed(1)} ${bottom}Z`;
        const name = item.role === "own" ? lineClass(item, own++) : lineClass(item, 0);
        return item.curve = svg("g", {class: `curve ${item.role}`}, svg("title", {}, `${item.name}: ${item.text}`),
            item.role === "live" ? svg("path", {d: area, class: "area"}) : null, svg("path", {d, class: name}));
    });
    spread(series, gap, top + 2, bottom + 2);
    const description = series.map((item) => `${item.name}: ${item.text}`).join("; ");
    return chart(width, height, title, description, axis, ...curves, ...series.map((item) => lit(item.curve, lineLabel(item, right, nameWidth))));
}
