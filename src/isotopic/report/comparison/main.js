"use strict";
// The heading and the table of both fits; then draw the page.

panels.push(() => {
  byId("page-title").textContent = report.title;
  const near = pairs.filter((pair) => likeness(pair) >= 0.8).length, n = Math.min(...nTopics);
  byId("subtitle").textContent = `${near} of ${n} matched ${words.topics} have a similarity of at least 0.8, and ${percent(report.stays)} of the counts are in the partner of their ${words.topic}.`;
  const facts = [
    ["model", ({ model }) => model], [words.topics, ({ counts }) => counts.length],
    ["perplexity (lower is better)", ({ perplexity }) => number(perplexity)],
    ["iterations", ({ iterations, converged }) => `${whole(iterations)}${converged ? ", converged" : ""}`],
    [words.samples, ({ samples }) => whole(samples)], ["features", ({ features }) => whole(features)],
  ];
  const row = (name, values) => make("tr", {}, make("th", { scope: "row" }, said(name)), values.map((value) => make("td", {}, said(String(value)))));
  byId("fits").replaceChildren(
    make("thead", {}, make("tr", {}, make("td", {}), fits.map(({ name }) => make("th", { scope: "col" }, said(name))))),
    make("tbody", {}, facts.map(([name, value]) => row(name, fits.map(value))), report.parameters.map(([name, ...values]) => row(name, values))));
  const { common } = report;
  byId("left-out").textContent = `Compared on ${whole(common.samples)} ${words.samples} and ${whole(common.features)} features that both have. ` +
    `Parameters are listed if they differ. The page has the ${whole(nSamples)} ${words.samples} that changed most.`;
  startSaveMenu();
});

readAddress();
startTheme();
startSections();
for (const start of panels) start();
startPermalink();
document.documentElement.dataset.ready = "";
