"use strict";
// What a served page can do and a file cannot: edit the topics, infer a text, undo, save.

const { live } = report;
const liveToken = new URLSearchParams(location.search).get("token") ?? "";

/** Send a request, and return the answer; errors become sentences for the reader. */
async function ask(action, details = {}) {
  const answer = await fetch("/api", {
    method: "POST", headers: { "Content-Type": "application/json", "X-Isotopic-Token": liveToken },
    body: JSON.stringify({ action, ...details }),
  });
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error);
  return told;
}

/** Show the new version: the topic that the answer names, and the settings that still mean something. */
function showVersion({ topic }) {
  const kept = new URLSearchParams(stateText()), parts = new URLSearchParams();
  for (const name of ["theme", "sort", "lambda", "order"]) if (kept.has(name)) parts.set(name, kept.get(name));
  if (Number.isInteger(topic)) parts.set("topic", topic);
  history.replaceState(null, "", `#${parts}`);
  location.reload();
}

/** Do something while the controls rest, and say what went wrong. */
function work(text, run) {
  const note = byId("live-note"), controls = [...document.querySelectorAll("#live button, #live input, #live select")];
  const before = controls.map((control) => control.disabled);
  for (const control of controls) control.disabled = true;
  note.className = "hint";
  note.textContent = text;
  const rest = () => controls.forEach((control, i) => { control.disabled = before[i]; });
  whileBusy(run().then((said_) => { rest(); note.textContent = said_ ?? ""; }, (error) => {
    rest();
    note.className = "hint bad";
    note.textContent = error.message === "Failed to fetch" ? "The server does not answer. Was it stopped?" : error.message;
  }));
}

const refits = () => byId("live-refit").checked;
const edit = (text, action, details) => work(text, async () => showVersion(await ask(action, { ...details(), refit: refits() })));
const liveButton = (id, text, run) => make("button", { id, type: "button", class: "quiet", onclick: run }, text);

function changeList() {
  const { change, steps } = live;
  if (!steps.length) return make("p", { class: "hint" }, `Nothing has changed yet. What you do here is kept in memory until you save it.`);
  const parts = [make("h4", {}, "Steps"), make("ol", { class: "live-steps" }, steps.map((step) => make("li", {}, said(step))))];
  if (change) parts.push(make("h4", {}, "The last step"), make("ul", {},
    make("li", {}, `${percent(change.moved)} of the counts moved to another ${words.topic}; ${change.topics[0]} ${words.topics} became ${change.topics[1]}.`),
    make("li", {}, `The ${words.topic} that changed most is ${change.least.topic} (similarity ${change.least.similarity.toFixed(2)}).`),
    make("li", {}, `On average ${percent(change.mean)} of a ${words.sample} has another ${words.topic}, most in `, change.samples.flatMap(([name, part], i) => [i ? ", " : "", said(name), ` (${percent(part)})`]), ".")),
  make("a", { id: "live-compare", href: `/change?token=${encodeURIComponent(liveToken)}`, target: "_blank", rel: "noopener" }, "Compare before and after side by side"));
  return make("div", {}, parts);
}

/** A pasted text with its words in the colours of their topics, and the topics of the whole. */
function inferredText(text, { topics, words: found, known, unknown }) {
  const numbers = new Map(Array.from(report.terms.features, (feature, term) => [feature, term]));
  const chances = new Map(found.filter(([feature]) => numbers.has(feature)).map(([feature, list]) => [numbers.get(feature), list.map(([topic, share_]) => ({ topic, share: share_ }))]));
  const counted = occurrences(text, [...chances.keys()]).map((place) => ({ ...place, topics: chances.get(place.term) })).filter((place) => place.topics.length);
  const box = make("div", { class: "text", dir: "auto", tabindex: 0, role: "group", "aria-label": "Text in the colours of its topics" }, textPieces(text, counted, []).map(wordElement));
  for (const element of box.querySelectorAll(".word")) {
    const [best] = element.word.topics;
    styled(element, { "--colour": colour(best.topic), "--strength": `${Math.round(100 * best.share)}%` });
    element.addEventListener("pointermove", (event) => showTip(event, ...wordLines(element.word)));
    element.addEventListener("pointerleave", hideTip);
    element.addEventListener("click", () => choose({ topic: best.topic }));
  }
  return [
    make("p", { class: "hint" }, `${whole(known)} ${words.terms} are known to the model, ${whole(unknown)} are not.`),
    make("div", { id: "inferred-topics" }, topics.map(([k, part]) => make("button", { type: "button", class: "weight", "data-topic": k, onclick: () => choose({ topic: k }) },
      swatch(k), said(topicName(k), "cut"), make("span", { class: "track" }, styled(make("span", { class: "bar-topic" }), { width: `${100 * part}%`, background: colour(k) })), make("span", { class: "amount" }, percent(part))))),
    box,
  ];
}

function editingCard() {
  const others = make("select", { id: "live-other", "aria-label": `The other ${words.topic}` });
  watch(["topic", "names"], () => {
    others.replaceChildren(...range(nTopics).filter((k) => k !== state.topic).map((k) => make("option", { value: k }, `${k} ${topicName(k)}`)));
  });
  const stop = make("input", { id: "live-words", type: "text", class: "grow", placeholder: `${words.Terms} to leave out, with spaces or commas`, "aria-label": `${words.Terms} to leave out`, autocomplete: "off", spellcheck: "false" });
  const topic = () => state.topic;
  const known = new Set(report.terms.names);
  const listed = () => (known.has(stop.value.trim()) ? [stop.value.trim()] : stop.value.split(/[\s,]+/).filter(Boolean));
  const refit = make("input", { id: "live-refit", type: "checkbox" });
  refit.checked = true;
  return make("div", { class: "card" },
    make("div", { class: "card-head" }, make("h3", { id: "live-topic" }), make("span", { id: "live-note", class: "hint", "aria-live": "polite" })),
    make("div", { class: "live-row" },
      liveButton("live-split", "Split in two", () => edit("splitting …", "split", () => ({ topic: topic() }))),
      liveButton("live-drop", "Drop", () => edit("dropping …", "drop", () => ({ topic: topic() }))),
      liveButton("live-merge", "Merge with", () => edit("merging …", "merge", () => ({ topics: [topic(), Number(others.value)] }))), others),
    make("div", { class: "live-row" }, stop, liveButton("live-stop", "Leave out", () => edit("leaving out …", "drop_features", () => ({ features: listed() })))),
    make("div", { class: "live-row" }, make("label", {}, refit, " refit after each step, from where it is"),
      liveButton("live-again", "Refit now", () => work("refitting …", async () => showVersion(await ask("refit", { topic: topic() })))),
      liveButton("live-undo", "Undo", () => work("undoing …", async () => showVersion(await ask("undo"))))),
    make("div", { id: "live-change" }, changeList()), savingRow());
}

function savingRow() {
  if (live.save_as === null) return make("p", { class: "hint" }, "In Python, explorer.model is the model as it is now.");
  const name = make("input", { id: "live-folder", type: "text", class: "grow", "aria-label": "Folder to save in", autocomplete: "off", spellcheck: "false" });
  const replace = make("input", { id: "live-replace", type: "checkbox" });
  name.value = live.save_as;
  return make("div", { class: "live-row" },
    liveButton("live-save", "Save as", () => work("saving …", async () => `Saved in ${(await ask("save", { folder: name.value.trim(), overwrite: replace.checked })).saved}.`)),
    name, make("label", {}, replace, " replace the fit of that name"));
}

function inferenceCard() {
  const text = make("textarea", { id: "live-text", placeholder: "Paste a text", "aria-label": "A text to infer the topics of", spellcheck: "false" });
  const place = make("div", { id: "inferred", "aria-live": "polite" });
  const infer = () => work("inferring …", async () => { place.replaceChildren(...inferredText(text.value, await ask("infer", { text: text.value }))); });
  return make("div", { class: "card" }, make("div", { class: "card-head" }, make("h3", {}, `${words.Topics} of a new text`)), text,
    make("div", { class: "live-row" }, liveButton("live-infer", `Infer its ${words.topics}`, infer)), place);
}

panels.push(() => {
  const section = make("section", { id: "live", "aria-labelledby": "live-title" }, make("h2", { id: "live-title" }, "Edit"),
    make("div", { class: "live-parts" }, editingCard(), inferenceCard()));
  byId("topics").after(section);
  document.querySelector("header nav a").after(make("a", { href: "#live" }, "Edit"));
  byId("live-undo").disabled = !live.steps.length;
  watch(["topic", "names"], () => {
    byId("live-topic").replaceChildren(...(state.topic === null ? [`Select a ${words.topic} to edit it`] : [swatch(state.topic), said(topicName(state.topic))]));
    for (const id of ["live-split", "live-drop", "live-merge"]) byId(id).disabled = state.topic === null || (nTopics < 2 && id !== "live-split");
  });
  // Names that are written into the page are those of the model, too.
  byId("topic-name").addEventListener("change", () => {
    const details = { topic: state.topic, name: byId("topic-name").value };
    work("naming …", async () => { await ask("rename", details); byId("live-undo").disabled = false; return `${words.Topic} ${details.topic} has its name.`; });
  });
});
