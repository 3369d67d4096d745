// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The table of all figures. A click on a column's head, or Enter on it, sorts by it and a second one turns the order; rows
// without a figure stay at the end either way. Columns that nothing was measured for are left out.

const atNs = (kind, key) => (row) => fieldsOf(fieldsOf(row.raw.latency)[kind])[key];
const counterOf = (key) => (row) => fieldsOf(row.raw.counters)[key];
const callsOf = (row) => {
    const calls = Object.values(fieldsOf(row.raw.system_calls)).filter(isNumber);
    return calls.length === 0 ? null : calls.reduce((sum, count) => sum + count, 0);
};

// [part of the table, head, what it means, value(row), text(value, row)]
const columns = [
    ["time", "time", "median of the rounds: one operation, or the whole program", (row) => row.time, (value, row) => row.timeText(value)],
    ["time", "quartile 1", "a quarter of the rounds took at most this", (row) => row.spread.q1, (value, row) => row.timeText(value)],
    ["time", "quartile 3", "three quarters of the rounds took at most this", (row) => row.spread.q3, (value, row) => row.timeText(value)],
    ["time", "ratio", "median time relative to the baseline", (row) => row.ratio, digits],
    ["time", "low", "lower end of the interval of the ratio", (row) => row.low, digits],
    ["time", "high", "upper end of the interval of the ratio", (row) => row.high, digits],
    ["time", "verdict", "what the interval says", (row) => (row.role === "base" ? "baseline" : row.verdict), String],
    ["time", "to best peer", "median time relative to the fastest malloc that is not lido’s", (row) => row.raw.ratio_to_best_peer, digits],
    ["time", "ops/s", "operations a second", (row) => row.raw.ops_per_s, countText],
    ...["alloc", "free"].flatMap((kind) => [["p50", "50"], ["p99", "99"], ["p999", "99.9"], ["p9999", "99.99"], ["max", "100"]]
        .map(([key, percent]) => ["latency", `${kind} ${key === "max" ? "max" : `p${percent}`}`,
            `${percent} % of the calls took at most this`, atNs(kind, key), nsText])),
    ["memory", "peak", "most memory resident", (row) => row.raw.rss_peak_kb, kbText],
    ["memory", "final", "memory resident at the end of the work", (row) => row.raw.rss_final_kb, kbText],
    ["memory", "lazily free", "part of it that the system may take back", (row) => row.raw.lazyfree_kb, kbText],
    ["memory", "settled", "memory resident a while after the work", (row) => row.raw.rss_settled_kb, kbText],
    ["memory", "settled after", "until memory had fallen to a tenth above its start", (row) => row.raw.settle_ms,
        (value) => (value < 0 ? "did not" : nsText(value * 1e6))],
    ["memory", "page faults", "minor page faults", (row) => row.raw.page_faults, countText],
    ["memory", "timed faults", "page faults while the clock ran", (row) => row.raw.page_faults_timed, countText],
    ["memory", "major faults", "page faults that read from a disk", (row) => row.raw.major_faults, countText],
    ["system", "user", "CPU time in the program", (row) => row.raw.user_s, secondsText],
    ["system", "system", "CPU time in the kernel", (row) => row.raw.system_s, secondsText],
    ["system", "CPU use", "CPU time by time", (row) => row.raw.cpu_use, percentText],
    ["system", "gave way", "voluntary context switches", (row) => row.raw.voluntary_switches, countText],
    ["system", "preempted", "involuntary context switches", (row) => row.raw.involuntary_switches, countText],
    ["system", "system calls", "system calls of all kinds", callsOf, countText],
    ["system", "instructions", "for one operation", counterOf("instructions"), digits],
    ["system", "cycles", "for one operation", counterOf("cycles"), digits],
    ["system", "cache misses", "for one operation", counterOf("cache_misses"), digits],
    ["system", "TLB misses", "of data, for one operation", counterOf("dtlb_misses"), digits],
    ["system", "exit status", "of the program", (row) => row.raw.exit_status, countText],
    ["system", "output", "of the program, compared with the baseline’s", (row) => row.raw.output, String],
].map(([part, head, help, value, text]) => ({part, head, help, text, value: (row) => (row.failed === null ? value(row) ?? null : null)}));

function compareValues(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en", {numeric: true});
}

// Sorts the lines of the table in place; order is 1 or -1.
function sortLines(body, lines, column, order) {
    const key = (item) => column.value(item.row, item.group);
    lines.sort((a, b) => {
        const [first, second] = [key(a), key(b)];
        if (first === null || second === null) return (first === null) - (second === null);
        return order * compareValues(first, second);
    });
    body.append(...lines.map((item) => item.element));
}

function tableLine(group, row, shown) {
    const cells = [html("th", {scope: "row", class: row.role}, row.name), html("td", {class: "text"}, html("a", {href: `#${group.id}`}, shortened(titleOf(group), 60)))];
    if (row.failed !== null) cells.push(html("td", {class: "failed text", colspan: shown.length}, `failed: ${row.failed}`));
    else
        cells.push(...shown.map((column) => {
            const value = column.value(row);
            const isText = typeof value === "string";
            return html("td", {class: `${isText ? "text" : "number"} part-${column.part}`}, value === null ? "–" : column.text(value, row));
        }));
    return {group, row, element: html("tr", {class: row.role}, ...cells)};
}

function tableHead(all, sort) {
    const heads = all.map((column) => {
        const button = html("button", {type: "button", title: column.help}, column.head, html("span", {class: "arrow", "aria-hidden": "true"}));
        const head = html("th", {scope: "col", class: column.part === undefined ? "text" : `part-${column.part}${column.text === String ? " text" : ""}`}, button);
        button.addEventListener("click", () => {
            const order = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
            for (const other of heads) other.removeAttribute("aria-sort");
            head.setAttribute("aria-sort", order === 1 ? "ascending" : "descending");
            sort(column, order);
        });
        return head;
    });
    return html("thead", {}, html("tr", {}, ...heads));
}

// Which part of the columns is shown: a phone has room for few, and nobody reads thirty.
function partChoice(parts, table) {
    const names = {time: "Time", latency: "Latency", memory: "Memory", system: "System"};
    const choose = (part) => { table.dataset.part = part; };
    choose(parts[0]);
    return html("fieldset", {class: "choice"}, html("legend", {}, "Columns"), ...parts.map((part, index) => {
        const input = html("input", {type: "radio", name: "part", value: part, checked: index === 0});
        input.addEventListener("change", () => choose(part));
        return html("label", {}, input, html("span", {}, names[part]));
    }));
}

function filterField(lines) {
    const input = html("input", {type: "search", id: "filter", placeholder: "name of a workload or an allocator", autocomplete: "off"});
    const count = html("output", {for: "filter"}, plural(lines.length, "row"));
    input.addEventListener("input", () => {
        const wanted = input.value.trim().toLowerCase();
        let shown = 0;
        for (const item of lines) {
            item.element.hidden = !`${item.row.name} ${titleOf(item.group)}`.toLowerCase().includes(wanted);
            shown += item.element.hidden ? 0 : 1;
        }
        count.textContent = shown === lines.length ? plural(shown, "row") : `${shown} of ${plural(lines.length, "row")}`;
    });
    return html("div", {class: "filter"}, html("label", {for: "filter"}, "Only"), input, count);
}

function tableSection(groups) {
    const rows = groups.flatMap((group) => group.rows);
    const shown = columns.filter((column) => rows.some((row) => column.value(row) !== null));
    const parts = [...new Set(shown.map((column) => column.part))];
    const names = [{head: "allocator", help: "sort by allocator", value: (row) => row.name},
        {head: groups[0]?.isProgram ? "program" : "workload", help: "sort by workload", value: (_, group) => titleOf(group)}];
    const lines = groups.flatMap((group) => group.rows.map((row) => tableLine(group, row, shown)));
    const body = html("tbody", {}, ...lines.map((item) => item.element));
    const table = html("table", {id: "figures"}, html("caption", {class: "unseen"}, "All figures, a row for each allocator; the heads sort"),
        tableHead([...names, ...shown], (column, order) => sortLines(body, lines, column, order)), body);
    const choice = parts.length > 1 ? partChoice(parts, table) : null;
    return html("section", {id: "table"}, html("h2", {}, "All figures"), html("div", {class: "controls"}, choice, filterField(lines)),
        html("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of all figures"}, table));
}
