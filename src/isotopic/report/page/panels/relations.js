"use strict";
// How topics relate: a tree by their terms, and a square for each pair, in the order of the tree.

const MEASURES = {
  similarity: { label: "Similarity", told: `similarity of the ${words.terms}: 1 minus the Hellinger distance`, pairs: `Most similar ${words.topics}` },
  correlation: { label: "Correlation", told: `correlation of the shares over all ${words.samples}: blue if two ${words.topics} occur together, orange if one excludes the other`, pairs: `Most often together` },
};
const { relations } = report;
const related = {
  similarity: (a, b) => 1 - relations.distances[a * nTopics + b] / relations.steps,
  correlation: (a, b) => (2 * relations.correlations[a * nTopics + b]) / relations.steps - 1,
};
const TREE = { width: 150, names: 190, most: 22, least: 11, side: 560 };

/** The other topics that a topic relates to most, the largest value first. */
const mostRelated = (k, measure, n) => range(nTopics).filter((other) => other !== k)
  .map((other) => ({ topic: other, value: related[measure](k, other) })).sort((a, b) => b.value - a.value).slice(0, n);

function strongestPairs(measure, n) {
  const pairs = range(nTopics).flatMap((a) => range(a).map((b) => ({ a, b, value: related[measure](a, b) })));
  return pairs.sort((x, y) => y.value - x.value).slice(0, n);
}

/** The tree, its leaves `row` pixels apart, with names where they are legible. */
function drawTree(row, width, names) {
  const { order, first, second, height } = relations, lowest = 0.85 * Math.min(...height), span = Math.max(...height) - lowest || 1;
  const nodes = [];
  order.forEach((k, at) => { nodes[k] = { x: width, y: (at + 0.5) * row }; });
  const branches = height.map((value, i) => {
    const [a, b] = [nodes[first[i]], nodes[second[i]]], x = 3 + (width - 3) * (1 - (value - lowest) / span);
    nodes[nTopics + i] = { x, y: (a.y + b.y) / 2 };
    return makeSvg("path", { class: "branch", d: `M${a.x.toFixed(1)} ${a.y.toFixed(1)}H${x.toFixed(1)}V${b.y.toFixed(1)}H${b.x.toFixed(1)}` });
  });
  const leaves = !names ? [] : order.map((k, at) => {
    const text = [...`${k} ${topicName(k)}`], most = Math.floor(names / 6.9);
    return makeSvg("text", { class: "leaf", "data-topic": k, x: width + 6, y: (at + 0.5) * row, dy: "0.35em", onclick: () => choose({ topic: k }) },
      text.length > most ? `${text.slice(0, most - 1).join("")}…` : text.join(""));
  });
  const size = [width + names, nTopics * row];
  return makeSvg("svg", { viewBox: `0 0 ${size.join(" ")}`, width: size[0], height: size[1], role: "img", "aria-label": `Tree of the ${words.topics}` }, branches, leaves);
}

/** A pixel for each pair: blue for large values, orange for negative ones. */
function paintPairs(measure) {
  const { order } = relations, canvas = make("canvas", { width: nTopics, height: nTopics });
  const pen = canvas.getContext("2d"), picture = pen.createImageData(nTopics, nTopics);
  const dark = state.theme === "dark";
  const values = range(nTopics).flatMap((a) => range(a).map((b) => related[measure](a, b)));
  const least = measure === "similarity" ? values.reduce((low, value) => Math.min(low, value), 1) : 0; // correlations begin at zero
  const largest = values.reduce((high, value) => Math.max(high, Math.abs(value - least)), 1e-9);
  const [paper, blue, orange, self] = dark ? [[27, 30, 37], [118, 174, 234], [238, 136, 51], [65, 72, 87]] : [[255, 255, 255], [30, 90, 160], [238, 136, 51], [218, 215, 207]];
  order.forEach((a, row) => order.forEach((b, column) => {
    const value = related[measure](a, b) - least, part = Math.min(1, Math.abs(value) / largest), ink = value < 0 ? orange : blue;
    const shade = a === b ? self : paper.map((from, i) => Math.round(from + part * (ink[i] - from)));
    picture.data.set([...shade, 255], 4 * (row * nTopics + column));
  }));
  pen.putImageData(picture, 0, 0);
  return canvas;
}

/** Go from square to square with the arrow keys; Enter and the space bar do what a click does. `place` is [row, column] or null. */
function squareKeys(canvas, start, show, act) {
  let place = null;
  const go = (to) => { place = to; show(place); };
  canvas.addEventListener("keydown", (event) => {
    const [row, column] = place || start(), last = nTopics - 1;
    const steps = { ArrowDown: [row + 1, column], ArrowUp: [row - 1, column], ArrowRight: [row, column + 1], ArrowLeft: [row, column - 1], Home: [row, 0], End: [row, last] };
    if (event.key in steps) go(steps[event.key].map((at) => Math.max(0, Math.min(last, at))));
    else if ((event.key === "Enter" || event.key === " ") && place) act(place);
    else return;
    event.preventDefault();
  });
  canvas.addEventListener("blur", () => go(null));
}

const pairRow = ({ a, b, value }) => make("div", { class: "pair" }, topicChip(a), topicChip(b), make("span", { class: "amount" }, value.toFixed(2)));

panels.push(() => {
  const card = byId("relations"), canvas = byId("matrix");
  card.hidden = nTopics < 3;
  if (card.hidden) return;
  let row = 1, painted = null, square = null; // the square that the arrow keys are at
  const draw = () => {
    const ratio = devicePixelRatio || 1, side = row * nTopics, pen = canvas.getContext("2d");
    canvas.width = canvas.height = Math.round(side * ratio);
    styled(canvas, { width: `${side}px`, height: `${side}px` });
    pen.imageSmoothingEnabled = false;
    pen.drawImage(painted, 0, 0, canvas.width, canvas.height);
    pen.lineWidth = Math.max(1, 1.5 * ratio);
    if (square) {
      pen.strokeStyle = getComputedStyle(canvas).getPropertyValue("--bad").trim();
      pen.lineWidth *= 2;
      pen.strokeRect(square[1] * row * ratio, square[0] * row * ratio, row * ratio, row * ratio);
      pen.lineWidth /= 2;
    }
    if (state.topic === null) return;
    const at = relations.order.indexOf(state.topic) * row * ratio;
    pen.strokeStyle = getComputedStyle(canvas).color;
    pen.strokeRect(0, at, canvas.width, row * ratio);
    pen.strokeRect(at, 0, row * ratio, canvas.height);
  };
  const paint = () => { painted = paintPairs(state.measure); draw(); };
  const arrange = () => { // a section that is not seen has no width
    const room = card.querySelector(".relations").clientWidth || 900, tree = room < 600 ? 70 : TREE.width;
    const withNames = Math.min(TREE.most, (Math.min(TREE.side, room - tree - TREE.names - 20)) / nTopics);
    const names = withNames >= TREE.least ? TREE.names : 0;
    row = names ? withNames : Math.max(1, Math.min(TREE.most, Math.min(TREE.side, room - tree - 20) / nTopics));
    byId("tree").replaceChildren(drawTree(row, tree, names));
  };
  const under = (event) => {
    const { left, top, width } = canvas.getBoundingClientRect();
    const place = (from) => relations.order[Math.max(0, Math.min(nTopics - 1, Math.floor((from / width) * nTopics)))];
    return [place(event.clientY - top), place(event.clientX - left)];
  };
  segmented(byId("measure"), "measure", Object.entries(MEASURES).map(([value, { label: text }]) => ({ value, label: text })), state.measure, (measure) => choose({ measure }));
  canvas.addEventListener("click", (event) => choose({ topic: under(event)[0] }));
  const figures = (a, b) => (a === b ? [] : [`similarity ${related.similarity(a, b).toFixed(2)}, correlation ${related.correlation(a, b).toFixed(2)}`]);
  const tell = (event) => {
    const [a, b] = under(event);
    showTip(event, ...[...new Set([a, b])].map((k) => make("span", {}, swatch(k), said(topicName(k)))), ...figures(a, b));
  };
  canvas.addEventListener("pointermove", tell);
  const show = (place) => {
    square = place;
    draw();
    if (!place) { markSelected(canvas, null); hideTip(); return; }
    const [a, b] = place.map((at) => relations.order[at]), { left, top } = canvas.getBoundingClientRect();
    tell({ clientX: left + (place[1] + 0.5) * row, clientY: top + (place[0] + 0.5) * row });
    // What a canvas contains is not seen, but read aloud.
    const cell = make("div", { id: `square-${place.join("-")}`, role: "gridcell", "aria-colindex": place[1] + 1,
      "aria-label": [...[...new Set([a, b])].map((k) => `${words.Topic} ${k}: ${topicName(k)}`), ...figures(a, b)].join("; ") });
    canvas.replaceChildren(make("div", { role: "row", "aria-rowindex": place[0] + 1 }, cell));
    markSelected(canvas, cell);
  };
  squareKeys(canvas, () => Array(2).fill(Math.max(0, relations.order.indexOf(state.topic))), show, ([at]) => choose({ topic: relations.order[at] }));
  canvas.setAttribute("aria-rowcount", nTopics);
  canvas.setAttribute("aria-colcount", nTopics);
  canvas.addEventListener("pointerleave", hideTip);
  watch(["names"], () => { arrange(); });
  watch(["measure", "theme"], paint);
  watch(["topic"], draw);
  watch(["measure", "names"], () => {
    byId("relations-hint").textContent = `${MEASURES[state.measure].told}. The tree merges similar ${words.topics} first.`;
    byId("pairs-title").textContent = MEASURES[state.measure].pairs;
    byId("pairs").replaceChildren(...strongestPairs(state.measure, 8).map(pairRow));
  });
  let width = card.clientWidth;
  new ResizeObserver(() => { if (card.clientWidth !== width) { width = card.clientWidth; arrange(); draw(); } }).observe(card);
  offerDrawing(`Tree of the ${words.topics}`, "tree", () => byId("tree").querySelector("svg"));
  offerCanvas("Relations", "relations", () => canvas);
  offerTable("Relations", "relations", () => [`${words.topic} a`, `${words.topic} b`, "similarity", "correlation"],
    () => range(nTopics).flatMap((a) => range(a).map((b) => [b, a, related.similarity(a, b), related.correlation(a, b)])));
});
