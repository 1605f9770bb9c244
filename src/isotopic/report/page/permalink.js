"use strict";
// The state in the address of the page: a link shows the same topic, sample, search and names.

const oneOf = (allowed) => (text) => (allowed.includes(text) ? text : undefined);
const numberBelow = (n) => (text) => (/^\d+$/.test(text) && Number(text) < n ? Number(text) : undefined);
const rowNumbers = new Map(Array.from(report.samples.rows, (row, sample) => [row, sample]));

function namesFrom(text) {
  const names = readLabels(text);
  return names === null ? undefined : names;
}

/** A filter: for some columns the name of a bin that exists. */
function filterFrom(text) {
  let found = null;
  try { found = JSON.parse(text); } catch { return undefined; }
  if (found === null || typeof found !== "object") return undefined;
  return Object.fromEntries(plotted.filter((at) => binsOf(columns[at]).names.includes(found[at])).map((at) => [at, found[at]]));
}

/** Each part of the state that a link keeps: how it is written, and read with suspicion. */
const KEPT = {
  topic: { write: (k) => k ?? "none", read: (text) => (text === "none" ? null : numberBelow(nTopics)(text)) },
  section: { write: (id) => id, read: oneOf(["topics", ...(plotted.length ? ["groups"] : []), "samples", "fit", "about"]) },
  sample: { write: (sample) => report.samples.rows[sample], read: (text) => rowNumbers.get(Number(text)) },
  topicQuery: { write: (text) => text, read: (text) => text.slice(0, 200) },
  query: { write: (text) => text, read: (text) => text.slice(0, 1000) },
  withTopic: { write: (flag) => (flag ? 1 : 0), read: (text) => text === "1" },
  lambda: { write: (value) => value, read: (text) => (Number(text) >= 0 && Number(text) <= 1 && text !== "" ? Number(text) : undefined) },
  measure: { write: (text) => text, read: (text) => oneOf(Object.keys(MEASURES))(text) },
  sort: { write: (text) => text, read: (text) => oneOf(Object.keys(ORDERS))(text) },
  order: { write: (text) => text, read: oneOf(["topic", "given"]) },
  reading: { write: (i) => i, read: numberBelow(report.readings.length) },
  against: { write: (text) => text, read: oneOf(["iteration", "passes", "seconds"]) },
  colouring: { write: (text) => text, read: oneOf(["all", "selected"]) },
  theme: { write: (text) => text, read: oneOf(["light", "dark"]) },
  column: { write: (at) => at, read: (text) => (plotted.includes(Number(text)) ? Number(text) : undefined) },
  filter: { write: (filter) => JSON.stringify(filter), read: filterFrom },
  names: { write: (names) => JSON.stringify(names), read: namesFrom },
};
const initial = {};

/** The state as text: only what is not as it was at first. */
function stateText() {
  const parts = new URLSearchParams();
  for (const [name, { write }] of Object.entries(KEPT))
    if (JSON.stringify(state[name]) !== initial[name]) parts.set(name, write(state[name]));
  return String(parts);
}

/** What a link says of the state; what makes no sense is left out. */
function stateFrom(text) {
  const changes = {}, parts = new URLSearchParams(text);
  for (const [name, { read }] of Object.entries(KEPT)) {
    const value = parts.has(name) ? read(parts.get(name)) : undefined;
    changes[name] = value === undefined ? JSON.parse(initial[name]) : value;
  }
  return changes;
}

/** Take the state from the address, before anything is drawn. */
function readAddress() {
  for (const name of Object.keys(KEPT)) initial[name] = JSON.stringify(state[name]);
  if (location.hash.includes("=")) Object.assign(state, stateFrom(location.hash.slice(1)));
}

/** Keep the address up to date, and follow it when a link is opened in the same page. */
function startPermalink() {
  let written = location.hash.slice(1);
  watchers.push({ names: Object.keys(KEPT), draw: () => {
    written = stateText();
    history.replaceState(null, "", `#${written}`);
  } });
  addEventListener("hashchange", () => {
    const asked = location.hash.slice(1);
    if (asked === written || !asked.includes("=")) return;
    choose(stateFrom(asked));
    for (const input of document.querySelectorAll("input[type=radio]")) input.checked = String(state[input.name]) === input.value;
    byId("lambda").value = state.lambda;
  });
  // Links to sections scroll, and leave the address alone.
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (!link) return;
    event.preventDefault();
    const target = byId(link.getAttribute("href").slice(1)), section = target.closest("section[id]");
    if (section) choose({ section: section.id });
    target.scrollIntoView();
    target.setAttribute("tabindex", -1);
    target.focus({ preventScroll: true });
  });
  byId("copy-link").addEventListener("click", async () => {
    let done = true;
    try { await navigator.clipboard.writeText(location.href); } catch { done = false; }
    const note = byId("link-note");
    note.textContent = done ? "Copied: the link opens this page as you see it." : "Copy the address of this page: it has the link.";
    setTimeout(() => { note.textContent = ""; }, 4000);
  });
}
