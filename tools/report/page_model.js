// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The data as the page sees them: groups (a workload, or a program) of rows (one allocator each), and what they say in
// sentences. A sentence claims no more than its figures: "no difference" where the interval says so, whoever won.

const roleOf = (name, base) => (name === "lido" || name.startsWith("lido-") ? "own" : name === base ? "base" : "peer");

// A row for either kind. `time` is in ns for workloads and in seconds for programs; what was not measured is null.
function rowOf(raw, base, isProgram) {
    const spread = fieldsOf(isProgram ? raw.wall_s : raw.ns_per_op);
    const ratio = fieldsOf(raw.ratio);
    const role = roleOf(raw.name, base);
    return {
        raw, role,
        name: raw.name,
        failed: typeof raw.failed === "string" ? raw.failed : null,
        isPool: raw.kind === "pool",
        time: isNumber(spread.median) ? spread.median : null,
        timeText: isProgram ? secondsText : nsText,
        spread,
        ratio: isNumber(ratio.median) && ratio.median > 0 ? ratio.median : null,
        low: isNumber(ratio.low) && ratio.low > 0 ? ratio.low : null,
        high: isNumber(ratio.high) && ratio.high > 0 ? ratio.high : null,
        verdict: typeof ratio.verdict === "string" ? ratio.verdict : role === "base" ? "baseline" : null,
    };
}

function parametersOf(workload) {
    return Object.entries(fieldsOf(workload.parameters)).filter(([, value]) => isNumber(value))
        .map(([name, value]) => `${name} ${countText(value)}`);
}

function groupsOf(report, base) {
    const isProgram = report.kind === "program";
    const heap = (workload) => (isNumber(workload.litter) ? `heap littered to ${withoutZeros(digits(workload.litter))}${space}%` : null);
    return listOf(isProgram ? report.programs : report.workloads).map((raw, index) => ({
        raw, index, isProgram,
        id: `group-${index}`,
        name: isProgram ? raw.command.join(" ") : raw.name,
        heap: isProgram ? null : heap(raw),
        rows: raw.allocators.map((row) => rowOf(row, base, isProgram)),
    }));
}

const titleOf = (group) => (group.heap === null ? group.name : `${group.name}, ${group.heap}`);

// ---- Means over all groups ----

function meanOf(groups, name) {
    const rows = groups.flatMap((group) => group.rows).filter((row) => row.name === name && row.ratio !== null);
    return rows.length === 0 ? null : {name, time: geometricMean(rows.map((row) => row.ratio)), memory: null, count: rows.length};
}

function memoryMean(groups, name, base) {
    const ratios = groups.map((group) => {
        const peak = (wanted) => group.rows.find((row) => row.name === wanted && row.failed === null)?.raw.rss_peak_kb;
        return peak(name) / peak(base);
    }).filter((ratio) => isNumber(ratio) && ratio > 0);
    return ratios.length === 0 ? null : geometricMean(ratios);
}

// The mallocs, those of the file where it has means, else computed here; fastest first.
function meansOf(report, groups, base) {
    const given = listOf(report.geometric_mean).filter((mean) => isNumber(mean.time) && mean.time > 0);
    const positive = (value) => (isNumber(value) && value > 0 ? value : null);
    let means = given.map((mean) => ({
        name: mean.allocator, time: mean.time, memory: positive(mean.rss_peak), count: isNumber(mean.workloads) ? mean.workloads : null,
    }));
    if (means.length === 0) {
        const names = new Set(groups.flatMap((group) => group.rows.filter((row) => !row.isPool).map((row) => row.name)));
        means = [...names].map((name) => meanOf(groups, name)).filter((mean) => mean !== null)
            .map((mean) => ({...mean, memory: memoryMean(groups, mean.name, base)}));
    }
    return means.map((mean) => ({...mean, role: roleOf(mean.name, base)})).sort((a, b) => a.time - b.time);
}

// ---- Sentences ----

const ownName = (name) => (name === "lido" ? "lido’s malloc" : name);

// "12 % more than", with `what` "12 % more time than".
function moreText(ratio, what = "") {
    const noun = what === "" ? "" : ` ${what}`;
    const percent = Math.round(Math.abs(ratio - 1) * 100);
    if (percent === 0) return what === "" ? "the same as" : `as much${noun} as`;
    if (ratio >= 1.995) return what === "" ? `${digits(ratio)} times` : `${digits(ratio)} times the${noun} of`;
    return `${percent}${space}% ${ratio < 1 ? "less" : "more"}${noun} than`;
}

function verdictsText(rows) {
    const count = (verdict) => rows.filter((row) => row.verdict === verdict).length;
    const failed = rows.filter((row) => row.failed !== null).length;
    const parts = [[count("faster"), "faster on"], [count("slower"), "slower on"], [count("no difference"), "no difference on"],
        [failed, "failed on"]];
    return joined(parts.filter(([number]) => number > 0).map(([number, text]) => `${text} ${number}`));
}

function placesText(groups, count) {
    const [one, many] = groups[0].isProgram ? ["program", "programs"] : ["workload", "workloads"];
    const names = new Set(groups.map((group) => group.name)).size;
    if (groups.length === 1) return `on ${shortened(titleOf(groups[0]), 48)}`;
    if (names === groups.length) return `over ${plural(count ?? names, one, many)}`;
    return `over ${plural(count ?? groups.length, "measurement")} of ${plural(names, one, many)}, on clean and littered heaps`;
}

// How the subject stands among the mallocs that ran everywhere where it ran.
function rankText(means, subject, base) {
    const rivals = means.filter((mean) => mean.name !== subject.name && mean.count === subject.count);
    const fastest = rivals[0];
    if (rivals.length < 2 && (fastest === undefined || fastest.name === base)) return "";
    if (subject.time < fastest.time) return ` It was the fastest of ${rivals.length + 1} mallocs.`;
    const ofBase = fastest.name === base ? "" : `, with ${digits(fastest.time)} of ${base}’s time`;
    return ` The fastest of ${rivals.length + 1} mallocs was ${fastest.name}${ofBase}.`;
}

function headlineOf(groups, subject, base) {
    const rows = groups.flatMap((group) => group.rows).filter((row) => row.name === subject.name);
    const [where, who] = [placesText(groups, subject.count), ownName(subject.name)];
    if (groups.length === 1 && rows[0]?.verdict === "no difference")
        return `Between ${who} and ${base} there is no difference in time ${where} that this run can tell.`;
    const verdicts = verdictsText(rows);
    const tail = groups.length > 1 && verdicts !== "" ? `: ${verdicts}` : "";
    return `${who} took ${moreText(subject.time, "time")} ${base} ${where}${tail}.`;
}

function poolsText(groups, base) {
    const fastestOf = (group) => group.rows.filter((row) => row.isPool && row.ratio !== null).sort((a, b) => a.ratio - b.ratio)[0];
    const rivals = groups.filter((group) => group.rows.some((row) => row.isPool && row.role === "own" && row.ratio !== null));
    if (rivals.length === 0) return "";
    const contested = rivals.filter((group) => group.rows.some((row) => row.isPool && row.role !== "own" && row.ratio !== null));
    const won = contested.filter((group) => fastestOf(group).role === "own").length;
    const names = new Set(rivals.flatMap((group) => group.rows).filter((row) => row.isPool && row.role === "own").map((row) => row.name));
    const best = [...names].map((name) => meanOf(groups, name)).filter((mean) => mean !== null)
        .sort((a, b) => b.count - a.count || a.time - b.time)[0];
    const first = `The pool ${best.name} took ${moreText(best.time, "time")} ${base} over ${plural(best.count, "measurement")}.`;
    return contested.length === 0 ? first :
        `${first} Where pools of others ran too, the fastest was one of lido’s on ${won} of ${contested.length}.`;
}

function outputsText(groups) {
    const rows = groups.flatMap((group) => group.rows);
    const differs = rows.filter((row) => row.raw.output === "differs").map((row) => row.name);
    if (differs.length > 0) return `The program’s output differed under ${joined([...new Set(differs)])}.`;
    return rows.some((row) => row.raw.output === "same") ? "The programs gave the same output under every allocator that could be compared." : "";
}

// {headline, details}: what the whole file says.
function summaryOf(groups, means, base) {
    const rows = groups.flatMap((group) => group.rows);
    if (rows.length === 0) return {headline: "Nothing was measured: this file holds no rows.", details: []};
    const pools = [...new Set(rows.filter((row) => row.role === "own" && row.isPool).map((row) => row.name))]
        .map((name) => meanOf(groups, name)).filter((mean) => mean !== null).sort((a, b) => a.time - b.time);
    const subject = means.find((mean) => mean.name === "lido") ?? pools[0] ?? means.find((mean) => mean.name !== base);
    if (subject === undefined) {
        const timed = rows.filter((row) => row.time !== null).length;
        const failed = rows.filter((row) => row.failed !== null).length;
        const why = failed > 0 ? `: ${plural(failed, "row")} of ${rows.length} failed` : "";
        return {headline: timed > 0 ? `Nothing was compared with ${base}${why}.` : `No time was measured${why}.`, details: []};
    }
    const memory = subject.memory ?? memoryMean(groups, subject.name, base);
    const memoryText = memory === null ? "" : ` The peak memory of ${ownName(subject.name)} was ${moreText(memory)} ${base}’s.`;
    const isMalloc = means.includes(subject);
    const details = [`${isMalloc ? rankText(means, subject, base) : ""}${memoryText}`.trim(), isMalloc ? poolsText(groups, base) : "",
        groups[0].isProgram ? outputsText(groups) : ""];
    return {headline: headlineOf(groups, subject, base), details: details.filter((text) => text !== "")};
}

// What a reader must know before quoting a figure.
function warningsOf(report, groups) {
    const method = fieldsOf(report.method);
    const failed = groups.flatMap((group) => group.rows.filter((row) => row.failed !== null));
    const disturbed = groups.flatMap((group) => group.rows.filter((row) => row.raw.disturbed === true));
    const texts = [];
    if (method.interrupted === true) texts.push("The run was interrupted; this is what it had measured by then.");
    if (method.quick === true) texts.push("This was a quick run, with a tenth of the work: a look, not figures to quote.");
    else if (method.quotable === false) texts.push("There were too few rounds for figures to quote.");
    const compared = groups.flatMap((group) => group.rows.filter((row) => row.ratio !== null && row.role !== "base"));
    if (compared.length > 0 && compared.every((row) => row.low === null || row.high === null))
        texts.push("No interval is known for any ratio, so small differences may be chance.");
    if (disturbed.length > 0) texts.push(`${plural(disturbed.length, "row")} had to share the CPU with other programs.`);
    if (failed.length > 0) texts.push(`${plural(failed.length, "row")} failed; each says why.`);
    return texts;
}
