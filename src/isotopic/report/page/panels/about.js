"use strict";
// The heading, and the section About: data, parameters, what was left out, how to cite.

const definitions = (id, pairs) => byId(id).replaceChildren(
  ...pairs.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, said(String(value)))]));

panels.push(() => {
  const { data, model, convergence } = report;
  byId("page-title").textContent = report.title;
  byId("subtitle").textContent = `${model.name} with ${nTopics} ${nTopics === 1 ? words.topic : words.topics}` +
    (data.fitted ? "" : `, applied to ${words.samples} it was not fitted to`) +
    (convergence.converged ? ", converged." : ".");
  byId("facts").replaceChildren(...[
    [words.samples, whole(data.samples)], [words.terms, whole(data.features)], ["counts", whole(data.counts)],
    ["nonzero", percent(data.density)], [words.topics, nTopics], ["iterations", whole(convergence.iterations)],
  ].map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, String(value)))));

  definitions("data-table", [
    [`${words.samples} × ${words.terms}`, `${whole(data.samples)} × ${whole(data.features)}`],
    ["sum of all counts", number(data.counts)],
    ["nonzero entries", `${whole(data.nonzeros)} (${(100 * data.density).toPrecision(3)}%)`],
    ["missing entries", whole(data["missing entries"])],
    [`${words.samples} without counts`, whole(data["empty samples"])],
    [`${words.terms} without counts`, whole(data["features never seen"])],
    ...Object.entries(data.totals).map(([name, value]) => [`counts per ${words.sample}, ${name}`, number(value)]),
  ]);
  definitions("parameter-table", [
    ["model", model.name], ["prior of the weights", model.weights], [`prior of the ${words.topics}`, model.topics],
    ...Object.entries(model.parameters), ["isotopic", model.version],
  ]);
  byId("left-out").replaceChildren(...report.left_out.map((text) => make("li", {}, text)));
  byId("cite").replaceChildren(...model.cite.map((entry) => make("pre", { tabindex: 0 }, entry)));
});
