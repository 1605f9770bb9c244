"use strict";
// Two topics side by side: their terms, and where else the counts of each are.

const MOST_TERMS = 24;
const termShare = (side, k, term) => report.tables[side][k * terms.names.length + term];

function termRow(term, largest) {
  const [first, second] = [termShare(0, state.a, term), termShare(1, state.b, term)];
  const bar = (side, value) => styled(make("span", { class: "bar" }), { width: `${(100 * value) / largest}%`, background: colour(side, side === 0 ? state.a : state.b) });
  const isOnly = Math.min(first, second) < 0.1 * Math.max(first, second);
  return make("div", { class: isOnly ? "both only" : "both", title: `${percent(first)} and ${percent(second)}` },
    make("span", { class: "left" }, bar(0, first)), said(terms.names[term], "term-name"), make("span", {}, bar(1, second)));
}

/** The other topics that have counts of a topic, the largest part first. */
function elsewhere(side, k) {
  const others = range(nTopics[1 - side]), count = (i) => (side === 0 ? moved(k, i) : moved(i, k));
  const total = others.reduce((sum, i) => sum + count(i), 0) || 1;
  return others.map((i) => ({ topic: i, part: count(i) / total })).sort((x, y) => y.part - x.part).filter(({ part }) => part >= 0.01).slice(0, 6);
}

const shareRow = (side, k, part) => make("button", { type: "button", class: "share", onclick: () => select(side, k) },
  swatch(side, k), said(topicName(side, k), "cut"), make("span", { class: "amount" }, percent(part)));

panels.push(() => {
  watch(["a", "b"], () => {
    const { a, b } = state;
    const listed = [...new Set([...terms.listed[0][a], ...terms.listed[1][b]])]
      .sort((x, y) => Math.max(termShare(0, a, y), termShare(1, b, y)) - Math.max(termShare(0, a, x), termShare(1, b, x)));
    listed.splice(MOST_TERMS);
    const largest = Math.max(...listed.map((term) => Math.max(termShare(0, a, term), termShare(1, b, term))), 1e-300);
    const pick = (side, k) => make("div", {}, make("p", { class: "hint" }, said(fits[side].name)), make("h3", { id: `chosen-${side}` }, swatch(side, k), said(topicName(side, k), "cut")),
      make("p", { class: "hint" }, `${percent(share(side, k))} of the counts`));
    byId("pair").replaceChildren(
      make("div", { class: "picks" }, pick(0, a), pick(1, b)),
      make("p", { class: "hint", id: "likeness" }, `Similarity ${similarity(a, b).toFixed(2)}` + (partners[a] === b ? ": these two are partners." : "; they are not partners.") + ` Bold ${words.terms}: nearly only in one.`),
      make("div", { id: "both-terms" }, listed.map((term) => termRow(term, largest))),
      make("div", { class: "sides" },
        make("div", {}, make("h4", {}, `Where the counts of ${words.topic} ${a} are`), elsewhere(0, a).map(({ topic, part }) => shareRow(1, topic, part))),
        make("div", {}, make("h4", {}, `Where the counts of ${words.topic} ${b} were`), elsewhere(1, b).map(({ topic, part }) => shareRow(0, topic, part)))));
  });
});
