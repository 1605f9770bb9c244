"use strict";
// One sample: the weights of its topics, its distinctive terms, and its text, every word by topic.

const MOST_WEIGHTS = 10;

function weightRow(sample, reading, value, largest, k) {
  const doubt = deviation(sample, reading, value, k);
  const at = (x) => `${(100 * Math.max(0, Math.min(1, x / largest))).toFixed(2)}%`;
  const whisker = doubt === null ? null : styled(make("span", { class: "whisker" }), {
    left: at(value - doubt), width: `calc(${at(value + doubt)} - ${at(value - doubt)})`,
  });
  const shown = reading.normalize ? `${(100 * value).toFixed(1)}%` : number(value);
  return make("button", { type: "button", class: "weight", "data-topic": k, onclick: () => choose({ topic: k }) },
    swatch(k), said(topicName(k), "cut"),
    make("span", { class: "track" }, styled(make("span", { class: "bar-topic" }), { width: at(value), background: colour(k) }), whisker),
    make("span", { class: "amount" }, shown));
}

function weightList(sample) {
  const reading = report.readings[state.reading], values = weights(sample, reading);
  const topics = [...slice(report.samples.mixtures, "topics", sample)];
  const listed = topics.slice(0, MOST_WEIGHTS);
  const largest = Math.max(...listed.map((k) => values[k] + (deviation(sample, reading, values[k], k) || 0)), 1e-300);
  return [
    make("h4", {}, `Weights as ${reading.name} `, make("span", { class: "hint" }, reading.unit + (reading.bayesian && !reading.why_not ? " ± standard deviation" : ""))),
    make("div", { id: "weights" }, listed.map((k) => weightRow(sample, reading, values[k], largest, k)),
      topics.length > listed.length ? make("p", { class: "hint" }, `and ${topics.length - listed.length} smaller ${words.topics}`) : null,
      listed.length ? null : make("p", { class: "hint" }, `This ${words.sample} has no counts.`)),
  ];
}

const termChip = ({ term, count, topic }) => make("button", { type: "button", class: "chip", onclick: () => choose({ topic }) },
  swatch(topic), said(termName(term), "cut"), make("span", { class: "hint" }, number(count)));

async function drawSample(card, isStale) {
  const { sample } = state;
  const own = await distinctiveTerms(sample);
  const text = textArchive ? await coloredText(sample) : null;
  if (isStale()) return;
  card.classList.toggle("with-text", text !== null);
  card.replaceChildren(
    make("div", { class: "card-head" },
      make("h3", { id: "sample-name" }, said(nameOfSample(sample))),
      make("span", { class: "hint" }, `row ${report.samples.rows[sample]}, ${number(report.samples.totals[sample])} counts`)),
    make("div", { class: "fields" }, columns.map((column) => make("span", {}, said(column.name), ": ", make("b", {}, said(valueText(column, sample)))))),
    make("div", { class: "sample-parts" },
      make("div", { class: "sample-topics" }, make("div", { id: "sample-weights" }, weightList(sample)),
        make("h4", {}, `Distinctive ${words.terms} `, make("span", { class: "hint" }, `each with the ${words.topic} that explains most of it`)),
        make("div", { class: "chips", id: "own-terms" }, own.map(termChip))),
      text));
}

panels.push(() => {
  const card = byId("sample");
  let round = 0;
  watch(["sample", "texts"], () => {
    const mine = (round += 1);
    whileBusy(drawSample(card, () => mine !== round));
  });
  watch(["reading", "names"], () => byId("sample-weights")?.replaceChildren(...weightList(state.sample)));
  startSidecar();
});
