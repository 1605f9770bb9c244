"use strict";
// Names of topics: written here, saved as labels.json, and read from there.

const LONGEST_NAME = 80;

/** The names that were given, by topic: those of the model, and those written in the page. */
const givenNames = () => Object.fromEntries(range(nTopics).filter((k) => givenName(k)).map((k) => [k, givenName(k)]));

/** The names in labels.json: an object from topics to names, or a list. Null: it is neither. */
function readLabels(text) {
  let found = null;
  try { found = JSON.parse(text); } catch { return null; }
  if (found === null || typeof found !== "object") return null;
  const names = range(nTopics).filter((k) => typeof found[k] === "string").map((k) => [k, found[k].slice(0, LONGEST_NAME)]);
  return names.length ? Object.fromEntries(names) : null;
}

panels.push(() => {
  const field = byId("topic-name"), note = byId("labels-note"), input = byId("labels-file");
  field.maxLength = LONGEST_NAME;
  field.addEventListener("input", () => choose({ names: { ...state.names, [state.topic]: field.value } }));
  byId("save-labels").addEventListener("click", () => {
    saveFile("labels.json", "application/json", `${JSON.stringify(givenNames(), null, 1)}\n`);
    note.textContent = "Put labels.json into the folder of the fit, or use model.label(\"labels.json\").";
  });
  input.addEventListener("change", async () => {
    const names = input.files.length ? readLabels(await input.files[0].text()) : null;
    note.textContent = names ? `${Object.keys(names).length} names were read.` : `This file holds no names of ${words.topics}.`;
    if (names) choose({ names: { ...state.names, ...names } });
    input.value = "";
  });
  watch(["topic", "names"], () => {
    byId("naming").hidden = state.topic === null;
    if (state.topic === null) return;
    const given = givenName(state.topic);
    if (field.value.trim() !== given) field.value = given;
    field.placeholder = labels[state.topic];
  });
});
