"use strict";
// The structure plot: every sample a column of its topics. A canvas, for there may be thousands.

const STRUCTURE_HEIGHT = 220;
const spread = range(nSamples).filter((sample) => report.samples.spread[sample]);

/** The samples in order: as given, or by their main topic and how much they have of it. */
function structureOrder(order) {
  if (order === "given") return spread;
  const most = (sample) => shares[sample][mainTopic[sample]];
  return [...spread].sort((a, b) => rank[mainTopic[a]] - rank[mainTopic[b]] || most(b) - most(a) || a - b);
}

/** A row of weights for each column of pixels: the mean of the samples that fall into it. */
function structureColumns(order, reading, width) {
  const n = Math.min(width, order.length);
  return range(n).map((column) => {
    const from = Math.floor((column * order.length) / n);
    const to = Math.max(from + 1, Math.floor(((column + 1) * order.length) / n));
    const sum = new Float64Array(nTopics);
    for (let i = from; i < to; i += 1) weights(order[i], reading).forEach((value, k) => { sum[k] += value; });
    return sum.map((value) => value / (to - from));
  });
}

function drawStructure(canvas, columns, order) {
  const ratio = devicePixelRatio || 1;
  const width = Math.round(canvas.clientWidth * ratio), height = Math.round(STRUCTURE_HEIGHT * ratio);
  canvas.width = width;
  canvas.height = height;
  const pen = canvas.getContext("2d");
  const tallest = Math.max(...columns.map((row) => row.reduce((a, b) => a + b, 0)), 1e-300);
  const inks = range(nTopics).map((k) => (k === state.topic ? colour(k) : faded(k, state.theme)));
  columns.forEach((row, column) => {
    const left = Math.round((column * width) / columns.length);
    const right = Math.round(((column + 1) * width) / columns.length);
    let sum = 0;
    for (const k of byShare) {
      const bottom = height - Math.round((sum / tallest) * height);
      sum += row[k];
      const top = height - Math.round((sum / tallest) * height);
      pen.fillStyle = inks[k];
      pen.fillRect(left, top, right - left, bottom - top);
    }
  });
  const at = order.indexOf(state.sample);
  if (at >= 0) drawMarker(pen, ((at + 0.5) * width) / order.length, height, ratio, getComputedStyle(canvas).color);
}

function drawMarker(pen, x, height, ratio, ink) {
  pen.fillStyle = ink;
  pen.fillRect(x - 0.75 * ratio, 0, 1.5 * ratio, height);
  pen.beginPath();
  pen.moveTo(x - 6 * ratio, 0);
  pen.lineTo(x + 6 * ratio, 0);
  pen.lineTo(x, 9 * ratio);
  pen.fill();
}

function startStructure() {
  const canvas = byId("structure");
  let order = [], columns = [];
  const draw = () => drawStructure(canvas, columns, order);
  const measure = () => {
    order = structureOrder(state.order);
    columns = structureColumns(order, report.readings[state.reading], Math.max(1, canvas.clientWidth));
    draw();
  };
  const under = (event) => {
    const { left, width } = canvas.getBoundingClientRect();
    return order[Math.max(0, Math.min(order.length - 1, Math.floor(((event.clientX - left) / width) * order.length)))];
  };
  segmented(byId("order"), "order", [
    { value: "topic", label: "By main topic" }, { value: "given", label: "As given" },
  ], state.order, (value) => choose({ order: value }));
  canvas.addEventListener("click", (event) => choose({ sample: under(event) }));
  canvas.addEventListener("pointermove", (event) => {
    const sample = under(event);
    const k = mainTopic[sample];
    showTip(event, said(report.samples.names[sample], "term-name"), `mostly topic ${k} (${percent(shares[sample][k])})`);
  });
  canvas.addEventListener("pointerleave", hideTip);
  listKeys(canvas, () => order, () => state.sample, (sample) => choose({ sample }));
  byId("structure-hint").textContent =
    `${whole(spread.length)} samples; the chosen topic stands out. Click, or use the arrow keys.`;
  canvas.setAttribute("aria-valuemin", 0);
  canvas.setAttribute("aria-valuemax", spread.length - 1);
  watch(["reading", "order"], measure);
  watch(["topic", "sample", "theme"], draw);
  watch(["sample", "order"], () => {
    canvas.setAttribute("aria-valuenow", Math.max(0, order.indexOf(state.sample)));
    canvas.setAttribute("aria-valuetext", report.samples.names[state.sample]);
  });
  new ResizeObserver(measure).observe(canvas);
}
