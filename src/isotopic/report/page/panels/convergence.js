"use strict";
// The convergence of the fit, drawn by uPlot.

const AGAINST = { iteration: "iterations", passes: "passes over the data", seconds: "seconds" };

// A logarithmic axis has ticks at powers of ten only, written as such.
const exponent = (tick) => Math.log10(tick);
const decades = (plot, ticks) => ticks.map((tick) => (Math.abs(exponent(tick) - Math.round(exponent(tick))) < 1e-6 ? tick : null));
const raised = (power) => String(power).replace(/./g, (sign) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign] || "⁻");
const powers = (plot, ticks) => ticks.map((tick) => (tick === null ? "" : `10${raised(Math.round(exponent(tick)))}`));

function curve(container, title, xs, ys, line) {
  const ink = () => getComputedStyle(document.body).getPropertyValue("--soft").trim();
  const grid = () => getComputedStyle(document.body).getPropertyValue("--line").trim();
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: "12px system-ui, sans-serif" };
  const tidy = (value) => (value === null || value === undefined ? "–" : Number(value.toPrecision(4)).toString());
  const series = [
    { label: AGAINST[state.against], value: (plot, value) => tidy(value) },
    { label: title, stroke: () => getComputedStyle(document.body).getPropertyValue("--accent").trim(), width: 2, points: { show: false }, value: (plot, value) => tidy(value) },
  ];
  const data = [xs, ys];
  if (line !== null) {
    series.push({ label: "tol", stroke: ink, dash: [5, 4], width: 1, points: { show: false }, value: (plot, value) => tidy(value) });
    data.push(xs.map(() => line));
  }
  return new uPlot({
    width: Math.max(200, container.clientWidth), height: 230, series,
    scales: { x: { time: false }, y: { distr: 3 } },
    axes: [axis, { ...axis, size: 52, filter: decades, values: powers, grid: { ...axis.grid, filter: decades }, ticks: { ...axis.ticks, filter: decades } }],
    legend: { live: true }, cursor: { points: { size: 7 } },
  }, data, container);
}

panels.push(() => {
  const fit = report.convergence;
  const positive = (value) => (value !== null && value > 0 ? value : null);
  const last = fit.objective === null ? 0 : Math.min(fit.objective, ...fit.by_objective.filter((value) => value !== null));
  segmented(byId("against"), "against", Object.keys(AGAINST).map((value) => ({ value, label: value[0].toUpperCase() + value.slice(1) })),
    state.against, (against) => choose({ against }));
  const reached = fit.by_residual.at(-1);
  const seconds = fit.by_seconds.at(-1);
  byId("verdict").textContent = fit.iterations === 0 ? "The model was fitted without iterations." :
    `${whole(fit.iterations)} iterations, ${whole(fit.by_passes.at(-1))} passes over the data, ${number(seconds)} s. ` +
    (reached === null ? "The residual of the last iterate is not finite: the priors were still learning their hyperparameters." : fit.converged ? `Converged: one more update would move a fraction of ${number(reached)} of all counts (tol = ${number(fit.tol)}).`
      : `${fit.tol > 0 ? "Not converged: one" : "One"} more update would move a fraction of ${number(reached)} of all counts${fit.tol > 0 ? ` (tol = ${number(fit.tol)})` : ""}.`) +
    ` Objective: ${number(fit.objective)}.`;
  const values = fit.by_objective.filter((value) => value !== null);
  if (values.some((value, i) => i > 0 && value > values[i - 1] + 1e-6 * Math.abs(value))) {
    byId("objective-hint").append(" It rises where the priors learned their concentrations: from there on another objective is minimised, and values before and after do not compare.");
  }
  let plots = [];
  const draw = () => {
    for (const plot of plots) plot.destroy();
    const xs = fit[`by_${state.against}`];
    plots = [
      curve(byId("objective"), "objective − final", xs, fit.by_objective.map((value) => (value === null ? null : positive(value - last))), null),
      curve(byId("residual"), "residual", xs, fit.by_residual.map(positive), positive(fit.tol)),
    ];
  };
  if (fit.iterations === 0) return;
  watch(["against", "theme"], draw);
  new ResizeObserver(() => plots.forEach((plot) =>
    plot.setSize({ width: Math.max(200, plot.root.parentElement.clientWidth), height: 230 }))).observe(byId("objective"));
});
