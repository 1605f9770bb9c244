"use strict";
// How the weights depend on the covariates of the samples: coefficients with intervals, around zero.

const MOST_EFFECTS = 12; // of all topics together

/** The effects of the covariates, without the intercept: all, or those of one topic. */
const effectsOf = (found, topic) => range(found.coefficient.length)
  .map((at) => ({ at, covariate: Math.floor(at / nTopics), topic: at % nTopics }))
  .filter((effect) => effect.covariate > 0 && (topic === null || effect.topic === topic));

/** The effects whose intervals are farthest from zero in relation to their width, the clearest first. */
function clearestEffects(found) {
  const clarity = ({ at }) => Math.abs(found.coefficient[at]) / found.se[at];
  return effectsOf(found, null).sort((a, b) => clarity(b) - clarity(a) || a.at - b.at).slice(0, MOST_EFFECTS);
}

const figureText = (value) => (value === 0 ? "0" : value.toPrecision(3).replace(/^-/, "−"));

/** A dot for the estimate and a bar for the interval; zero is in the middle. */
function effectBar(found, { at, covariate, topic }) {
  const place = (value) => 50 + 48 * (value / (found.reach[covariate] || 1));
  const left = place(found.lower[at]), background = colour(topic);
  return make("div", { class: "effect", "aria-hidden": "true" },
    make("span", { class: "effect-zero" }),
    styled(make("span", { class: "effect-interval" }), { left: `${left}%`, width: `${place(found.upper[at]) - left}%`, background }),
    styled(make("span", { class: "effect-dot" }), { left: `${place(found.coefficient[at])}%`, background }));
}

function effectRow(found, effect) {
  const { at, covariate, topic } = effect;
  const chip = state.topic !== null ? null : make("td", { class: "effect-topic" }, make("button", {
    type: "button", class: "chip", onclick: () => choose({ topic }),
  }, swatch(topic), said(topicName(topic), "cut")));
  return make("tr", {}, make("th", { scope: "row" }, said(found.names[covariate])), chip,
    make("td", { class: "effect-cell" }, effectBar(found, effect)),
    make("td", { class: "figure" }, figureText(found.coefficient[at])),
    make("td", { class: "figure" }, `${figureText(found.lower[at])} to ${figureText(found.upper[at])}`));
}

panels.push(() => {
  const found = report.effects;
  if (!found || found.names.length < 2) return;
  byId("effects").hidden = false;
  byId("effects-interval").textContent = `${percent(found.level)} interval`;
  watch(["topic", "names", "theme"], () => {
    const k = state.topic, shown = k === null ? clearestEffects(found) : effectsOf(found, k);
    byId("effects-title").replaceChildren(...(k === null ? [`Effects of covariates on all ${words.topics}`]
      : [swatch(k), `Effects of covariates on ${words.topic} ${k}${givenName(k) ? ": " : ""}`, givenName(k) ? said(givenName(k)) : ""]));
    byId("effects-topic").hidden = k !== null;
    byId("effects-rows").replaceChildren(...shown.map((effect) => effectRow(found, effect)));
    const all = effectsOf(found, null).length;
    byId("effects-note").textContent = `A coefficient is what one unit of the covariate adds to the logarithm of the prior concentration (or shape) of the ${words.topic}. `
      + `A bar is its ${percent(found.level)} interval, and the line in the middle is zero. Covariates of zeros and ones share one scale; each other covariate has its own.`
      + (k === null && shown.length < all ? ` These are the ${shown.length} clearest of ${whole(all)}: the largest in relation to their standard errors.` : "");
  });
  offerTable("Effects of covariates", "effects", () => ["covariate", words.topic, "name", "coefficient", "se", "lower", "upper"],
    () => range(found.coefficient.length).map((at) => [found.names[Math.floor(at / nTopics)], at % nTopics, topicName(at % nTopics),
      ...["coefficient", "se", "lower", "upper"].map((name) => found[name][at])]));
});
