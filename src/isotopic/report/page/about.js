"use strict";
// Where the numbers come from: data, settings, what was left out, how to cite.

const definitions = (id, pairs) => byId(id).replaceChildren(
  ...pairs.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, said(String(value)))]));

function startAbout() {
  const { data, model, convergence } = report;
  byId("page-title").textContent = report.title;
  byId("subtitle").textContent = `${model.name} with ${nTopics} ${nTopics === 1 ? "topic" : "topics"}` +
    (data.fitted ? "" : ", reporting on other samples than those it was fitted to") +
    (convergence.converged ? ", converged." : ".");
  byId("facts").replaceChildren(...[
    ["samples", whole(data.samples)], ["features", whole(data.features)], ["counts", whole(data.counts)],
    ["nonzero", percent(data.density)], ["topics", nTopics], ["iterations", whole(convergence.iterations)],
  ].map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, String(value)))));

  definitions("data-table", [
    ["samples × features", `${whole(data.samples)} × ${whole(data.features)}`],
    ["counts in all", number(data.counts)],
    ["entries that are not zero", `${whole(data.nonzeros)} (${(100 * data.density).toPrecision(3)}%)`],
    ["missing entries", whole(data["missing entries"])],
    ["samples without counts", whole(data["empty samples"])],
    ["features never seen", whole(data["features never seen"])],
    ...Object.entries(data.totals).map(([name, value]) => [`counts of a sample, ${name}`, number(value)]),
  ]);
  definitions("parameter-table", [
    ["model", model.name], ["prior of the weights", model.weights], ["prior of the topics", model.topics],
    ...Object.entries(model.parameters), ["isotopic", model.version],
  ]);
  byId("left-out").replaceChildren(...report.left_out.map((text) => make("li", {}, text)));
  byId("cite").replaceChildren(...model.cite.map((entry) => make("pre", { tabindex: 0 }, entry)));
}
