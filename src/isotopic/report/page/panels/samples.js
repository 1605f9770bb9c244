"use strict";
// Search for samples, and show one.

const MOST_RESULTS = 200;
const MOST_WEIGHTS = 10;

/** The text that is searched for each sample: its name, its terms and its document. */
const searchable = new Array(nSamples).fill(null);
function haystack(sample) {
  if (searchable[sample] === null) {
    const terms = [...slice(report.samples.own, "terms", sample)].map(termName);
    const text = report.samples.documents ? report.samples.documents[sample] : "";
    searchable[sample] = [report.samples.names[sample], ...terms, text].join("\n").toLowerCase();
  }
  return searchable[sample];
}

/** The samples that contain every word of the query; matches of the name come first. */
function search(asked) {
  const words = asked.toLowerCase().split(/\s+/).filter(Boolean);
  const named = (sample) => report.samples.names[sample].toLowerCase().includes(asked.trim().toLowerCase());
  const found = range(nSamples).filter((sample) => words.every((word) => haystack(sample).includes(word)));
  return words.length ? [...found.filter(named), ...found.filter((sample) => !named(sample))] : found;
}

/** The topics of a sample as a thin strip. */
function strip(sample) {
  const parts = byShare.filter((k) => shares[sample][k] > 0.01);
  return make("span", { class: "strip", "aria-hidden": "true" },
    parts.map((k) => styled(make("span", {}), { "flex-grow": shares[sample][k], background: colour(k) })));
}

function resultRow(sample) {
  return make("div", { id: `sample-${sample}`, class: "entry", role: "option", onclick: () => choose({ sample }) },
    said(report.samples.names[sample], "cut"), strip(sample), make("span", { class: "amount" }, brief(report.samples.totals[sample])));
}

function startSearch() {
  const field = byId("search"), list = byId("results");
  let results = [];
  const mark = () => {
    for (const row of list.children) row.setAttribute("aria-selected", row.id === `sample-${state.sample}`);
    const row = byId(`sample-${state.sample}`);
    if (row) list.setAttribute("aria-activedescendant", row.id);
    else list.removeAttribute("aria-activedescendant");
    reveal(list, row);
  };
  const find = () => {
    results = search(field.value);
    list.replaceChildren(...results.slice(0, MOST_RESULTS).map(resultRow));
    list.scrollTop = 0;
    const noun = !field.value.trim() ? "samples" : results.length === 1 ? "match" : "matches";
    byId("found").textContent = `${whole(results.length)} ${noun}` + (results.length > MOST_RESULTS ? `, showing the first ${MOST_RESULTS}` : "");
    mark();
  };
  field.addEventListener("input", () => {
    find();
    if (field.value.trim() && results.length) choose({ sample: results[0] });
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") { event.preventDefault(); list.focus(); }
  });
  listKeys(list, () => results.slice(0, MOST_RESULTS), () => state.sample, (sample) => choose({ sample }));
  find();
  watch(["sample"], mark);
}

function weightRow(sample, reading, value, largest, k) {
  const doubt = deviation(sample, reading, value, k);
  const at = (x) => `${(100 * Math.max(0, Math.min(1, x / largest))).toFixed(2)}%`;
  const whisker = doubt === null ? null : styled(make("span", { class: "whisker" }), {
    left: at(value - doubt), width: `calc(${at(value + doubt)} - ${at(value - doubt)})`,
  });
  const shown = reading.normalize ? `${(100 * value).toFixed(1)}%` : number(value);
  return make("button", { type: "button", class: "weight", onclick: () => choose({ topic: k }) },
    swatch(k), said(labels[k], "cut"),
    make("span", { class: "track" }, styled(make("span", { class: "bar-topic" }), { width: at(value), background: colour(k) }), whisker),
    make("span", { class: "amount" }, shown));
}

/** The document of a sample, its distinctive terms underlined in the colours of their topics. */
function markedText(sample) {
  const text = report.samples.documents[sample];
  const own = report.samples.own;
  const topicOf = new Map(entries(own, sample).map((i) => [termName(own.terms[i]).toLowerCase(), own.topics[i]]));
  const words = text.split(/([\p{L}\p{N}_]+)/u);
  return make("p", { class: "text", dir: "auto" }, words.map((word) => {
    const k = topicOf.get(word.toLowerCase());
    return k === undefined ? word : styled(make("mark", { title: `topic ${k}` }, word), { "border-color": colour(k) });
  }));
}

function drawSample(card) {
  const { sample } = state, reading = report.readings[state.reading], own = report.samples.own;
  const values = weights(sample, reading);
  const topics = [...slice(report.samples.mixtures, "topics", sample)];
  const listed = topics.slice(0, MOST_WEIGHTS);
  const largest = Math.max(...listed.map((k) => values[k] + (deviation(sample, reading, values[k], k) || 0)), 1e-300);
  card.replaceChildren(
    make("div", { class: "card-head" },
      make("h3", { id: "sample-name" }, said(report.samples.names[sample])),
      make("span", { class: "hint" }, `row ${report.samples.rows[sample]}, ${number(report.samples.totals[sample])} counts`)),
    make("h4", {}, `Weights as ${reading.name} `, make("span", { class: "hint" }, reading.unit + (reading.bayesian && !reading.why_not ? " ± standard deviation" : ""))),
    make("div", { id: "weights" }, listed.map((k) => weightRow(sample, reading, values[k], largest, k)),
      topics.length > listed.length ? make("p", { class: "hint" }, `and ${topics.length - listed.length} smaller topics`) : null,
      listed.length ? null : make("p", { class: "hint" }, "This sample has no counts.")),
    make("h4", {}, "Distinctive terms ", make("span", { class: "hint" }, "each with the topic that explains most of it")),
    make("div", { class: "chips" }, entries(own, sample).map((i) =>
      make("button", { type: "button", class: "chip", onclick: () => choose({ topic: own.topics[i] }) },
        swatch(own.topics[i]), said(termName(own.terms[i]), "cut"), make("span", { class: "hint" }, number(own.counts[i]))))),
    ...(report.samples.documents ? [make("h4", {}, "Text"), markedText(sample)] : []),
  );
}

panels.push(() => {
  startSearch();
  watch(["sample", "reading"], () => drawSample(byId("sample")));
});
