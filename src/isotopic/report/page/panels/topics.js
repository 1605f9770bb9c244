"use strict";
// The list of all topics, in a selectable order.

const ORDERS = {
  share: () => byShare,
  number: () => range(nTopics),
  terms: () => range(nTopics).sort((a, b) => topicName(a).localeCompare(topicName(b))),
};

function topicRow(k) {
  return make("div", { id: `topic-${k}`, class: "entry topic", role: "option", title: label(k, 10), onclick: () => choose({ topic: k }) },
    swatch(k), said(topicName(k), "cut"),
    make("span", { class: "meter", "aria-hidden": "true" }, styled(make("span", {}), { width: `${(100 * share(k)) / share(byShare[0])}%`, background: colour(k) })),
    make("span", { class: "amount" }, percent(share(k))));
}

panels.push(() => {
  const list = byId("topic-list");
  segmented(byId("sort"), "sort", [
    { value: "share", label: "Share" }, { value: "number", label: "Number" }, { value: "terms", label: "Terms" },
  ], state.sort, (sort) => choose({ sort }));
  listKeys(list, () => ORDERS[state.sort](), () => state.topic, (topic) => choose({ topic }));
  watch(["sort", "names"], () => list.replaceChildren(...ORDERS[state.sort]().map(topicRow)));
  watch(["topic", "sort", "names"], () => {
    list.setAttribute("aria-activedescendant", `topic-${state.topic}`);
    for (const row of list.children) row.setAttribute("aria-selected", row.id === `topic-${state.topic}`);
    reveal(list, byId(`topic-${state.topic}`));
  });
});
