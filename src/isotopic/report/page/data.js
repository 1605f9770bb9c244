"use strict";
// The formulas that all panels share; `report` is the payload.

/** A value of at most one that is stored as a logarithm in steps; the last step stands for zero. */
const fromSteps = (steps) => (steps === 65535 ? 0 : 2 ** (-steps / 2048));

/** Add to the mixtures of the samples the counts that each listed topic explains. */
function addCounts({ mixtures, explained: totals }) {
  const { shares, starts } = mixtures, counts = new Float32Array(shares.length);
  totals.forEach((total, sample) => { for (let i = starts[sample]; i < starts[sample + 1]; i += 1) counts[i] = total * fromSteps(shares[i]); });
  mixtures.counts = counts;
}
addCounts(report.samples);

const nTopics = report.topics.counts.length;
const nSamples = report.samples.rows.length;
const { words } = report; // of the field: sample, term, topic, and Sample, ... at the beginning of a sentence
const allCounts = report.data.counts;
const explained = report.topics.counts.reduce((sum, value) => sum + value, 0);
const share = (k) => report.topics.counts[k] / explained;

const byShare = range(nTopics).sort((a, b) => share(b) - share(a) || a - b);
const rank = byShare.reduce((ranks, k, i) => { ranks[k] = i; return ranks; }, []);

const channels = (k) => tone(k);
const colour = (k) => `rgb(${channels(k).join(", ")})`;

/** The topic's colour, faded towards the background: for topics that are not selected. */
function faded(k, theme) {
  const paper = theme === "dark" ? 27 : 255;
  return channels(k).map((value) => Math.round(0.45 * value + 0.55 * paper));
}

const inkOn = (k) => inkFor(channels(k));

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
        term, topic: k, overall, inTopic: inTopic * report.topics.counts[k],
        relevance: Math.log(inTopic) - less * Math.log(overall / allCounts),
      };
    })
    .sort((a, b) => b.relevance - a.relevance)
    .slice(0, report.shown_terms);
}

/** The terms that tell the topics apart, each with its main topic. */
const salientTerms = () => Array.from(report.topics.salient, (term) => {
  const [main] = whereabouts(term).sort((a, b) => b.share - a.share), overall = report.terms.totals[term];
  return { term, overall, topic: main.topic, inTopic: main.share * overall };
});

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

/** The share of a topic in a sample; topics with little of it are not listed. */
function shareOf(sample, k) {
  const { topics, counts, starts } = report.samples.mixtures;
  for (let i = starts[sample]; i < starts[sample + 1]; i += 1)
    if (topics[i] === k) return counts[i] / report.samples.explained[sample];
  return 0;
}

// The mixtures list the topics of a sample by size.
const mainTopic = (sample) => slice(report.samples.mixtures, "topics", sample)[0] ?? byShare[0];
