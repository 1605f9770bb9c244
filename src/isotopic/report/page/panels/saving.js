"use strict";
// The menu of what can be saved.

/** The weights of samples, as the page shows them: a column for each topic. */
function weightRows(samples) {
  const reading = report.readings[state.reading];
  return samples.map((sample) => [report.samples.rows[sample], nameOfSample(sample), report.samples.totals[sample], ...weights(sample, reading)]);
}
const weightHeader = () => ["row", words.sample, "counts", ...range(nTopics).map((k) => `${words.topic} ${k}${givenName(k) ? `: ${givenName(k)}` : ""}`)];

panels.push(() => {
  offerTable(words.Topics, "topics", () => [words.topic, "name", "share", words.terms],
    () => byShare.map((k) => [k, givenName(k), share(k), label(k, 20)]));
  offerTable(`${words.Terms} of all ${words.topics}`, "terms", () => [words.topic, "name", words.term, `counts in ${words.topic}`, "counts overall", "relevance"],
    () => byShare.flatMap((k) => relevantTerms(k, state.lambda).map(({ term, inTopic, overall, relevance }) => [k, givenName(k), termName(term), inTopic, overall, relevance])));
  offerTable(`Weights of all ${words.samples}`, "weights", weightHeader, () => weightRows(range(nSamples).filter(isShown)));
  offerTable("Matches of the search", "matches", weightHeader,
    async () => weightRows((await findSamples(state.query)).samples.filter(isShown)));
  offerDrawing("Map", "map", () => byId("map").querySelector("svg"));
  offerCanvas("Structure", "structure", () => byId("structure"));
  offerCanvas("Convergence", "convergence", () => byId("objective").querySelector("canvas"));
  offerCanvas("Optimality", "optimality", () => byId("residual").querySelector("canvas"));
  startSaveMenu();
});
