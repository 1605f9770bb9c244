"use strict";
// Search for samples: the list of those that contain what was asked for.

const MOST_RESULTS = 200;
// The least share of the selected topic in a sample, for the list of its samples only.
const LEAST_SHARE = 0.1;

/** The topics of a sample as a thin strip. */
function strip(sample) {
  const { topics, counts } = report.samples.mixtures;
  const parts = entries(report.samples.mixtures, sample).filter((i) => counts[i] > 0.01 * report.samples.explained[sample])
    .sort((a, b) => rank[topics[a]] - rank[topics[b]]);
  return make("span", { class: "strip", "aria-hidden": "true" },
    parts.map((i) => styled(make("span", {}), { "flex-grow": counts[i] / report.samples.explained[sample], background: colour(topics[i]) })));
}

async function addSnippet(row, sample, parts) {
  if (!textArchive || !parts.length) return;
  const found = snippet(await textOf(sample), parts);
  if (found) row.append(found);
}

function resultRow(sample, parts) {
  const row = make("div", { id: `sample-${sample}`, class: "entry", role: "option", "aria-selected": "false", onclick: () => choose({ sample }) },
    make("bdi", { class: "cut", dir: "auto" }, withHits(nameOfSample(sample), parts)), strip(sample),
    make("span", { class: "amount" }, brief(report.samples.totals[sample])));
  whileBusy(addSnippet(row, sample, parts));
  return row;
}

/** What is said when nothing is found. */
function nothingFound(asked) {
  const inTopic = state.withTopic && state.topic !== null ? ` that has at least ${percent(LEAST_SHARE)} of the selected ${words.topic}` : "";
  const cut = textArchive && !textsAreWhole ? " Long documents are shortened in this page; open the file beside it to search all of their text." : "";
  return make("p", { class: "hint nothing" }, `No ${words.sample}${inTopic} contains `, make("b", {}, said(asked.trim())), `.${cut}`);
}

panels.push(() => {
  const field = byId("search"), list = byId("results"), only = byId("with-topic"), more = byId("more-results");
  let results = [], shown = 0, parts = [], round = 0;
  const mark = () => {
    const row = byId(`sample-${state.sample}`);
    markSelected(list, row);
    reveal(list, row);
  };
  const add = () => {
    const next = results.slice(shown, shown + MOST_RESULTS);
    list.append(...next.map((sample) => resultRow(sample, parts)));
    shown += next.length;
    more.hidden = shown >= results.length;
    more.textContent = `Show ${Math.min(MOST_RESULTS, results.length - shown)} more`;
    mark();
  };
  const find = async () => {
    const mine = (round += 1), asked = state.query;
    const found = await findSamples(asked, () => mine !== round);
    if (mine !== round) return;
    ({ parts } = found);
    results = found.samples.filter((sample) => isShown(sample) && (!state.withTopic || state.topic === null || shareOf(sample, state.topic) >= LEAST_SHARE));
    shown = 0;
    list.replaceChildren();
    add();
    byId("no-results").replaceChildren(...(results.length ? [] : [nothingFound(asked)]));
    list.scrollTop = 0;
    const noun = !asked.trim() ? words.samples : results.length === 1 ? "match" : "matches";
    byId("found").textContent = `${whole(results.length)} ${noun}`;
    choose({ parts, ...(asked.trim() && results.length && !results.includes(state.sample) ? { sample: results[0] } : {}) });
  };
  field.placeholder = textArchive ? `Any word, or “a phrase”` : `Name or ${words.term}`;
  let waiting = null;
  field.addEventListener("input", () => {
    if (waiting) { clearTimeout(waiting.timer); waiting.end(); }
    const end = busy();
    waiting = { end, timer: setTimeout(() => { waiting = null; choose({ query: field.value }); end(); }, nSamples > 2000 ? 120 : 0) };
  });
  field.addEventListener("change", () => choose({ query: field.value }));
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") { event.preventDefault(); list.focus(); }
  });
  only.addEventListener("change", () => choose({ withTopic: only.checked }));
  more.addEventListener("click", add);
  listKeys(list, () => results.slice(0, shown), () => state.sample, (sample) => choose({ sample }));
  watch(["query", "withTopic", "shown", "texts"], () => {
    if (field.value !== state.query && document.activeElement !== field) field.value = state.query;
    only.checked = state.withTopic;
    whileBusy(find());
  });
  watch(["topic"], () => { only.disabled = state.topic === null; });
  watch(["topic"], () => { if (state.withTopic) whileBusy(find()); });
  watch(["sample"], mark);
});
