"use strict";
// The structure plot: each sample is a column, stacked by topic. A canvas, since there may be thousands.

const STRUCTURE_HEIGHT = 220;
const spread = range(nSamples).filter((sample) => report.samples.spread[sample]);

/** The order of the samples: as in the data, or by main topic and its share. */
function structureOrder(order) {
  if (order === "given") return spread;
  const most = (sample) => shares[sample][mainTopic[sample]];
  return [...spread].sort((a, b) => rank[mainTopic[a]] - rank[mainTopic[b]] || most(b) - most(a) || a - b);
}

/** Add the weights of a sample to a column: `weights` of data.js, but only over its listed topics. */
function addWeights(column, sample, reading) {
  const topics = slice(report.samples.mixtures, "topics", sample);
  const counts = slice(report.samples.mixtures, "counts", sample);
  const sum = reading.normalize ? mass(sample, reading) : 1;
  const scale = sum > 0 ? 1 / sum : 0;
  topics.forEach((k, i) => { column[k] += (scale * counts[i]) / reading.divide[k]; });
  return scale;
}

/** The mean weights of the samples that share a column of pixels. */
function structureColumns(order, reading, width) {
  const n = Math.min(width, order.length);
  return range(n).map((at) => {
    const from = Math.floor((at * order.length) / n);
    const to = Math.max(from + 1, Math.floor(((at + 1) * order.length) / n));
    const column = new Float64Array(nTopics);
    let scales = 0;
    for (let i = from; i < to; i += 1) scales += addWeights(column, order[i], reading);
    return column.map((value, k) => (value + (scales * reading.add[k]) / reading.divide[k]) / (to - from));
  });
}

/** The height of the plot: 1 for proportions, the 90 % quantile of the columns for amounts. */
function structureHeight(columns, reading) {
  if (reading.normalize) return 1;
  const sums = columns.map((row) => row.reduce((a, b) => a + b, 0)).sort((a, b) => a - b);
  return Math.max(sums[Math.floor(0.9 * (sums.length - 1))], 1e-300);
}

/** Paint the columns on a separate canvas, topic by topic, the largest topic at the bottom. */
function paintColumns(columns, tallest, width, height) {
  const canvas = make("canvas", { width, height });
  const pen = canvas.getContext("2d");
  const edge = (column) => Math.round((column * width) / columns.length);
  const sums = new Float64Array(columns.length);
  const level = (sum) => Math.max(0, height - Math.round((sum / tallest) * height));
  for (const k of byShare) {
    pen.fillStyle = k === state.topic ? colour(k) : faded(k, state.theme);
    columns.forEach((row, column) => {
      const bottom = level(sums[column]);
      sums[column] += row[k];
      const top = level(sums[column]);
      if (top < bottom) pen.fillRect(edge(column), top, edge(column + 1) - edge(column), bottom - top);
    });
  }
  return canvas;
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

panels.push(() => {
  const canvas = byId("structure");
  let order = [], columns = [], tallest = 1, painted = null;
  const draw = () => {
    const ratio = devicePixelRatio || 1;
    canvas.width = painted.width;
    canvas.height = painted.height;
    const pen = canvas.getContext("2d");
    pen.drawImage(painted, 0, 0);
    const at = order.indexOf(state.sample);
    if (at >= 0) drawMarker(pen, ((at + 0.5) * canvas.width) / order.length, canvas.height, ratio, getComputedStyle(canvas).color);
  };
  const paint = () => {
    const ratio = devicePixelRatio || 1;
    painted = paintColumns(columns, tallest, Math.max(1, Math.round(canvas.clientWidth * ratio)), Math.round(STRUCTURE_HEIGHT * ratio));
    draw();
  };
  const measure = () => {
    const reading = report.readings[state.reading];
    order = structureOrder(state.order);
    columns = structureColumns(order, reading, Math.max(1, canvas.clientWidth));
    tallest = structureHeight(columns, reading);
    paint();
    byId("structure-hint").textContent = `${whole(spread.length)} samples; the selected topic is highlighted. ` +
      (reading.normalize ? "" : `The axis ends at ${number(tallest)}; taller columns are cut off. `) + "Click a sample or use the arrow keys.";
  };
  const under = (event) => {
    const { left, width } = canvas.getBoundingClientRect();
    return order[Math.max(0, Math.min(order.length - 1, Math.floor(((event.clientX - left) / width) * order.length)))];
  };
  segmented(byId("order"), "order", [
    { value: "topic", label: "Main topic" }, { value: "given", label: "Data order" },
  ], state.order, (value) => choose({ order: value }));
  canvas.addEventListener("click", (event) => choose({ sample: under(event) }));
  canvas.addEventListener("pointermove", (event) => {
    const sample = under(event);
    const k = mainTopic[sample];
    showTip(event, said(report.samples.names[sample], "term-name"), `mostly topic ${k} (${percent(shares[sample][k])})`);
  });
  canvas.addEventListener("pointerleave", hideTip);
  listKeys(canvas, () => order, () => state.sample, (sample) => choose({ sample }));
  canvas.setAttribute("aria-valuemin", 0);
  canvas.setAttribute("aria-valuemax", spread.length - 1);
  watch(["reading", "order"], measure);
  watch(["topic", "theme"], paint);
  watch(["sample"], draw);
  watch(["sample", "order"], () => {
    canvas.setAttribute("aria-valuenow", Math.max(0, order.indexOf(state.sample)));
    canvas.setAttribute("aria-valuetext", report.samples.names[state.sample]);
  });
  new ResizeObserver(measure).observe(canvas);
});
