"use strict";
// Topics over time, by numbers and by groups; and filters, which apply to all samples of the page.

const PLOT = { height: 300, left: 46, right: 12, top: 12, bottom: 40 };
/** Drawings are as wide as their place, so that their letters keep their size. */
const plotWidth = () => Math.max(280, byId("groups-plot").clientWidth || 900);
const MOST_LINES = 8, MOST_BARS = 30;

/** What can be pointed at and clicked, by keyboard too: `lines` makes its tooltip. */
const plotOption = (item, label, lines, act) => ({
  id: `plot-${item}`, role: "option", "aria-selected": "false", "aria-label": label,
  onclick: act, onpointermove: (event) => showTip(event, ...lines()), onpointerleave: hideTip,
});
/** The mean of a bin, which filters to it. */
const binOption = (bin, k) => {
  const mean = `${percent(bin.mean(k))} ± ${percent(bin.half(k))}`, n = `${whole(bin.n)} ${words.samples}`;
  return plotOption(`bin-${bin.at}`, `${bin.name}: ${mean}, ${n}`, () => [said(bin.name, "term-name"), mean, n], () => filterTo(bin.name));
};

/** Lines of the mean share over ordered bins; the selected topic has a band. */
function linePlot(bins, topics, selected) {
  const { height, left, right, top, bottom } = PLOT, width = plotWidth();
  const high = Math.max(...bins.flatMap((bin) => topics.map((k) => bin.mean(k) + (k === selected ? bin.half(k) : 0))), 1e-9);
  const x = (i) => left + ((i + 0.5) * (width - left - right)) / bins.length;
  const y = (value) => height - bottom - (Math.max(0, value) / high) * (height - top - bottom);
  const path = (points) => points.map(([px, py], i) => `${i ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join("");
  const every = Math.ceil((75 * bins.length) / width);
  const grid = [0, 0.5, 1].map((part) => makeSvg("g", { "aria-hidden": "true" }, makeSvg("line", { class: "axis", x1: left, x2: width - right, y1: y(part * high), y2: y(part * high) }),
    makeSvg("text", { class: "tick", x: left - 6, y: y(part * high), dy: "0.35em", "text-anchor": "end" }, percent(part * high))));
  const ticks = bins.map((bin, i) => (i % every ? null : makeSvg("text", { class: "tick", "aria-hidden": "true", x: x(i), y: height - bottom + 18, "text-anchor": "middle" }, bin.name)));
  const band = selected === null ? null : makeSvg("path", {
    class: "band", fill: colour(selected),
    d: `${path([...bins.map((bin, i) => [x(i), y(bin.mean(selected) + bin.half(selected))]), ...bins.map((bin, i) => [x(i), y(bin.mean(selected) - bin.half(selected))]).reverse()])}Z`,
  });
  const lines = topics.map((k) => makeSvg("path", {
    class: k === selected ? "line chosen" : selected === null ? "line equal" : "line", "data-topic": k, stroke: colour(k), d: path(bins.map((bin, i) => [x(i), y(bin.mean(k))])),
    ...plotOption(`topic-${k}`, `${words.Topic} ${k}: ${topicName(k)}`, () => [make("b", {}, `${words.Topic} ${k}`), said(topicName(k))], () => choose({ topic: k })),
    ...(selected === null ? {} : { id: null, role: null, "aria-selected": null, "aria-label": null }), // then its points are the options
  }));
  const points = selected === null ? [] : bins.map((bin, i) => makeSvg("circle", {
    class: "point", cx: x(i), cy: y(bin.mean(selected)), r: bins.length > 60 ? 2 : 3.5, fill: colour(selected),
    ...binOption(bin, selected),
  }));
  return makeSvg("svg", { viewBox: `0 0 ${width} ${height}`, role: "presentation" }, grid, ticks, band, lines, points);
}

/** The width in pixels that a label needs, and the space for the labels of bars. */
const pen = document.createElement("canvas").getContext("2d");
function labelWidth(text) {
  pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}
const labelSpace = (rows, width) => Math.min(8 + Math.max(80, ...rows.map((bin) => labelWidth(bin.name))), 260, width / 3);
/** A text that fits into a width, cut in its middle, so that names that begin alike stay different. */
function cutTo(text, width) {
  const letters = [...text];
  let most = letters.length, cut = text;
  while (most > 3 && labelWidth(cut) > width) {
    most -= 1;
    cut = `${letters.slice(0, Math.ceil((most - 1) / 2)).join("")}…${letters.slice(letters.length - Math.floor((most - 1) / 2)).join("")}`;
  }
  return cut;
}

/** A bar for each group, with its interval. */
function barPlot(bins, k) {
  const rows = bins.slice(0, MOST_BARS), step = 24, width = plotWidth(), left = labelSpace(rows, width), height = rows.length * step + 8;
  const high = Math.max(...rows.map((bin) => bin.mean(k) + bin.half(k)), 1e-9);
  const x = (value) => left + (Math.max(0, value) / high) * (width - left - 70);
  return makeSvg("svg", { viewBox: `0 0 ${width} ${height}`, role: "presentation" }, rows.map((bin, i) => {
    const middle = i * step + step / 2 + 4, short = cutTo(bin.name, left - 8);
    return makeSvg("g", { class: "group", ...binOption(bin, k) },
    makeSvg("text", { class: "tick", x: left - 8, y: middle, dy: "0.35em", "text-anchor": "end" }, short),
    makeSvg("rect", { x: left, y: middle - 7, width: Math.max(0.5, x(bin.mean(k)) - left), height: 14, rx: 2, fill: colour(k) }),
    makeSvg("line", { class: "whisker-line", x1: x(bin.mean(k) - bin.half(k)), x2: x(bin.mean(k) + bin.half(k)), y1: middle, y2: middle }),
    makeSvg("text", { class: "tick", x: x(bin.mean(k) + bin.half(k)) + 8, y: middle, dy: "0.35em" }, percent(bin.mean(k))));
  }));
}

/** A bar for each group, stacked by topic: all topics together. */
function stackPlot(bins) {
  const rows = bins.slice(0, MOST_BARS), step = 24, width = plotWidth(), left = labelSpace(rows, width);
  return makeSvg("svg", { viewBox: `0 0 ${width} ${rows.length * step + 8}`, role: "presentation" }, rows.map((bin, i) => {
    const top = i * step + step / 2 - 3, sum = range(nTopics).reduce((total, k) => total + bin.mean(k), 0) || 1;
    let from = left;
    return makeSvg("g", { class: "group" },
      makeSvg("text", { class: "tick", x: left - 8, y: top + 7, dy: "0.35em", "text-anchor": "end",
        ...plotOption(`bin-${bin.at}`, `${bin.name}: ${whole(bin.n)} ${words.samples}`, () => [said(bin.name, "term-name"), `${whole(bin.n)} ${words.samples}`], () => filterTo(bin.name)) }, cutTo(bin.name, left - 8)),
      byShare.map((k) => {
        const size = (bin.mean(k) / sum) * (width - left - 8);
        from += size;
        return size < 0.2 ? null : makeSvg("rect", {
          x: from - size, y: top, width: size, height: 14, fill: colour(k),
          ...plotOption(`bin-${bin.at}-topic-${k}`, `${bin.name}, ${words.topic} ${k}: ${percent(bin.mean(k))}`,
            () => [said(bin.name, "term-name"), make("span", {}, swatch(k), said(topicName(k))), percent(bin.mean(k))], () => choose({ topic: k })),
        });
      }));
  }));
}

const plotted = columns.map((column, at) => at).filter((at) => columns[at].kind !== "text");

/** Filter to a bin of the column that is drawn; once more lets everything through again. */
function filterTo(name) {
  const { [state.column]: before, ...others } = state.filter;
  choose({ filter: before === name ? others : { ...others, [state.column]: name } });
}

function filterField(at) {
  const column = columns[at], { names } = binsOf(column);
  const select = make("select", { id: `filter-${at}`, onchange: () => {
    const { [at]: before, ...others } = state.filter;
    choose({ filter: select.value === "all" ? others : { ...others, [at]: names[Number(select.value)] } });
  } }, make("option", { value: "all" }, "all"), names.map((name, i) => make("option", { value: i }, name)));
  select.value = state.filter[at] === undefined ? "all" : String(names.indexOf(state.filter[at]));
  return make("label", { for: select.id, class: "filter" }, said(column.name), select);
}

panels.push(() => {
  byId("groups").hidden = plotted.length === 0;
  byId("groups-link").hidden = plotted.length === 0;
  if (!plotted.length) return;
  const has = (kind) => plotted.some((at) => columns[at].kind === kind);
  const parts = [["date", "time"], ["number", "numbers"], ["group", "groups"]].filter(([kind]) => has(kind)).map(([, word]) => word);
  const title = parts.join(", ").replace(/, (?=\w+$)/, " and ");
  byId("groups-heading").textContent = title[0].toUpperCase() + title.slice(1);
  segmented(byId("column"), "column", plotted.map((at) => ({ value: at, label: columns[at].name })), state.column, (column) => choose({ column: Number(column) }));
  watch(["filter"], () => {
    byId("filters").replaceChildren(...plotted.map(filterField));
    choose({ shown: shownBy(state.filter) });
    const n = state.shown === null ? nSamples : state.shown.reduce((sum, flag) => sum + flag, 0);
    byId("filter-note").textContent = state.shown === null ? `All ${whole(nSamples)} ${words.samples} are shown.` : `${whole(n)} of ${whole(nSamples)} ${words.samples} are shown.`;
    byId("clear-filter").hidden = state.shown === null;
  });
  byId("clear-filter").addEventListener("click", () => choose({ filter: {} }));
  const draw = () => {
    const column = columns[state.column], bins = [...shownMeans(column)], isOrdered = column.kind !== "group";
    const others = byShare.slice(0, MOST_LINES), k = state.topic;
    const listed = k === null || others.includes(k) ? others : [...others.slice(0, -1), k];
    if (!isOrdered) bins.sort((a, b) => (k === null ? b.n - a.n : b.mean(k) - a.mean(k)));
    const plot = byId("groups-plot"), current = plot.getAttribute("aria-activedescendant");
    plot.replaceChildren(isOrdered ? linePlot(bins, listed, k) : k === null ? stackPlot(bins) : barPlot(bins, k));
    markSelected(plot, byId(current));
    byId("groups-title").replaceChildren(...(k === null ? [`Mean shares of ${isOrdered ? `the ${listed.length} largest` : "all"} ${words.topics} by `]
      : [swatch(k), `Mean share of ${words.topic} ${k}${givenName(k) ? ": " : ""}`, givenName(k) ? said(givenName(k)) : "", " by "]), said(column.name));
    const first = bins.length > MOST_BARS ? ` The ${MOST_BARS} ${k === null ? "largest groups" : "groups with the largest share"} are drawn.` : "";
    byId("groups-note").textContent = k === null ? `Click a ${isOrdered ? "line" : "part of a bar"}, or use the arrow keys and Enter, to select its ${words.topic}.${isOrdered ? "" : first}`
      : isOrdered ? `With a ${percent(INTERVAL.level)} interval of the mean. Thin lines: the ${listed.length - 1} largest other ${words.topics}. Click a point, or use the arrow keys and Enter, to filter.`
        : `With a ${percent(INTERVAL.level)} interval of the mean. Click a bar, or use the arrow keys and Enter, to filter.${first}`;
  };
  watch(["column", "topic", "shown", "names"], draw);
  optionKeys(byId("groups-plot"));
  let width = plotWidth();
  new ResizeObserver(() => { if (plotWidth() !== width) { width = plotWidth(); draw(); } }).observe(byId("groups-plot"));
  offerDrawing(`${words.Topics} by metadata`, "groups", () => byId("groups-plot").querySelector("svg"));
  offerTable(`${words.Topics} by metadata`, "groups", () => [columns[state.column].name, words.samples, ...range(nTopics).flatMap((k) => [`${words.topic} ${k}`, `± ${words.topic} ${k}`])],
    () => shownMeans(columns[state.column]).map((bin) => [bin.name, bin.n, ...range(nTopics).flatMap((k) => [bin.mean(k), bin.half(k)])]));
});
