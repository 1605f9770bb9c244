"use strict";
// The text of a sample with every counted word in the colour of the topic that explains it.

/** The words of a text that are counted, each with the probabilities of its topics. */
async function explainedWords(sample, text) {
  if (!rowArchive) {
    const own = await distinctiveTerms(sample);
    const topics = new Map(own.map(({ term, topic }) => [term, [{ topic, share: 1 }]]));
    return occurrences(text, own.map(({ term }) => term)).map((place) => ({ ...place, topics: topics.get(place.term) }));
  }
  const [row, values] = [await rowOf(sample), await valueArchive.chunk(0)];
  const known = new Map(Array.from(row.terms, (term) => [term, responsibilities(row, term, values)]));
  return occurrences(text, row.terms).map((place) => ({ ...place, topics: known.get(place.term) })).filter(({ topics }) => topics.length);
}

/** Cut a text where words begin and end, and where hits of the search do. */
function textPieces(text, counted, found) {
  const cuts = new Set([0, text.length]);
  for (const { start, end } of [...counted, ...found]) cuts.add(start).add(end);
  const places = [...cuts].sort((a, b) => a - b);
  let word = 0, hit = 0;
  return places.slice(0, -1).map((start, i) => {
    while (word < counted.length && counted[word].end <= start) word += 1;
    while (hit < found.length && found[hit].end <= start) hit += 1;
    const inside = (list, at) => (at < list.length && list[at].start <= start ? list[at] : null);
    return { text: text.slice(start, places[i + 1]), word: inside(counted, word), isHit: inside(found, hit) !== null };
  });
}

function wordElement({ text, word, isHit }) {
  if (!word) return isHit ? make("mark", { class: "hit" }, text) : text;
  const element = make("mark", { class: isHit ? "word hit" : "word" }, text);
  element.word = word;
  return element;
}

/** Colour the words: by their most probable topic, or by the probability of the selected one. */
function paintWords(box) {
  const selected = state.colouring === "selected" ? state.topic : null;
  for (const element of box.querySelectorAll(".word")) {
    const { topics } = element.word;
    const part = selected === null ? topics[0] : topics.find(({ topic }) => topic === selected) || { topic: selected, share: 0 };
    styled(element, { "--colour": colour(part.topic), "--strength": `${Math.round(100 * part.share)}%` });
    element.classList.toggle("of-topic", part.topic === state.topic && part.share >= 0.5);
  }
}

const wordLines = ({ term, topics }) => [said(termName(term), "term-name"),
  ...topics.slice(0, 4).filter(({ share }) => share >= 0.01).map(({ topic, share }) => make("span", {}, swatch(topic), `${percent(share)} `, said(topicName(topic))))];

/** Point at a word, or go from word to word with the arrow keys, to see its topics. */
function wordKeys(box) {
  let current = null;
  const show = (element) => {
    current?.classList.remove("current");
    current = element;
    if (!element) { hideTip(); return; }
    element.classList.add("current");
    const { left, top, height } = element.getBoundingClientRect();
    showTip({ clientX: left - 14, clientY: top + height - 12 }, ...wordLines(element.word));
    byId("word-said").textContent = `${element.textContent}: ${element.word.topics.slice(0, 3).map(({ topic, share }) => `${words.topic} ${topic} ${percent(share)}`).join(", ")}`;
  };
  box.addEventListener("pointermove", (event) => {
    const element = event.target.closest(".word");
    if (element) showTip(event, ...wordLines(element.word));
    else hideTip();
  });
  box.addEventListener("pointerleave", hideTip);
  box.addEventListener("click", (event) => { const element = event.target.closest(".word"); if (element) choose({ topic: element.word.topics[0].topic }); });
  box.addEventListener("blur", () => show(null));
  box.addEventListener("keydown", (event) => {
    const list = [...box.querySelectorAll(".word")], at = list.indexOf(current);
    const next = { ArrowRight: at + 1, ArrowLeft: at < 0 ? 0 : at - 1, Home: 0, End: list.length - 1 }[event.key];
    if (next !== undefined && list.length) {
      event.preventDefault();
      const element = list[Math.max(0, Math.min(list.length - 1, next))];
      element.scrollIntoView({ block: "nearest" });
      show(element);
    } else if (event.key === "Enter" && current) choose({ topic: current.word.topics[0].topic });
    else if (event.key === "Escape") show(null);
  });
}

async function coloredText(sample) {
  const text = await textOf(sample);
  const counted = await explainedWords(sample, text);
  const box = make("div", { class: "text", id: "text", dir: "auto", tabindex: 0, role: "group", "aria-label": "Text; the arrow keys go from word to word" },
    textPieces(text, counted, hits(text, state.parts)).map(wordElement));
  wordKeys(box);
  paintWords(box);
  const choice = make("div", { class: "segmented small", role: "radiogroup", "aria-label": "Colour words by" });
  segmented(choice, "colouring", [{ value: "all", label: `All ${words.topics}` }, { value: "selected", label: `Selected ${words.topic}` }],
    state.colouring, (colouring) => choose({ colouring }));
  const cut = textsAreWhole ? null : make("p", { class: "hint" }, `Documents are cut after ${whole(report.texts.shown)} characters here.`);
  return make("div", { class: "sample-text" },
    make("div", { class: "card-head" }, make("h4", {}, "Text "), choice,
      make("span", { class: "hint" }, `stronger colour: more probable. Point at a word for its ${words.topics}.`)),
    box, cut, make("p", { id: "word-said", class: "unseen", "aria-live": "polite" }));
}

/** Let the reader open the file with the whole documents, which a page cannot open by itself. */
function startSidecar() {
  const place = byId("sidecar");
  place.hidden = report.sidecar === null;
  if (report.sidecar === null) return;
  const note = make("span", { class: "hint", "aria-live": "polite" });
  const input = make("input", {
    type: "file", id: "sidecar-file", class: "unseen", onchange: async () => {
      const right = input.files.length === 1 && await openSidecar(input.files[0]);
      note.textContent = right ? "Documents are shown and searched whole." : `This is not the file of this report. Choose ${report.sidecar.name}, which was written beside it.`;
      if (right) choose({ texts: "whole" });
    },
  });
  place.replaceChildren(make("label", { for: "sidecar-file", class: "quiet" }, "Open whole documents"), input,
    make("span", { class: "hint" }, ` from ${report.sidecar.name}, the file beside this page. `), note);
}

panels.push(() => {
  watch(["topic", "colouring", "theme"], () => { const box = byId("text"); if (box) paintWords(box); });
  const mark = async (sample, parts) => {
    const fresh = await coloredText(sample);
    if (sample === state.sample && parts === state.parts) byId("text")?.closest(".sample-text").replaceWith(fresh);
  };
  watch(["parts"], () => { if (byId("text")) whileBusy(mark(state.sample, state.parts)); });
});
