"use strict";
// The switch between NMF, PLSA, LDA and Gamma-Poisson weights of the same fit.

function formula(reading) {
  const n = make("i", {}, "n"), w = make("i", {}, "w");
  const index = (what) => make("sub", {}, what);
  const parts = { NMF: [" = ", n, index("dk")],
    PLSA: [" = ", n, index("dk"), " ∕ Σ", index("j"), " ", n.cloneNode(true), index("dj")],
    LDA: [" = (α", index("k"), " + ", n, index("dk"), ") ∕ Σ", index("j"), " (α", index("j"), " + ", n.cloneNode(true), index("dj"), ")"],
    "Gamma-Poisson": [" = (shape", index("k"), " + ", n, index("dk"), ") ∕ (1 + rate", index("k"), ")"] };
  return [w, index("dk"), ...parts[reading.name], make("span", { class: "hint" }, reading.setting ? `   with ${reading.setting}` : ""),
    make("span", { class: "hint" }, "   where "), make("i", {}, "n"), index("dk"), make("span", { class: "hint" }, ` is the number of counts of ${words.sample} d that ${words.topic} k explains`)];
}

panels.push(() => {
  segmented(byId("readings"), "reading", report.readings.map((reading, i) => ({ value: i, label: reading.name })),
    state.reading, (reading) => choose({ reading }));
  watch(["reading"], () => {
    const reading = report.readings[state.reading];
    const badge = byId("exact");
    badge.textContent = reading.own ? "the fitted model" : reading.why_not ? "not equivalent" : "exactly equivalent";
    badge.className = `badge ${reading.why_not ? "no" : "yes"}`;
    byId("meaning").textContent = reading.meaning + (reading.why_not
      ? ` This is not an exact conversion of the fit: ${reading.why_not}. The weights shown are where a fit of ${reading.name} would start (init=model), not its optimum.`
      : reading.own ? (reading.note ? ` What is shown differs a little from the fit: ${reading.note}.` : "") : " The conversion is exact: this is the same fit with its weights on another scale.");
    byId("formula").replaceChildren(...formula(reading));
  });
});
