"use strict";
// The terms of the selected topic, ordered by relevance; the slider sets lambda.

function termRow({ term, inTopic, overall }, largest) {
  const width = (value) => `${(100 * Math.min(1, value / largest)).toFixed(2)}%`;
  return make("div", {
    id: `term-${term}`, role: "option", "aria-selected": "false",
    onpointerenter: () => choose({ term }), onpointerleave: () => { hideTip(); choose({ term: null }); },
    onpointermove: (event) => showTip(event, said(termName(term), "term-name"),
      `${number(inTopic)} of ${number(overall)} counts belong to this topic`,
      whereabouts(term).sort((a, b) => b.share - a.share).slice(0, 4).map(({ topic, share }) => `topic ${topic}: ${percent(share)}`).join(", ")),
  },
  said(termName(term), "term-name"),
  make("span", { class: "track" },
    styled(make("span", { class: "bar-all" }), { width: width(overall) }),
    styled(make("span", { class: "bar-topic" }), { width: width(inTopic), background: colour(state.topic) })),
  make("span", { class: "amount" }, brief(inTopic)));
}

panels.push(() => {
  const slider = byId("lambda"), list = byId("terms");
  let terms = [];
  slider.value = state.lambda;
  slider.addEventListener("input", () => choose({ lambda: Number(slider.value) }));
  watch(["topic", "lambda"], () => {
    terms = relevantTerms(state.topic, state.lambda);
    const largest = Math.max(...terms.map(({ overall, inTopic }) => Math.max(overall, inTopic)), 1e-300);
    list.replaceChildren(...terms.map((row) => termRow(row, largest)));
    byId("lambda-value").textContent = `λ = ${state.lambda.toFixed(2)}`;
    slider.setAttribute("aria-valuetext", `lambda ${state.lambda.toFixed(2)}`);
  });
  listKeys(list, () => terms.map(({ term }) => term), () => state.term, (term) => choose({ term }));
  list.addEventListener("blur", () => choose({ term: null }));
  watch(["term"], () => markSelected(list, byId(`term-${state.term}`)));
  watch(["topic", "names"], () => {
    const given = givenName(state.topic);
    byId("terms-title").replaceChildren(swatch(state.topic), `Topic ${state.topic}`, ...(given ? [": ", said(given)] : []), make("span", { class: "hint" }, ` ${percent(share(state.topic))} of all counts`));
    styled(byId("key-topic"), { background: colour(state.topic) });
  });
});

/** The badge of a topic: its number on its colour. */
const swatch = (k) => styled(make("span", { class: "swatch", title: `Topic ${k}` }, String(k)), { background: colour(k), color: inkOn(k) });
