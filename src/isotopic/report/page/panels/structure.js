"use strict";
// The structure plot: each sample is a column, stacked by topic. A canvas, since there may be thousands.

const STRUCTURE_HEIGHT = 220;

/** The order of the samples: as in the data, or by main topic and its share. */
function structureOrder(order) {
  const shown = spread.filter(isShown);
  if (order === "given") return shown;
  const { counts, starts } = report.samples.mixtures;
  const most = (sample) => (starts[sample] < starts[sample + 1] ? counts[starts[sample]] / report.samples.explained[sample] : 0);
  const key = new Float64Array(nSamples);
  for (const sample of shown) key[sample] = 2 * rank[mainTopic(sample)] + 1 - most(sample);
  return shown.sort((a, b) => key[a] - key[b] || a - b);
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

/** The topic that each pixel belongs to, the largest topic at the bottom; 0 is the background. */
function pixelTopics(columns, tallest, width, height) {
  const owners = new Uint16Array(width * height);
  columns.forEach((row, column) => {
    const left = Math.round((column * width) / columns.length), right = Math.round(((column + 1) * width) / columns.length);
    let sum = 0, bottom = height;
    for (const k of byShare) {
      sum += row[k];
      const top = Math.max(0, height - Math.round((sum / tallest) * height));
      for (let y = top; y < bottom; y += 1) owners.fill(k + 1, y * width + left, y * width + right);
      bottom = Math.min(bottom, top);
    }
  });
  return owners;
}

/** Paint the pixels: the selected topic in its colour, the others faded. */
function paintPixels(owners, width, height) {
  const canvas = make("canvas", { width, height });
  const pen = canvas.getContext("2d"), picture = pen.createImageData(width, height);
  const palette = new Uint32Array(nTopics + 1), bytes = new Uint8Array(palette.buffer);
  for (let k = 0; k < nTopics; k += 1) bytes.set([...(k === state.topic || state.topic === null ? channels(k) : faded(k, state.theme)), 255], 4 * (k + 1));
  const pixels = new Uint32Array(picture.data.buffer);
  for (let i = 0; i < pixels.length; i += 1) pixels[i] = palette[owners[i]];
  pen.putImageData(picture, 0, 0);
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
  let order = [], owners = null, area = [1, 1], painted = null;
  const draw = () => {
    const ratio = devicePixelRatio || 1;
    canvas.width = painted.width;
    canvas.height = painted.height;
    const pen = canvas.getContext("2d");
    pen.drawImage(painted, 0, 0);
    const at = order.indexOf(state.sample);
    if (at >= 0) drawMarker(pen, ((at + 0.5) * canvas.width) / order.length, canvas.height, ratio, getComputedStyle(canvas).color);
  };
  const size = () => [Math.max(1, Math.round(canvas.clientWidth * (devicePixelRatio || 1))), Math.round(STRUCTURE_HEIGHT * (devicePixelRatio || 1))];
  const paint = () => {
    painted = paintPixels(owners, ...area);
    draw();
  };
  const measure = () => {
    const reading = report.readings[state.reading];
    order = structureOrder(state.order);
    const columns = structureColumns(order, reading, Math.max(1, canvas.clientWidth));
    const tallest = structureHeight(columns, reading);
    area = size();
    owners = pixelTopics(columns, tallest, ...area);
    paint();
    byId("structure-hint").textContent = `${whole(order.length)} ${words.samples}; the selected ${words.topic} is highlighted. ` +
      (reading.normalize ? "" : `The axis ends at ${number(tallest)}; taller columns are cut off. `) + `Click a ${words.sample} or use the arrow keys.`;
  };
  const under = (event) => {
    const { left, width } = canvas.getBoundingClientRect();
    return order[Math.max(0, Math.min(order.length - 1, Math.floor(((event.clientX - left) / width) * order.length)))];
  };
  segmented(byId("order"), "order", [
    { value: "topic", label: `Main ${words.topic}` }, { value: "given", label: "Data order" },
  ], state.order, (value) => choose({ order: value }));
  canvas.addEventListener("click", (event) => { if (order.length) choose({ sample: under(event) }); });
  canvas.addEventListener("pointermove", (event) => {
    const sample = under(event);
    if (sample === undefined) return;
    const k = mainTopic(sample);
    showTip(event, said(nameOfSample(sample), "term-name"), `mostly ${words.topic} ${k} (${percent(shareOf(sample, k))})`);
  });
  canvas.addEventListener("pointerleave", hideTip);
  listKeys(canvas, () => order, () => state.sample, (sample) => choose({ sample }));
  canvas.setAttribute("aria-valuemin", 0);
  watch(["reading", "order", "shown"], measure);
  watch(["topic", "theme"], paint);
  watch(["sample"], draw);
  watch(["sample", "order", "shown"], () => {
    canvas.setAttribute("aria-valuemax", Math.max(0, order.length - 1));
    canvas.setAttribute("aria-valuenow", Math.max(0, order.indexOf(state.sample)));
    canvas.setAttribute("aria-valuetext", nameOfSample(state.sample));
  });
  new ResizeObserver(measure).observe(canvas);
});
