"use strict";
// The map: topics at their distances; the area of a circle is the share of its topic.

const MANY = 15; // topics, beyond which the map gives clumps more room
const MAP = { width: 460, height: 470, margin: 12 };

/** Coordinates halfway to their ranks, if there are many: a clump of similar topics gets room. */
function spreadOut(values) {
  if (nTopics <= MANY) return values;
  const low = Math.min(...values), size = Math.max(...values) - low || 1, order = range(nTopics).sort((a, b) => values[a] - values[b]);
  const spaced = new Float64Array(nTopics);
  order.forEach((k, i) => { spaced[k] = low + 0.3 * (values[k] - low) + (0.7 * size * i) / (nTopics - 1); });
  return spaced;
}

/** Place the topics on the map, with the same scale for both axes. */
function mapPlaces() {
  const least = nTopics > 60 ? 7 : 8;
  const radius = range(nTopics).map((k) => Math.max(least, Math.min(60, Math.sqrt(share(k)) * Math.min(84, 24 * Math.sqrt(nTopics)))));
  const x = spreadOut(report.topics.x), y = spreadOut(report.topics.y);
  const reach = (values, size) => {
    const low = Math.min(...values), high = Math.max(...values);
    return { middle: (low + high) / 2, scale: (size / 2 - MAP.margin - Math.max(...radius)) / Math.max((high - low) / 2, 1e-9) };
  };
  const across = reach(x, MAP.width), down = reach(y, MAP.height);
  const scale = Math.min(across.scale, down.scale, 1e6);
  return apart(range(nTopics).map((k) => ({
    k, r: radius[k],
    x: MAP.width / 2 + (x[k] - across.middle) * scale,
    y: MAP.height / 2 - (y[k] - down.middle) * scale,
  })));
}

/** Move overlapping circles apart, step by step, until every number is legible. */
function apart(places) {
  for (let round = 0; round < 200; round += 1) {
    let moved = false;
    for (let i = 0; i < places.length; i += 1) for (let j = i + 1; j < places.length; j += 1) {
      const a = places[i], b = places[j], near = 0.95 * (a.r + b.r);
      const dx = b.x - a.x || 1e-3 * (a.k - b.k), dy = b.y - a.y;
      if (Math.abs(dx) >= near || Math.abs(dy) >= near) continue;
      const gap = Math.hypot(dx, dy);
      if (gap >= near) continue;
      const step = (near - gap) / (4 * gap);
      a.x -= dx * step; a.y -= dy * step;
      b.x += dx * step; b.y += dy * step;
      moved = true;
    }
    for (const place of places) {
      place.x = Math.max(place.r + 2, Math.min(MAP.width - place.r - 2, place.x));
      place.y = Math.max(place.r + 2, Math.min(MAP.height - place.r - 2, place.y));
    }
    if (!moved) break;
  }
  return places;
}

/** Write a distinctive term next to each circle where there is room, largest topics first. */
function mapLabels(places) {
  const taken = places.map(({ x, y, r }) => ({ left: x - r, right: x + r, top: y - r, bottom: y + r }));
  const labels = [];
  for (const { k, x, y, r } of [...places].sort((a, b) => b.r - a.r)) {
    const [first] = relevantTerms(k, 0.3);
    const text = [...(givenName(k) || (first ? termName(first.term) : ""))].slice(0, givenName(k) ? 24 : 14).join("");
    const width = 6.2 * [...text].length, height = 13;
    const spots = [[x, y + r + 8], [x, y - r - 8], [x + r + 4 + width / 2, y], [x - r - 4 - width / 2, y]];
    const boxes = spots.map(([cx, cy]) => ({ cx, cy, left: cx - width / 2, right: cx + width / 2, top: cy - height / 2, bottom: cy + height / 2 }));
    const free = boxes.find((box) => box.left > 0 && box.right < MAP.width && box.top > 0 && box.bottom < MAP.height
      && taken.every((other) => box.right < other.left || box.left > other.right || box.bottom < other.top || box.top > other.bottom));
    if (!free) continue;
    taken.push(free);
    labels.push(makeSvg("text", { x: free.cx, y: free.cy, dy: "0.35em", class: "map-label", "aria-hidden": "true" }, text));
  }
  return labels;
}

/** A topic to select, with a number that says how it relates to the selected one. */
const topicChip = (k, value) => make("button", { type: "button", class: "chip", title: topicName(k), onclick: () => choose({ topic: k }) },
  swatch(k), said(givenName(k) || label(k, 2), "cut"), value === undefined ? null : make("span", { class: "hint" }, value.toFixed(2)));

panels.push(() => {
  const places = mapPlaces();
  const circles = [];
  const marks = [...places].sort((a, b) => b.r - a.r).map(({ k, x, y, r }) => {
    const circle = makeSvg("circle", { cx: x, cy: y, r, fill: colour(k), stroke: colour(k) });
    const group = makeSvg("g", {
      id: `map-${k}`, class: "place", role: "option", "aria-selected": "false", onclick: () => choose({ topic: k }),
      onpointermove: (event) => showTip(event, make("b", {}, `${words.Topic} ${k} · ${percent(share(k))}`), said(topicName(k))),
      onpointerleave: hideTip,
    }, circle, makeSvg("text", { x, y, dy: "0.35em", class: r < 9 ? "tiny" : null }, String(k)));
    circles[k] = { circle, group, r };
    return group;
  });
  const axes = [
    makeSvg("line", { x1: 0, x2: MAP.width, y1: MAP.height / 2, y2: MAP.height / 2, class: "axis" }),
    makeSvg("line", { x1: MAP.width / 2, x2: MAP.width / 2, y1: 0, y2: MAP.height, class: "axis" }),
  ];
  const svg = makeSvg("svg", {
    viewBox: `0 0 ${MAP.width} ${MAP.height}`, role: "listbox", tabindex: 0, "aria-labelledby": "map-title",
  }, axes, marks);
  byId("map").append(svg);
  listKeys(svg, () => byShare, () => state.topic, (topic) => choose({ topic }));
  byId("map-note").textContent =
    `Hellinger distances between ${words.topics}, projected to two dimensions that keep ${percent(report.topics.shown)} of the squared distances. ${nTopics > MANY ? "Places are moved towards their ranks, so that clumps have room. " : ""}Overlapping circles are moved apart. The area of a circle is the share of the ${words.topic}.`;

  let written = [];
  watch(["names"], () => {
    for (const label of written) label.remove();
    written = mapLabels(places);
    svg.insertBefore(makeSvg("g", {}, written), marks[0]);
    circles.forEach(({ group }, k) => group.setAttribute("aria-label", `${words.Topic} ${k}, ${percent(share(k))}: ${topicName(k)}`));
  });
  watch(["topic", "names"], () => {
    markSelected(svg, byId(`map-${state.topic}`));
    byId("map-topic").hidden = state.topic === null;
    if (state.topic === null) return;
    const { near, near_distances: far } = report.topics;
    byId("near").replaceChildren(...near[state.topic].map((k, i) => topicChip(k, far[state.topic][i])));
    const together = mostRelated(state.topic, "correlation", 4).filter(({ value }) => value >= 0.01);
    byId("together").replaceChildren(...(together.length ? together.map(({ topic, value }) => topicChip(topic, value))
      : [make("span", { class: "hint" }, `No other ${words.topic} occurs more often beside this one.`)]));
    byId("best").replaceChildren(...report.samples.best[state.topic].map((sample, i) =>
      make("button", { type: "button", class: "chip", onclick: () => visit(sample) },
        said(nameOfSample(sample), "cut"), make("span", { class: "hint" }, percent(report.samples.best_proportions[state.topic][i])))));
  });
  watch(["term"], () => {
    const found = state.term === null ? null : whereabouts(state.term);
    const largest = Math.sqrt(Math.max(...report.topics.counts) / explained);
    byId("map-hint").replaceChildren(...(found ? [`${words.topics} of `, said(termName(state.term), "term-name")] : []));
    svg.classList.toggle("term", found !== null);
    circles.forEach(({ circle, r }, k) => {
      const part = found ? (found.find(({ topic }) => topic === k) || { share: 0 }).share : null;
      // While a term is shown, the area is the topic's share of it, on the scale of the largest topic.
      const size = part === null ? r : Math.sqrt(part) * Math.max(...circles.map((c) => c.r)) / Math.max(largest, 0.45);
      circle.setAttribute("r", size.toFixed(2));
    });
  });
});
