"use strict";
// Metadata: the columns, their bins, the mean share of a topic in each, and the filters.

const columns = report.metadata;
const DAY = 86400000;
const missing = (column, sample) => (column.kind === "date" ? column.values[sample] === 0 : column.kind === "number" ? Number.isNaN(column.values[sample]) : false);
const dayOf = (column, sample) => new Date((column.first + column.values[sample] - 1) * DAY);
const isoDay = (date) => date.toISOString().slice(0, 10).replace(/^[+-]0*/, "");

/** The value of a sample as text. */
function valueText(column, sample) {
  if (missing(column, sample)) return "–";
  if (column.kind === "date") { const day = isoDay(dayOf(column, sample)); return column.isYears ? day.slice(0, 4) : day; }
  if (column.kind === "number") return number(column.values[sample]);
  return column.kind === "group" ? column.groups[column.values[sample]] || "(none)" : column.values[sample];
}

for (const column of columns) if (column.kind === "date")
  column.isYears = range(nSamples).every((sample) => missing(column, sample) || (dayOf(column, sample).getUTCMonth() === 0 && dayOf(column, sample).getUTCDate() === 1));

const UNITS = { month: (day) => `${day.getUTCFullYear()}-${String(day.getUTCMonth() + 1).padStart(2, "0")}`, year: (day) => String(day.getUTCFullYear()), decade: (day) => `${10 * Math.floor(day.getUTCFullYear() / 10)}s` };

/** The bin of each sample: a month, year or decade, a tenth of the numbers, or a group. -1: none. */
function binsOf(column) {
  if (column.bins) return column.bins;
  const of = new Int32Array(nSamples).fill(-1), names = new Map();
  const put = (sample, name) => { if (!names.has(name)) names.set(name, names.size); of[sample] = names.get(name); };
  const known = range(nSamples).filter((sample) => !missing(column, sample));
  if (column.kind === "date") {
    const sorted = known.sort((a, b) => column.values[a] - column.values[b]);
    const distinct = (unit) => new Set(sorted.map((sample) => unit(dayOf(column, sample)))).size;
    const span = sorted.length ? (column.values[sorted.at(-1)] - column.values[sorted[0]]) / 365 : 0;
    const unit = !column.isYears && span < 4 ? UNITS.month : distinct(UNITS.year) <= 80 ? UNITS.year : UNITS.decade;
    for (const sample of sorted) put(sample, unit(dayOf(column, sample)));
  } else if (column.kind === "number") {
    const sorted = known.sort((a, b) => column.values[a] - column.values[b]);
    const edges = [...new Set(range(11).map((i) => column.values[sorted[Math.min(sorted.length - 1, Math.floor((i * sorted.length) / 10))]]))];
    const bins = Math.max(1, edges.length - 1);
    for (const sample of sorted) {
      let bin = 0;
      while (bin + 1 < bins && column.values[sample] >= edges[bin + 1]) bin += 1;
      put(sample, edges.length > 1 ? `${number(edges[bin])} – ${number(edges[bin + 1])}` : number(edges[0]));
    }
  } else for (const sample of known) put(sample, column.groups[column.values[sample]] || "(none)");
  column.bins = { of, names: [...names.keys()] };
  return column.bins;
}

/** The means of the bins, computed again only when other samples are shown. */
function shownMeans(column) {
  if (column.means?.shown !== state.shown) column.means = { shown: state.shown, bins: binMeans(column) };
  return column.means.bins;
}

/** The level of intervals, as of those of the effects, and their half width in standard errors. */
const INTERVAL = { level: 0.9, reach: 1.645 };

/** The mean share of each topic in each bin, and the half width of its interval. */
function binMeans(column) {
  const { of, names } = binsOf(column), n = new Float64Array(names.length);
  const sums = names.map(() => new Float64Array(nTopics)), squares = names.map(() => new Float64Array(nTopics));
  const { topics, counts, starts } = report.samples.mixtures;
  for (const sample of spread) {
    const bin = of[sample], total = report.samples.explained[sample];
    if (bin < 0 || !(total > 0) || !isShown(sample)) continue;
    n[bin] += 1;
    for (let i = starts[sample]; i < starts[sample + 1]; i += 1) {
      const part = counts[i] / total;
      sums[bin][topics[i]] += part;
      squares[bin][topics[i]] += part * part;
    }
  }
  return names.map((name, bin) => ({
    name, at: bin, n: n[bin],
    mean: (k) => (n[bin] ? sums[bin][k] / n[bin] : 0),
    half: (k) => (n[bin] > 1 ? INTERVAL.reach * Math.sqrt(Math.max(0, squares[bin][k] / n[bin] - (sums[bin][k] / n[bin]) ** 2) / (n[bin] - 1)) : 0),
  })).filter((bin) => bin.n > 0);
}

/** The samples that the filters let through: for each column a bin, or all. */
function shownBy(filter) {
  const asked = Object.entries(filter).filter(([at]) => columns[at]);
  if (!asked.length) return null;
  const shown = new Uint8Array(nSamples).fill(1);
  for (const [at, wanted] of asked) {
    const { of, names } = binsOf(columns[at]), bin = names.indexOf(wanted);
    for (let sample = 0; sample < nSamples; sample += 1) if (of[sample] !== bin) shown[sample] = 0;
  }
  return shown;
}
