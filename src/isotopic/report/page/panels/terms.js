"use strict";
// The terms of the selected topic, ordered by relevance; the slider sets lambda.

function termRow({ term, inTopic, overall, topic }, largest) {
  const width = (value) => `${(100 * Math.min(1, value / largest)).toFixed(2)}%`;
  return make("div", {
    id: `term-${term}`, role: "option", "aria-selected": "false", onclick: () => choose({ topic }),
    onpointerenter: () => choose({ term }), onpointerleave: () => { hideTip(); choose({ term: null }); },
    onpointermove: (event) => showTip(event, said(termName(term), "term-name"),
      `${number(inTopic)} of ${number(overall)} counts belong to ${words.topic} ${topic}`,
      whereabouts(term).sort((a, b) => b.share - a.share).slice(0, 4).map(({ topic: k, share }) => `${words.topic} ${k}: ${percent(share)}`).join(", ")),
  },
  said(termName(term), "term-name"),
  make("span", { class: "track" },
    styled(make("span", { class: "bar-all" }), { width: width(overall) }),
    styled(make("span", { class: "bar-topic" }), { width: width(inTopic), background: colour(topic) })),
  make("span", { class: "amount" }, brief(inTopic)));
}

panels.push(() => {
  const slider = byId("lambda"), list = byId("terms");
  let terms = [];
  slider.value = state.lambda;
  slider.addEventListener("input", () => choose({ lambda: Number(slider.value) }));
  watch(["topic", "lambda"], () => {
    terms = state.topic === null ? salientTerms() : relevantTerms(state.topic, state.lambda);
    byId("slider").hidden = state.topic === null;
    const largest = Math.max(...terms.map(({ overall, inTopic }) => Math.max(overall, inTopic)), 1e-300);
    list.replaceChildren(...terms.map((row) => termRow(row, largest)));
    byId("lambda-value").textContent = `λ = ${state.lambda.toFixed(2)}`;
    slider.setAttribute("aria-valuetext", `lambda ${state.lambda.toFixed(2)}`);
  });
  listKeys(list, () => terms.map(({ term }) => term), () => state.term, (term) => choose({ term }));
  list.addEventListener("blur", () => choose({ term: null }));
  watch(["term"], () => markSelected(list, byId(`term-${state.term}`)));
  watch(["topic", "names"], () => {
    const isAll = state.topic === null, given = isAll ? "" : givenName(state.topic);
    byId("key-topic-name").textContent = `count in ${isAll ? `the main ${words.topic}` : `this ${words.topic}`}`;
    byId("lambda-note").textContent = isAll ? `Ordered by saliency: frequent ${words.terms} that tell the ${words.topics} apart. Click one for its main ${words.topic}.`
      : `Ordered by λ log p(${words.term} | ${words.topic}) + (1 − λ) log lift.`;
    styled(byId("key-topic"), { background: isAll ? "var(--accent)" : colour(state.topic) });
    if (isAll) byId("terms-title").replaceChildren(`${words.Terms} of all ${words.topics}`);
    else byId("terms-title").replaceChildren(swatch(state.topic), `${words.Topic} ${state.topic}`, ...(given ? [": ", said(given)] : []), make("span", { class: "hint" }, ` ${percent(share(state.topic))} of all counts`));
  });
});

/** The badge of a topic: its number on its colour. */
const swatch = (k) => styled(make("span", { class: "swatch", title: `${words.Topic} ${k}` }, String(k)), { background: colour(k), color: inkOn(k) });
