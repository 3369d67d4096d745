// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Small things that every part of the page needs: making elements, and figures as text. Text from the data only ever
// becomes a text node or an attribute's value, never markup.

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const listOf = (value) => (Array.isArray(value) ? value : []);
const fieldsOf = (value) => (value !== null && typeof value === "object" ? value : {});

function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
        if (value === undefined || value === null || value === false) continue;
        element.setAttribute(name, value === true ? "" : String(value));
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return element;
}

const html = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

// ---- Figures as text: three significant digits or so, a unit that fits, a narrow space in between ----

const space = "\u202f";

function digits(value) {
    const size = Math.abs(value);
    if (size === 0) return "0";
    if (size < 0.0995) return value.toPrecision(2);
    return value.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

const countText = (value) => Math.round(value).toLocaleString("en");

function scaled(value, units) {
    const last = units.length - 1;
    const at = units.findIndex(([limit], index) => Math.abs(value) < limit || index === last);
    return `${digits(value / units[at][1])}${space}${units[at][2]}`;
}

const nsText = (ns) => scaled(ns, [[1e3, 1, "ns"], [1e6, 1e3, "µs"], [1e9, 1e6, "ms"], [Infinity, 1e9, "s"]]);
const secondsText = (s) => nsText(s * 1e9);
const bytesText = (bytes) =>
    bytes === 0 ? "0" : scaled(bytes, [[1024, 1, "B"], [2 ** 20, 1024, "KB"], [2 ** 30, 2 ** 20, "MB"], [Infinity, 2 ** 30, "GB"]]);
const kbText = (kb) => bytesText(kb * 1024);
const withoutZeros = (text) => text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");
const percentText = (share) => `${withoutZeros(digits(100 * share))}${space}%`;

function plural(count, one, many = `${one}s`) {
    return `${count} ${count === 1 ? one : many}`;
}

// "a, b and c"
function joined(words) {
    return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

function shortened(text, length) {
    const characters = Array.from(text);
    return characters.length <= length ? text : `${characters.slice(0, length - 1).join("")}…`;
}

// Width of a text in a chart, in CSS pixels.
const pen = document.createElement("canvas").getContext("2d");
function textWidth(text, size = 12, weight = 400) {
    pen.font = `${weight} ${size}px system-ui, sans-serif`;
    return pen.measureText(text).width;
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// The text, shortened so that it is at most `width` wide.
function fitted(text, width, size = 12, weight = 400) {
    if (textWidth(text, size, weight) <= width) return text;
    let length = Math.max(1, Math.floor((text.length * width) / textWidth(text, size, weight)));
    while (length > 1 && textWidth(shortened(text, length), size, weight) > width) length--;
    return shortened(text, length);
}

const geometricMean = (values) => Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
