"use strict";
// How stable each topic is in the runs of a consensus, the least stable first.

panels.push(() => {
  const found = report.consensus;
  if (!found) return;
  byId("consensus").hidden = false;
  byId("consensus-reason").textContent = found.reason;
  const order = range(nTopics).sort((a, b) => found.stability[a] - found.stability[b] || a - b);
  const draw = () => {
    byId("consensus-rows").replaceChildren(...order.map((k) => {
      const bar = styled(make("span", { class: "stability-bar" }), {
        width: `${100 * Math.max(0, found.stability[k])}%`, background: colour(k),
      });
      const row = make("tr", {},
        make("th", { scope: "row" }, make("button", { type: "button", class: "quiet" }, said(topicName(k)))),
        make("td", {}, make("span", { class: "stability" }, bar)),
        make("td", { class: "figure" }, found.stability[k].toFixed(2)),
        make("td", { class: "figure" }, `${whole(found.found[k])} of ${whole(found.runs)}`));
      row.querySelector("button").addEventListener("click", () => choose({ topic: k }));
      return row;
    }));
  };
  watch(["names", "theme"], draw);
});
