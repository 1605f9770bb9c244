"use strict";
// All counts of a sample, and the probability of each topic for each of them.

/** Undo what makes the terms of a chunk small: they are stored as differences within a sample. */
function readRows(tree, chunk) {
  const { lengths, low, high, counts, weights } = tree;
  const terms = new Uint32Array(low.length), starts = new Uint32Array(lengths.length + 1);
  lengths.forEach((length, row) => {
    let term = 0;
    starts[row + 1] = starts[row] + length;
    for (let i = starts[row]; i < starts[row + 1]; i += 1) terms[i] = term += low[i] + 256 * high[i];
  });
  return { terms, counts, weights, starts, firstTopic: report.samples.mixtures.starts[report.archives.rows.bounds[chunk]] };
}

const rowArchive = report.archives.rows ? new Archive(report.archives.rows.bounds, inPage("rows"), readRows) : null;
const valueArchive = report.archives.values ? new Archive(report.archives.values.bounds, inPage("values")) : null;

/** The terms of a sample, their counts, and the effective weights of its listed topics. */
async function rowOf(sample) {
  const [{ terms, counts, weights, starts, firstTopic }, at] = await rowArchive.find(sample);
  const topics = report.samples.mixtures.starts;
  return {
    sample, terms: terms.subarray(starts[at], starts[at + 1]), counts: counts.subarray(starts[at], starts[at + 1]),
    weights: weights.subarray(topics[sample] - firstTopic, topics[sample + 1] - firstTopic),
  };
}

/** The probability of each listed topic of a sample for a count of a term, the largest first. */
function responsibilities(row, term, values) {
  const topics = slice(report.samples.mixtures, "topics", row.sample);
  const rest = fromSteps(values.rest[term]);
  const strongest = new Map(entries(values, term).map((i) => [values.topics[i], fromSteps(values.values[i])]));
  const joint = Array.from(topics, (topic, i) => ({ topic, share: fromSteps(row.weights[i]) * (strongest.get(topic) ?? rest) }));
  const sum = joint.reduce((total, { share }) => total + share, 0);
  if (!(sum > 0)) return [];
  for (const part of joint) part.share /= sum;
  return joint.sort((a, b) => b.share - a.share);
}

/** The terms that contribute most to the divergence of a sample from all samples together. */
async function distinctiveTerms(sample, n = 12) {
  const { own } = report.samples;
  if (own) return entries(own, sample).map((i) => ({ term: own.terms[i], count: own.counts[i], topic: own.topics[i] }));
  const [row, values] = [await rowOf(sample), await valueArchive.chunk(0)];
  const total = report.samples.totals[sample];
  const surprise = (i) => row.counts[i] * Math.log((row.counts[i] * allCounts) / (total * report.terms.totals[row.terms[i]]));
  return range(row.terms.length).map((i) => [surprise(i), i]).sort((a, b) => b[0] - a[0]).slice(0, n)
    .map(([, i]) => ({ term: row.terms[i], count: row.counts[i], topic: (responsibilities(row, row.terms[i], values)[0] || { topic: mainTopic(sample) }).topic }));
}
