"use strict";
// The structure plot: every sample a column of its topics. A canvas, for there may be thousands.

const STRUCTURE_HEIGHT = 220;
const spread = range(nSamples).filter((sample) => report.samples.spread[sample]);

/** The samples in order: as given, or by their main topic and how much they have of it. */
function structureOrder(order) {
  if (order === "given") return spread;
  const main = shares.map((row) => row.indexOf(Math.max(...row)));
  return [...spread].sort((a, b) => rank[main[a]] - rank[main[b]] || shares[b][main[b]] - shares[a][main[a]] || a - b);
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
  const width = canvas.clientWidth, height = STRUCTURE_HEIGHT;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const sums = columns.map((row) => row.reduce((a, b) => a + b, 0));
  const tallest = Math.max(...sums, 1e-300);
  columns.forEach((row, column) => {
    const left = (column * width) / columns.length, right = ((column + 1) * width) / columns.length;
    let bottom = height;
    for (const k of byShare) {
      const top = bottom - (row[k] / tallest) * height;
      pen.globalAlpha = k === state.topic ? 1 : 0.42;
      pen.fillStyle = colour(k);
      pen.fillRect(left, top, right - left + 0.4, bottom - top);
      bottom = top;
    }
  });
  const at = order.indexOf(state.sample);
  if (at < 0) return;
  const x = ((at + 0.5) * width) / order.length;
  const ink = getComputedStyle(canvas).color;
  pen.globalAlpha = 1;
  pen.fillStyle = ink;
  pen.fillRect(x - 0.75, 0, 1.5, height);
  pen.beginPath();
  pen.moveTo(x - 6, 0); pen.lineTo(x + 6, 0); pen.lineTo(x, 9);
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
    const k = shares[sample].indexOf(Math.max(...shares[sample]));
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
