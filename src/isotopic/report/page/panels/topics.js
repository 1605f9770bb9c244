"use strict";
// The list of all topics, in a selectable order.

const ORDERS = {
  share: () => byShare,
  number: () => range(nTopics),
  similar: () => report.relations.order,
  terms: () => range(nTopics).sort((a, b) => topicName(a).localeCompare(topicName(b))),
};

function topicRow(k) {
  return make("div", { id: `topic-${k}`, class: "entry topic", role: "option", "aria-selected": "false", title: label(k, 10), onclick: () => choose({ topic: k }) },
    swatch(k), said(topicName(k), "cut"),
    make("span", { class: "meter", "aria-hidden": "true" }, styled(make("span", {}), { width: `${(100 * share(k)) / share(byShare[0])}%`, background: colour(k) })),
    make("span", { class: "amount" }, percent(share(k))));
}

/** The topics in their order whose number, name or terms contain what was asked for. */
function listedTopics() {
  const asked = state.topicQuery.trim().toLowerCase();
  const told = (k) => `${k} ${topicName(k)} ${label(k, 25)}`.toLowerCase();
  return ORDERS[state.sort]().filter((k) => !asked || told(k).includes(asked));
}

panels.push(() => {
  const list = byId("topic-list"), field = byId("topic-search");
  field.hidden = nTopics < 12;
  field.value = state.topicQuery;
  field.addEventListener("input", () => choose({ topicQuery: field.value }));
  segmented(byId("sort"), "sort", [
    { value: "share", label: "Share" }, { value: "number", label: "Number" }, { value: "similar", label: "Similar", title: "In the order of a tree: neighbours are similar" }, { value: "terms", label: words.Terms },
  ], state.sort, (sort) => choose({ sort }));
  const overview = byId("overview");
  overview.addEventListener("click", () => choose({ topic: null }));
  list.addEventListener("keydown", (event) => { if (event.key === "Escape") choose({ topic: null }); });
  watch(["topic"], () => overview.setAttribute("aria-pressed", state.topic === null));
  listKeys(list, listedTopics, () => state.topic, (topic) => choose({ topic }));
  watch(["sort", "names", "topicQuery"], () => {
    const topics = listedTopics();
    list.replaceChildren(...topics.map(topicRow));
    byId("topics-found").textContent = topics.length === nTopics ? "" : topics.length ? `${topics.length} of ${nTopics} ${words.topics}` : `No ${words.topic} has this in its name or ${words.terms}.`;
  });
  watch(["topic", "sort", "names", "topicQuery"], () => {
    markSelected(list, byId(`topic-${state.topic}`));
    reveal(list, byId(`topic-${state.topic}`));
  });
});
