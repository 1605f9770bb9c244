"use strict";
// The payload (`report`), and the formulas that all panels share.

const KINDS = { uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, float32: Float32Array };

function numbers({ packed, data }) {
  const text = atob(data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  return new KINDS[packed](bytes.buffer);
}

/** Unpack the arrays of the payload, wherever they are. */
function unpacked(value) {
  if (value === null || typeof value !== "object") return value;
  if (typeof value.packed === "string" && value.packed in KINDS) return numbers(value);
  if (Array.isArray(value)) return typeof value[0] === "object" ? value.map(unpacked) : value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, unpacked(part)]));
}

const report = unpacked(JSON.parse(byId("payload").textContent));
const nTopics = report.topics.counts.length;
const nSamples = report.samples.rows.length;
const allCounts = report.data.counts;
const explained = report.topics.counts.reduce((sum, value) => sum + value, 0);
const share = (k) => report.topics.counts[k] / explained;
const range = (n) => Array.from({ length: n }, (_, i) => i);

const byShare = range(nTopics).sort((a, b) => share(b) - share(a) || a - b);
const rank = byShare.reduce((ranks, k, i) => { ranks[k] = i; return ranks; }, []);

// Ten hues that colour-blind readers can distinguish, then lighter and darker ones.
const HUES = ["#4477aa", "#ee8833", "#228866", "#cc4466", "#7755bb", "#bbaa33", "#55b5dd", "#a3527d", "#77bb55", "#997755"];
const TONES = [[0, 0], [255, 0.45], [20, 0.28], [255, 0.68], [20, 0.48]];

function channels(k) {
  const hue = HUES[rank[k] % HUES.length];
  const [towards, part] = TONES[Math.floor(rank[k] / HUES.length) % TONES.length];
  const channel = (at) => Math.round(parseInt(hue.slice(at, at + 2), 16) * (1 - part) + towards * part);
  return [channel(1), channel(3), channel(5)];
}

const colour = (k) => `rgb(${channels(k).join(", ")})`;

/** The topic's colour, faded towards the background: for topics that are not selected. */
function faded(k, theme) {
  const paper = theme === "dark" ? 27 : 255;
  return `rgb(${channels(k).map((value) => Math.round(0.45 * value + 0.55 * paper)).join(", ")})`;
}

/** Black or white, whichever is legible on the topic's colour. */
function inkOn(k) {
  const [r, g, b] = channels(k);
  return 0.299 * r + 0.587 * g + 0.114 * b > 150 ? "#15181d" : "#ffffff";
}

const slice = (part, field, at) => part[field].subarray(part.starts[at], part.starts[at + 1]);
const entries = (part, at) => range(part.starts[at + 1] - part.starts[at]).map((i) => part.starts[at] + i);

/** The terms of a topic by their relevance (Sievert & Shirley), the most relevant first. */
function relevantTerms(k, lambda) {
  const less = 1 - Math.max(lambda, 1e-6);
  return entries(report.topics, k)
    .map((i) => {
      const term = report.topics.terms[i];
      const inTopic = report.topics.shares[i];
      const overall = report.terms.totals[term];
      return {
        term, overall, inTopic: inTopic * report.topics.counts[k],
        relevance: Math.log(inTopic) - less * Math.log(overall / allCounts),
      };
    })
    .sort((a, b) => b.relevance - a.relevance)
    .slice(0, report.shown_terms);
}

const termName = (term) => report.terms.names[term];
const label = (k, n = 4) => relevantTerms(k, 0.6).slice(0, n).map(({ term }) => termName(term)).join(" · ");
const labels = range(nTopics).map((k) => label(k));

/** The topics of a term, each with its share of the counts of the term. */
function whereabouts(term) {
  const at = report.topics.distinct.indexOf(term);
  const where = report.topics.where;
  return at < 0 ? [] : entries(where, at).map((i) => ({ topic: where.topics[i], share: where.shares[i] }));
}

/** The counts of a sample that each topic explains. */
function explainedCounts(sample) {
  const counts = new Float64Array(nTopics);
  for (const i of entries(report.samples.mixtures, sample))
    counts[report.samples.mixtures.topics[i]] = report.samples.mixtures.counts[i];
  return counts;
}

/** The normaliser of a sample: its explained counts plus those that the prior adds. */
const mass = (sample, reading) => report.samples.explained[sample] + reading.add.reduce((a, b) => a + b, 0);

/** The weights of a sample under a reading: (counts + add) / divide, normalised or not. */
function weights(sample, reading) {
  const sum = reading.normalize ? mass(sample, reading) : 1;
  return explainedCounts(sample).map((count, k) => (sum > 0 ? (count + reading.add[k]) / reading.divide[k] / sum : 1 / nTopics));
}

/** The posterior standard deviation of a weight, or null if the reading has no posterior. */
function deviation(sample, reading, weight, k) {
  if (!reading.bayesian || reading.why_not) return null;
  if (!reading.normalize) return Math.sqrt(weight / reading.divide[k]);
  return Math.sqrt((weight * (1 - weight)) / (mass(sample, reading) + 1));
}

/** The share of each topic in each sample: one row for each sample. */
const shares = range(nSamples).map((sample) => {
  const row = new Float32Array(nTopics);
  const topics = slice(report.samples.mixtures, "topics", sample);
  const counts = slice(report.samples.mixtures, "counts", sample);
  topics.forEach((k, i) => { row[k] = counts[i] / report.samples.explained[sample]; });
  return row;
});

// The mixtures list the topics of a sample by size.
const mainTopic = range(nSamples).map((sample) => slice(report.samples.mixtures, "topics", sample)[0] ?? byShare[0]);
