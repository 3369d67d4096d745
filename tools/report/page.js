// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The page from top to bottom: what the data say in a sentence, all together, each workload or program, every figure in a
// table, the machine and the method.

// ---- Top ----

function downloadLink(text) {
    const url = URL.createObjectURL(new Blob([text], {type: "application/json"}));
    return html("a", {class: "button", download: "lido-bench.json", href: url}, `Download the data (JSON, ${bytesText(text.length)})`);
}

function topSection(report, groups, means, base, text) {
    const {headline, details} = summaryOf(groups, means, base);
    const warnings = warningsOf(report, groups);
    const version = typeof report.lido === "string" ? ` ${report.lido}` : "";
    const links = [["#each", groups[0]?.isProgram ? "Programs" : "Workloads"], ["#table", "All figures"], ["#method", "Machine and method"]];
    document.title = `lido report: ${headline}`;
    return html("header", {}, html("p", {class: "kicker"}, `lido${version} · allocators compared`),
        html("h1", {}, capital(headline)), ...details.map((detail) => html("p", {class: "lead"}, detail)),
        warnings.length === 0 ? null : html("ul", {class: "warnings", "aria-label": "Before you quote this"}, ...warnings.map((warning) => html("li", {}, warning))),
        html("nav", {"aria-label": "Parts of this page"}, ...links.map(([href, name]) => html("a", {href}, name)), downloadLink(text)));
}

function legend(base, confidence) {
    const swatch = (...children) => svg("svg", {class: "swatch", width: 34, height: 14, viewBox: "0 0 34 14", "aria-hidden": "true"}, ...children);
    const bar = (name) => svg("rect", {x: 2, y: 2, width: 30, height: 10, rx: 1.5, class: `bar ${name}`});
    const whisker = svg("path", {d: "M6 2V12M6 7H28M28 2V12", class: "whisker"});
    const items = [[swatch(bar("own")), "lido"], [swatch(bar("peer")), "others"],
        [swatch(svg("circle", {cx: 17, cy: 7, r: 4, class: "dot base"})), `${base}, the baseline`],
        [swatch(whisker), `${percentText(confidence)} interval of the ratio`],
        [swatch(bar("peer open")), "hollow, ≈: no difference, the interval holds 1"]];
    return html("ul", {class: "legend", "aria-label": "How to read the bars"}, ...items.map((item) => html("li", {}, ...item)));
}

const spanOf = (rows) => ratioSpan(rows.flatMap((row) => [row.ratio, row.low, row.high]));

function overviewSection(groups, means, base, confidence) {
    const subject = groups.some((group) => group.rows.some((row) => row.name === "lido")) ? "lido" : means.find((mean) => mean.name !== base)?.name;
    const several = groups.length > 1;
    const span = spanOf(groups.flatMap((group) => group.rows.filter((row) => !row.isPool)));
    const means2 = several ? meanFigures(means, base) : [];
    const glance = several && subject !== undefined ? glanceFigure(groups, subject, span, base) : null;
    return html("section", {id: "together"}, several ? html("h2", {}, "All together") : null,
        html("p", {class: "note"}, `Lengths are ratios on a logarithmic axis: half the time reaches as far to the left of ${base} as twice the time to the right.`),
        legend(base, confidence), html("div", {class: "pair"}, ...means2), glance);
}

// ---- Each workload or program ----

function countsTable(group) {
    const all = (key) => group.rows.filter((row) => row.failed === null && Object.keys(fieldsOf(row.raw[key])).length > 0);
    const tables = [["counts", "Counts"], ["system_calls", "System calls"]].filter(([key]) => all(key).length > 0).map(([key, title]) => {
        const rows = all(key);
        const names = [...new Set(rows.flatMap((row) => Object.keys(row.raw[key])))];
        const cell = (row, name) => html("td", {class: "number"}, isNumber(row.raw[key][name]) ? countText(row.raw[key][name]) : "–");
        return html("details", {}, html("summary", {}, title), html("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": `${title} of ${titleOf(group)}`},
            html("table", {}, html("thead", {}, html("tr", {}, html("th", {scope: "col", class: "text"}, "allocator"), ...names.map((name) => html("th", {scope: "col"}, name.replaceAll("_", " "))))),
                html("tbody", {}, ...rows.map((row) => html("tr", {}, html("th", {scope: "row", class: row.role}, row.name), ...names.map((name) => cell(row, name))))))));
    });
    return tables.length === 0 ? null : html("div", {class: "more"}, ...tables);
}

function groupHead(group) {
    const facts = [];
    if (!group.isProgram) {
        if (typeof group.raw.op === "string") facts.push(`one operation is ${group.raw.op}`);
        facts.push(...parametersOf(group.raw));
    }
    return html("div", {class: "head"}, group.isProgram ? html("h3", {}, html("code", {}, shortened(group.name, 400))) : html("h3", {}, group.name),
        group.heap === null ? null : html("p", {class: "tag"}, group.heap),
        typeof group.raw.help === "string" ? html("p", {}, group.raw.help) : null,
        facts.length === 0 ? null : html("p", {class: "note"}, facts.join(" · ")));
}

function groupCard(group, span, base, isOpen) {
    const [latency, memory] = [[latencyFigure(group, "alloc"), latencyFigure(group, "free")].filter((item) => item !== null), memoryFigure(group)];
    // Two columns of about one height: the bars with memory below them, and latency; or memory, where there is none.
    const extra = [...latency, memory].filter((item) => item !== null);
    const bars = group.rows.length === 0 ? html("p", {class: "note"}, "no rows") : barsFigure(group, span, base);
    const [left, right] = latency.length > 0 ? [[bars, memory], latency] : [[bars], [memory]];
    const card = html("article", {id: group.id, class: "card"}, groupHead(group),
        html("div", {class: "charts"}, html("div", {class: "column"}, ...left), extra.length === 0 ? null : html("div", {class: "column"}, ...right)));
    extra.forEach((item, index) => { item.id = `${group.id}-extra-${index}`; });
    if (extra.length > 0) {
        const button = html("button", {type: "button", class: "button toggle", "aria-controls": extra.map((item) => item.id).join(" ")});
        const show = (open) => {
            for (const item of extra) item.hidden = !open;
            card.classList.toggle("open", open);
            button.setAttribute("aria-expanded", String(open));
            button.textContent = open ? "Hide latency and memory" : "Latency and memory";
        };
        button.addEventListener("click", () => show(!card.classList.contains("open")));
        show(isOpen);
        card.append(button);
        card.show = show;
    }
    const counts = countsTable(group);
    if (counts !== null) card.append(counts);
    return card;
}

function eachSection(groups, span, base) {
    const openAtFirst = groups.length <= 6;
    const cards = groups.map((group) => groupCard(group, span, base, openAtFirst));
    const all = html("button", {type: "button", class: "button"}, "Show latency and memory of all");
    all.addEventListener("click", () => cards.forEach((card) => card.show?.(true)));
    const head = html("div", {class: "controls"}, html("h2", {}, groups[0]?.isProgram ? "Each program" : "Each workload"),
        openAtFirst || cards.every((card) => card.show === undefined) ? null : all);
    return html("section", {id: "each"}, head, html("div", {class: "cards"}, ...cards));
}

// ---- Machine and method ----

function factList(facts) {
    const known = facts.filter(([, value]) => value !== null && value !== undefined && value !== "");
    return html("dl", {}, ...known.flatMap(([name, value]) => html("div", {}, html("dt", {}, name), html("dd", {}, String(value)))));
}

const yesNo = (value) => (value === true ? "yes" : value === false ? "no" : null);
const numberOr = (value, text) => (isNumber(value) ? text(value) : null);

function machineFacts(machine) {
    return [["processor", machine.cpu], ["CPUs", numberOr(machine.cpus, String)], ["memory", numberOr(machine.memory_gb, (gb) => `${digits(gb)}${space}GB`)],
        ["kernel", machine.kernel], ["C library", machine.libc], ["transparent huge pages", machine.thp], ["frequency governor", machine.governor],
        ["turbo", machine.turbo], ["virtual machine", yesNo(machine.virtual_machine)], ["core shared with another CPU", yesNo(machine.core_is_shared)],
        ["load at the start", numberOr(machine.load_at_start, digits)]];
}

function methodFacts(method, build) {
    return [["rounds", numberOr(method.rounds, String)], ["seed of the order", numberOr(method.seed, String)], ["pinned to CPU", numberOr(method.pinned_cpu, String)],
        ["clock", method.clock === "cpu" ? "CPU time" : method.clock === "wall" ? "wall time" : method.clock],
        ["littered heap", numberOr(method.litter, (litter) => `${litter}${space}% of the blocks stay`)], ["optimization", typeof method.optimize === "object" ? null : method.optimize], ["baseline", method.baseline],
        ["confidence", numberOr(method.confidence, percentText)], ["precision asked for", numberOr(method.precision, percentText)], ["bootstrap samples", numberOr(method.bootstrap, countText)],
        ["compiler", build.compiler], ["flags", typeof build.flags === "string" ? build.flags.trim() : null], ["figures to quote", yesNo(method.quotable)]];
}

function methodSection(report, base) {
    const [method, isProgram] = [fieldsOf(report.method), report.kind === "program"];
    const notes = listOf(report.notes);
    const rounds = isNumber(method.rounds) ? plural(method.rounds, "round") : "the rounds";
    const repeats = isNumber(method.baseline_repeats) && method.baseline_repeats > 1 ? ` ${base} ran ${method.baseline_repeats} times in each, and rows with a wide interval more often.` : "";
    const what = `One fresh process for each ${isProgram ? "program" : "workload"}, allocator and round, ${rounds} in random order.${repeats} A figure is the median of its samples. ` +
        `The ratio to ${base} comes with a bootstrap interval; where that holds 1, the row says “no difference”.`;
    return html("section", {id: "method"}, html("h2", {}, "Machine and method"), html("p", {}, what),
        html("div", {class: "pair"}, html("div", {}, html("h3", {}, "Machine"), factList(machineFacts(fieldsOf(report.machine)))),
            html("div", {}, html("h3", {}, "Method"), factList(methodFacts(method, fieldsOf(report.build))))),
        notes.length === 0 ? null : html("div", {}, html("h3", {}, "Notes"), html("ul", {class: "notes"}, ...notes.map((note) => html("li", {}, note)))));
}

// ---- Start ----

function start() {
    const text = document.getElementById("data").textContent.trim();
    const report = JSON.parse(text);
    const method = fieldsOf(report.method);
    const base = typeof method.baseline === "string" ? method.baseline : "glibc";
    const groups = groupsOf(report, base);
    const means = meansOf(report, groups, base);
    const rows = groups.flatMap((group) => group.rows);
    const span = spanOf(rows);
    const page = document.getElementById("page");
    page.append(topSection(report, groups, means, base, text));
    if (rows.some((row) => row.ratio !== null)) page.append(overviewSection(groups, means, base, isNumber(method.confidence) ? method.confidence : 0.95));
    if (groups.length > 0) page.append(eachSection(groups, span, base), tableSection(groups));
    page.append(methodSection(report, base), html("footer", {}, "Made by ", html("b", {}, "lido report"), ". The page holds its data and loads nothing."));
    followWidths();
}

start();
