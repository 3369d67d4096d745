// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The charts that the page is made of: means, every workload at a glance, and for each group its bars, its latency and its
// memory over time. Each takes what there is: a figure without data is not made.

const bySpeed = (a, b) => (a.failed !== null) - (b.failed !== null) || (a.ratio ?? Infinity) - (b.ratio ?? Infinity);

function barSections(rows) {
    const sections = [["malloc", rows.filter((row) => !row.isPool)], ["pools", rows.filter((row) => row.isPool)]]
        .filter(([, members]) => members.length > 0);
    return sections.map(([title, members]) => ({title: sections.length > 1 ? title : null, rows: members.sort(bySpeed)}));
}

function barsFigure(group, span, base) {
    const rows = group.rows.map((row) => ({...row, figure: row.time === null ? null : row.timeText(row.time)}));
    const caption = group.isProgram ? `Wall time, relative to ${base}` : `Time for one operation, relative to ${base}`;
    return figure(caption, (width) => ratioBars(width, {title: `${titleOf(group)}: ${caption}`, sections: barSections(rows), span, base}));
}

// ---- Means ----

function meanRows(means, key) {
    return means.filter((mean) => mean[key] !== null)
        .map((mean) => ({name: mean.name, role: mean.role, ratio: mean[key], low: null, high: null, verdict: null, failed: null, figure: null}))
        .sort(bySpeed);
}

function meanFigures(means, base) {
    const kinds = [["time", "Time"], ["memory", "Peak memory"]].map(([key, name]) => [name, meanRows(means, key)])
        .filter(([, rows]) => rows.length > 1);
    const span = ratioSpan(kinds.flatMap(([, rows]) => rows.map((row) => row.ratio)));
    return kinds.map(([name, rows]) => {
        const caption = `${name}, geometric mean relative to ${base}`;
        return figure(caption, (width) => ratioBars(width, {title: caption, sections: [{title: null, rows}], span, base}));
    });
}

// ---- Every group at a glance: the subject with its interval, the other mallocs as dots ----

function glanceRow(group, name, place) {
    const {x, y, narrow, nameWidth, base} = place;
    const own = group.rows.find((row) => row.name === name);
    const others = group.rows.filter((row) => !row.isPool && row.ratio !== null && row.role === "peer" && row.name !== name);
    const best = [...others].sort((a, b) => a.ratio - b.ratio)[0];
    const middle = narrow ? y + 25 : y + 12;
    const text = fitted(titleOf(group), nameWidth, textSize);
    const row = svg("g", {class: "row"}, svg("title", {}, others.map((other) => barSentence(other, base)).join("; ")),
        svg("a", {href: `#${group.id}`}, label(0, narrow ? y + 13 : y + 16, text, {class: "name link"})));
    row.append(...others.map((other) => svg("circle", {cx: x(other.ratio), cy: middle, r: other === best ? 4 : 3,
        class: `dot peer${other === best ? " best" : ""}`})));
    if (own?.ratio !== null && own !== undefined) {
        const interval = own.low !== null && own.high !== null ? [line(x(own.low), middle, x(own.high), middle, "range")] : [];
        row.append(...interval, svg("rect", {x: x(own.ratio) - 4.5, y: middle - 4.5, width: 9, height: 9, class: "square own",
            transform: `rotate(45 ${x(own.ratio)} ${middle})`}));
    }
    return row;
}

function glanceFigure(groups, name, span, base) {
    const caption = [`${capital(ownName(name))} (◆, with its interval) and the other mallocs (○; the fastest filled ●), `, `relative to ${base}`];
    const describe = (group) => {
        const row = group.rows.find((candidate) => candidate.name === name);
        return row === undefined ? `${titleOf(group)}: not run` : `${titleOf(group)}, ${barSentence({...row, figure: null}, base)}`;
    };
    return figure(caption.join(""), (width) => {
        const narrow = width < 440;
        const step = narrow ? 38 : 26;
        const widest = Math.max(...groups.map((group) => textWidth(titleOf(group))));
        const nameWidth = narrow ? width : Math.min(widest + 4, width * 0.36);
        const x = logarithmic(span[0], span[1], narrow ? 10 : nameWidth + 20, width - 14);
        const bottom = 24 + step * groups.length;
        return chart(width, bottom + 22, caption.join(""), groups.map(describe).join("; "), ratioAxis(x, span, 20, bottom, base),
            ...groups.map((group, index) => glanceRow(group, name, {x, y: 22 + step * index, narrow, nameWidth, base})));
    }, {whole: true});
}

// ---- Latency: nines along x, ns along y ----

const ninesOf = (share) => -Math.log10(1 - share);

// Every value of the histogram holds for the shares between the count below it and the count up to it.
function percentileCurve(histogram) {
    const buckets = histogram.filter(([ns, count]) => isNumber(ns) && isNumber(count) && count > 0).sort((a, b) => a[0] - b[0]);
    const total = buckets.reduce((sum, [, count]) => sum + count, 0);
    if (total < 2) return [];
    let below = 0;
    return buckets.map(([ns, count]) => {
        below += count;
        return [below >= total ? Math.log10(total) : ninesOf(below / total), Math.max(ns, 0.5)];
    });
}

function percentText9(nines) {
    return nines === 0 ? "0" : nines < 1 ? "50" : nines === 1 ? "90" : nines === 2 ? "99" : `99.${"9".repeat(nines - 2)}`;
}

function latencyText(raw) {
    const parts = [["p50", "median"], ["p99", "99 %"], ["p999", "99.9 %"], ["p9999", "99.99 %"], ["max", "maximum"]];
    return parts.filter(([key]) => isNumber(raw[key])).map(([key, name]) => `${name} ${nsText(raw[key])}`).join(", ");
}

function latencyFigure(group, kind) {
    const series = group.rows.filter((row) => row.failed === null).map((row) => {
        const raw = fieldsOf(fieldsOf(row.raw.latency)[kind]);
        const curve = percentileCurve(listOf(raw.histogram));
        return {name: row.name, role: row.role, text: latencyText(raw), points: curve.length === 0 ? [] : [[0, curve[0][1]], ...curve]};
    }).filter((item) => item.points.length > 1);
    if (series.length === 0) return null;
    const values = series.flatMap((item) => item.points.map(([, ns]) => ns));
    const most = Math.max(...series.map((item) => item.points[item.points.length - 1][0]));
    const [from, to] = [Math.min(...values) / 1.2, Math.max(...values) * 1.2];
    const nines = [Math.log10(2), ...Array.from({length: Math.floor(most)}, (_, index) => index + 1)];
    const x = {from: 0, to: most, scale: linear, title: "percentile",
        ticks: (room) => (room >= nines.length + 1 ? nines : nines.slice(1).filter((_, index) => index % Math.ceil((nines.length - 1) / room) === 0)),
        text: percentText9};
    const y = {from, to, scale: logarithmic, ticks: (room) => logTicks(from, to, room),
        text: (ns) => withoutZeros(nsText(ns))};
    const caption = `Latency of ${kind === "alloc" ? "an allocation" : "a free"}`;
    const timer = group.rows.map((row) => fieldsOf(row.raw.latency).timer_ns).find(isNumber);
    const note = timer === undefined ? null : `One reading of the clock costs ${nsText(timer)}; all figures here contain it.`;
    return figure(caption, (width) => lineChart(width, {title: `${titleOf(group)}: ${caption}`, series, x, y, isStep: true}), {note});
}

// ---- Memory over time ----

function memorySeries(group) {
    const scale = group.isProgram ? 1024 : 1;
    const series = group.rows.filter((row) => row.failed === null).map((row) => {
        const points = listOf(row.raw.memory).map((point) => [point[0], scale * point[point.length - 1]]).filter((point) => point.every(isNumber));
        const most = Math.max(...points.map(([, bytes]) => bytes));
        return {name: row.name, role: row.role, points, text: `at most ${bytesText(most)}`};
    }).filter((item) => item.points.length > 1);
    const live = group.isProgram ? undefined : group.rows.map((row) => listOf(row.raw.memory)).find((points) => points.length > 1);
    if (live !== undefined) {
        const points = live.map(([ops, bytes]) => [ops, bytes]);
        series.push({name: "live", role: "live", points, text: `bytes asked for, at most ${bytesText(Math.max(...points.map(([, y]) => y)))}`});
    }
    return series;
}

function memoryFigure(group) {
    const series = memorySeries(group);
    if (series.length === 0) return null;
    const points = series.flatMap((item) => item.points);
    const [most, last] = [Math.max(...points.map(([, bytes]) => bytes), 1), Math.max(...points.map(([at]) => at), 1e-9)];
    const short = (value) => (value >= 1e6 ? `${value / 1e6}M` : value >= 1e3 ? `${value / 1e3}k` : String(Number(value.toPrecision(6))));
    const x = {from: 0, to: last, scale: linear, ticks: (room) => linearTicks(last, Math.min(room, 6)), text: short,
        title: group.isProgram ? "seconds" : "operations done"};
    const y = {from: 0, to: most * 1.04, scale: linear, ticks: (room) => linearTicks(most * 1.04, room, 1024),
        text: (bytes) => withoutZeros(bytesText(bytes))};
    const caption = group.isProgram ? "Resident memory over time" : "Memory held and live over the run";
    return figure(caption, (width) => lineChart(width, {title: `${titleOf(group)}: ${caption}`, series, x, y}));
}
