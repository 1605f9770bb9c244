"use strict";
// What a link keeps: the same topic, sample, search and names.

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
