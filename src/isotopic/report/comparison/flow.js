"use strict";
// The bands between the topics of two fits, and the list of all pairs.

const WIDTH = 900, LEFT = 300, RIGHT = 600, BOX = 14, GAP = 7, LEAST = 15, TOP = 28;

/** Where each topic of a side stands: its height is its part of the counts. */
function columnPlaces(side, scale) {
  const rows = [];
  let y = TOP;
  for (const k of orders[side]) {
    const total = range(nTopics[1 - side]).reduce((sum, i) => sum + (side === 0 ? moved(k, i) : moved(i, k)), 0);
    const height = Math.max(LEAST, (total / allMoved) * scale);
    rows[k] = { y, height, unit: total > 0 ? height / total : 0, used: 0 };
    y += height + GAP;
  }
  return { rows, end: y };
}

function ribbon(from, to, count, k, j) {
  const [h0, h1] = [count * from.unit, count * to.unit];
  const [y0, y1] = [from.y + from.used, to.y + to.used];
  from.used += h0;
  to.used += h1;
  const [x0, x1, middle] = [LEFT + BOX, RIGHT - BOX, (LEFT + RIGHT) / 2];
  const path = `M${x0} ${y0} C${middle} ${y0} ${middle} ${y1} ${x1} ${y1} L${x1} ${y1 + h1} C${middle} ${y1 + h1} ${middle} ${y0 + h0} ${x0} ${y0 + h0} Z`;
  return makeSvg("path", {
    class: "ribbon", d: path, fill: colour(0, k), "data-a": k, "data-b": j,
    onclick: () => choose({ a: k, b: j }),
    onpointermove: (event) => showTip(event, `${words.topic} ${k} and ${words.topic} ${j}: ${percent(count / allMoved)} of all counts`),
    onpointerleave: hideTip,
  });
}

function topicNode(side, k, { y, height }) {
  const x = side === 0 ? LEFT : RIGHT - BOX, at = side === 0 ? LEFT - 8 : RIGHT + 8, anchor = side === 0 ? "end" : "start";
  const name = topicName(side, k), short = name.length > 34 ? `${name.slice(0, 33)}…` : name;
  const pick = () => select(side, k);
  return makeSvg("g", {
    class: "node", id: `node-${side}-${k}`, role: "button", tabindex: 0, onclick: pick,
    "aria-label": `${fits[side].name}, ${words.topic} ${k}: ${name}, ${percent(share(side, k))}`,
    onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(); } },
  },
  makeSvg("rect", { x, y, width: BOX, height, rx: 3, fill: colour(side, k) }),
  makeSvg("text", { x: at, y: y + height / 2 + 4, "text-anchor": anchor }, side === 0 ? `${short}  ` : "",
    makeSvg("tspan", { class: "count" }, `${k} `), side === 0 ? "" : `  ${short}`));
}

function drawFlow() {
  const scale = Math.max(360, 17 * Math.max(...nTopics));
  const [left, right] = [columnPlaces(0, scale), columnPlaces(1, scale)];
  const ribbons = [];
  for (const k of orders[0]) for (const j of orders[1]) {
    const count = moved(k, j), from = left.rows[k], to = right.rows[j];
    // Thin ones would be a grey haze; they keep their room.
    if (count * Math.max(from.unit, to.unit) >= 1) ribbons.push(ribbon(from, to, count, k, j));
    else { from.used += count * from.unit; to.used += count * to.unit; }
  }
  const head = (side, x, anchor) => makeSvg("text", { class: "head", x, y: 14, "text-anchor": anchor }, fits[side].name);
  return makeSvg("svg", { viewBox: `0 0 ${WIDTH} ${Math.max(left.end, right.end)}`, role: "group", "aria-labelledby": "flow-title" },
    head(0, LEFT + BOX, "end"), head(1, RIGHT - BOX, "start"), ribbons,
    orders[0].map((k) => topicNode(0, k, left.rows[k])), orders[1].map((j) => topicNode(1, j, right.rows[j])));
}

function pairRow(pair) {
  const [k, j] = pair.topics, alike = likeness(pair);
  const one = (side, topic) => make("span", { class: "cut" }, topic < 0 ? make("span", { class: "hint" }, "no partner") : [swatch(side, topic), said(topicName(side, topic))]);
  return make("div", {
    id: `pair-${pair.id}`, class: "entry pair", role: "option",
    onclick: () => (k < 0 ? select(1, j) : select(0, k)),
  }, one(0, k),
  make("span", { class: "meter", "aria-hidden": "true" }, styled(make("span", {}), { width: `${100 * Math.max(0, alike)}%`, background: "var(--accent)" })),
  make("span", { class: "amount", title: "cosine similarity" }, alike < 0 ? "–" : alike.toFixed(2)), one(1, j));
}

panels.push(() => {
  const list = byId("pairs");
  byId("flow").replaceChildren(drawFlow());
  byId("flow-hint").textContent = `${percent(report.stays)} of the counts are in the partner of their ${words.topic}` + (report.looked_at < 1 ? `; from every ${Math.round(1 / report.looked_at)}th ${words.sample}` : "");
  const sorted = () => (state.sort === "share" ? pairs : [...pairs].sort((x, y) => likeness(x) - likeness(y)));
  segmented(byId("sort"), "sort", [{ value: "share", label: "Share" }, { value: "similarity", label: "Least similar" }], state.sort, (sort) => choose({ sort }));
  watch(["sort"], () => list.replaceChildren(...sorted().map(pairRow)));
  const current = () => pairs.find(({ topics: [k, j] }) => (k === state.a && (j === state.b || j < 0)) || (k < 0 && j === state.b))?.id;
  listKeys(list, () => sorted().map(({ id }) => id), current, (id) => {
    const [k, j] = pairs.find((pair) => pair.id === id).topics;
    if (k < 0) select(1, j); else select(0, k);
  });
  watch(["a", "b", "sort"], () => {
    for (const row of list.children) row.setAttribute("aria-selected", row.id === `pair-${current()}`);
    reveal(list, byId(`pair-${current()}`));
    for (const node of document.querySelectorAll(".flow .node")) node.classList.toggle("chosen", node.id === `node-0-${state.a}` || node.id === `node-1-${state.b}`);
    for (const path of document.querySelectorAll(".flow .ribbon")) {
      const isOwn = Number(path.dataset.a) === state.a || Number(path.dataset.b) === state.b;
      path.classList.toggle("strong", isOwn);
      path.classList.toggle("weak", !isOwn);
    }
  });
  offerTable("Pairs", "pairs", () => [`first ${words.topic}`, "name", `second ${words.topic}`, "name", "similarity", "first share", "second share", "counts in both"],
    () => pairs.map(({ topics: [k, j] }) => [k < 0 ? "" : k, k < 0 ? "" : topicName(0, k), j < 0 ? "" : j, j < 0 ? "" : topicName(1, j),
      k < 0 || j < 0 ? "" : similarity(k, j), k < 0 ? "" : share(0, k), j < 0 ? "" : share(1, j), k < 0 || j < 0 ? "" : moved(k, j)]));
  offerTable("What moved", "moved", () => [`first ${words.topic}`, `second ${words.topic}`, "counts in both", "similarity"],
    () => range(nTopics[0]).flatMap((k) => range(nTopics[1]).map((j) => [k, j, moved(k, j), similarity(k, j)])));
  offerDrawing("What moved", "moved", () => byId("flow").querySelector("svg"));
});
