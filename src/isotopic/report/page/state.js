"use strict";
// The selection (topic, sample, sort order, ...) and the functions that redraw when it changes.

// Begin with the fitted model itself, else with an exactly equivalent one, else with the first.
const ownReading = report.readings.findIndex((reading) => reading.own);
const exactReading = report.readings.findIndex((reading) => !reading.why_not);

const state = {
  topic: byShare[0],
  section: "topics", // in a narrow window one section is seen at a time
  lambda: 0.6,
  sort: "share",
  measure: "similarity", // of the relations between topics
  topicQuery: "",
  reading: ownReading >= 0 ? ownReading : Math.max(0, exactReading),
  sample: 0,
  order: "topic",
  against: "iteration",
  term: null,
  query: "", // of the search, and the patterns that it stands for
  parts: [],
  withTopic: false, // whether the search finds only samples of the selected topic
  shown: null, // flags of the samples that the filters let through; null: all
  filter: {}, // the bin of each column of metadata that is shown
  column: Math.max(0, ["date", "number", "group"].map((kind) => report.metadata.findIndex((column) => column.kind === kind)).find((at) => at >= 0) ?? 0),
  colouring: "all",
  texts: "page",
  names: {}, // of topics
  theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
};
/** Show a sample, wherever it was chosen. */
function visit(sample) {
  choose({ sample, section: "samples" });
  byId("sample").scrollIntoView({ block: "start" });
}

const isShown = (sample) => state.shown === null || state.shown[sample] === 1;
/** The name that a topic was given here or in the model, or nothing; and what it is called. */
const givenName = (k) => (state.names[k] ?? report.topic_names?.[k] ?? "").trim();
const topicName = (k) => givenName(k) || labels[k];
const nameOfSample = (sample) => report.samples.names[sample];
const spread = range(nSamples).filter((sample) => report.samples.spread[sample]);
