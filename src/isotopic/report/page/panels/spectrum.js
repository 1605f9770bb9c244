"use strict";
// The selected topic as a spectrum of mutation types, in the order and colours of COSMIC.

const SPECTRUM = { height: 150, strip: 16, bottom: 14 };

/** Runs of equal neighbours: where they begin, and how long they are. */
function runs(values) {
  const found = [];
  values.forEach((value, i) => { if (i && found.at(-1).value === value) found.at(-1).length += 1; else found.push({ value, start: i, length: 1 }); });
  return found;
}

function inkOnHex(colour) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#000000" : "#ffffff";
}

function drawSpectrum(k, width) {
  const { labels: names, colours, classes, strips, features, shares } = report.spectrum, n = features.length;
  const { height, strip: top, bottom } = SPECTRUM, step = width / n, own = shares.subarray(k * n, (k + 1) * n);
  const tallest = Math.max(...own, 1e-12), floor = height - bottom;
  const blocks = runs(classes).map(({ value, start, length }) => makeSvg("g", {},
    makeSvg("rect", { x: start * step, y: 0, width: Math.max(1, length * step - 1.5), height: top, fill: strips[start] }),
    length * step > 7 * value.length ? makeSvg("text", { class: "spectrum-class", x: (start + length / 2) * step, y: top / 2, dy: "0.36em", fill: inkOnHex(strips[start]) }, value) : null));
  const bars = Array.from(own, (value, i) => {
    const size = (value / tallest) * (floor - top - 8);
    return makeSvg("rect", {
      class: "spectrum-bar", x: (i + 0.14) * step, y: floor - size, width: 0.72 * step, height: Math.max(0.4, size), fill: colours[i],
      onpointermove: (event) => showTip(event, make("b", {}, `${classes[i]} ${names[i]}`), percent(value)), onpointerleave: hideTip,
    });
  });
  return makeSvg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Spectrum of ${words.topic} ${k}; the tallest bar is ${percent(tallest)}` },
    blocks, bars, makeSvg("line", { class: "axis", x1: 0, x2: width, y1: floor, y2: floor }),
    makeSvg("text", { class: "tick", x: 0, y: height - 2 }, `tallest: ${percent(tallest)}`));
}

panels.push(() => {
  const place = byId("spectrum");
  if (report.spectrum === null) return;
  const draw = () => {
    place.hidden = state.topic === null;
    if (!place.hidden) place.replaceChildren(drawSpectrum(state.topic, Math.max(260, place.clientWidth)));
  };
  watch(["topic"], draw);
  let width = place.clientWidth;
  new ResizeObserver(() => { if (place.clientWidth !== width) { width = place.clientWidth; draw(); } }).observe(place);
  offerDrawing("Spectrum", "spectrum", () => place.querySelector("svg"));
});
