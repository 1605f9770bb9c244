"use strict";
// The samples whose topics changed most, and the topics of one of them in each fit.

/** The topics of a sample on a side, the largest first. */
function mixture(side, sample) {
  const { width, topics, shares } = report.samples.sides[side];
  return range(width).map((i) => ({ topic: topics[sample * width + i], part: shares[sample * width + i] })).filter(({ part }) => part >= 0.01);
}

const hasTopic = (sample) => mixture(0, sample).some(({ topic, part }) => topic === state.a && part >= 0.1) || mixture(1, sample).some(({ topic, part }) => topic === state.b && part >= 0.1);

function sampleRow(sample) {
  const change = report.samples.changes[sample];
  return make("div", { id: `sample-${sample}`, class: "entry", role: "option", onclick: () => choose({ sample }) },
    said(report.samples.names[sample], "cut"),
    make("span", { class: "meter", "aria-hidden": "true" }, styled(make("span", {}), { width: `${100 * change}%`, background: "var(--accent)" })),
    make("span", { class: "amount" }, percent(change)));
}

function histogram() {
  const { bins } = report.samples, tallest = Math.max(...bins, 1), width = 100 / bins.length;
  return makeSvg("svg", { class: "histogram", viewBox: "0 0 100 40", preserveAspectRatio: "none", role: "img", "aria-label": `How much ${words.samples} changed: ${bins.map((n, i) => `${n} from ${5 * i}%`).join(", ")}` },
    bins.map((n, i) => makeSvg("rect", { x: i * width + 0.3, y: 40 - (38 * n) / tallest, width: width - 0.6, height: (38 * n) / tallest })));
}

function drawSample(sample) {
  const side = (i) => make("div", {}, make("h4", {}, said(fits[i].name)), mixture(i, sample).map(({ topic, part }) => shareRow(i, topic, part)));
  const text = report.samples.texts?.[sample];
  return [
    make("div", { class: "card-head" }, make("h3", { id: "sample-name" }, said(report.samples.names[sample])),
      make("span", { class: "hint" }, `row ${report.samples.rows[sample]}, ${number(report.samples.totals[sample])} counts, ${percent(report.samples.changes[sample])} changed`)),
    make("div", { class: "sides" }, side(0), side(1)),
    text ? make("div", { class: "excerpt", dir: "auto", tabindex: 0, role: "group", "aria-label": "Beginning of the text" }, text) : "",
  ];
}

panels.push(() => {
  const list = byId("results"), field = byId("search"), only = byId("with-topic");
  const { mean } = report.samples, n = report.common.samples;
  let found = [];
  byId("changed").replaceChildren(`On average ${percent(mean)} of a ${words.sample} has another ${words.topic}, counting partners as the same.`);
  byId("changed").after(histogram());
  field.addEventListener("input", () => choose({ query: field.value }));
  only.addEventListener("change", () => choose({ withTopic: only.checked }));
  const fillList = () => {
    if (field.value !== state.query && document.activeElement !== field) field.value = state.query;
    only.checked = state.withTopic;
    const asked = state.query.trim().toLowerCase();
    found = range(nSamples).filter((i) => report.samples.names[i].toLowerCase().includes(asked) && (!state.withTopic || hasTopic(i)));
    list.replaceChildren(...found.slice(0, 300).map(sampleRow));
    const most = found.length > 300 ? `the first 300 of ${whole(found.length)}` : whole(found.length);
    byId("found").textContent = found.length ? `${most} of ${whole(n)} ${words.samples}` : `No ${words.sample} here has this in its name${state.withTopic ? ` and at least 10% of a selected ${words.topic}` : ""}.`;
  };
  watch(["query", "withTopic"], fillList);
  watch(["a", "b"], () => { if (state.withTopic) fillList(); });
  listKeys(list, () => found.slice(0, 300), () => state.sample, (sample) => choose({ sample }));
  watch(["sample", "query", "withTopic", "a", "b"], () => {
    for (const row of list.children) row.setAttribute("aria-selected", row.id === `sample-${state.sample}`);
    reveal(list, byId(`sample-${state.sample}`));
  });
  watch(["sample"], () => byId("sample").replaceChildren(...drawSample(state.sample)));
  offerTable(`${words.Samples} that changed`, "changed", () => ["row", words.sample, "counts", "change", `main ${words.topic} of the first`, "share", `main ${words.topic} of the second`, "share"],
    () => range(nSamples).map((i) => {
      const [first, second] = [mixture(0, i)[0], mixture(1, i)[0]];
      return [report.samples.rows[i], report.samples.names[i], report.samples.totals[i], report.samples.changes[i], first?.topic ?? "", first?.part ?? "", second?.topic ?? "", second?.part ?? ""];
    }));
});
