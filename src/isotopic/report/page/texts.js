"use strict";
// The documents, and where terms occur in them.

const textsInPage = report.archives.texts ? new Archive(report.archives.texts.bounds, inPage("texts")) : null;
let textArchive = textsInPage;
let textsAreWhole = report.texts !== null && report.texts.shown === null;

/** Read whole documents from the file beside the page, which the reader has chosen. */
async function openSidecar(file) {
  const { head, archives } = report.sidecar;
  if ((await file.slice(0, head.length).text()) !== head) return false;
  const { bounds, starts } = archives.texts;
  textArchive = new Archive(bounds, async (i) => new Uint8Array(await file.slice(starts[i], starts[i + 1]).arrayBuffer()));
  textsAreWhole = true;
  return true;
}

async function textOf(sample) {
  const [{ texts }, at] = await textArchive.find(sample);
  return texts[at];
}

const WORD = "\\p{L}\\p{M}\\p{N}_";
const RUN = new RegExp(`[${WORD}]+|[^\\s]`, "gu");
const FIRST_RUN = new RegExp(`^(?:[${WORD}]+|.)`, "su");
const NEXT_IN_WORD = new RegExp(`[${WORD}]`, "uy");
// Scripts that are written without spaces between words.
const UNSPACED = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;

/** Lower case without a change of length, so that places in the text stay the same. */
function lowered(text) {
  const low = text.toLowerCase();
  const same = low.length === text.length ? low
    : Array.from(text, (sign) => (sign.toLowerCase().length === sign.length ? sign.toLowerCase() : sign)).join("");
  return same.replaceAll("’", "'");
}

/** The terms of a sample by the word they begin with; the longest first, and the exact case first. */
function termIndex(terms) {
  const index = new Map();
  for (const term of terms) {
    const name = termName(term).replaceAll("’", "'"), low = lowered(name);
    if (!low.trim()) continue;
    const words = low.split(/\s+/);
    // A term of several words may be written with any space or punctuation between them.
    const pattern = words.length < 2 ? null : new RegExp(words.map(escaped).join(`[^${WORD}]+`), "uy");
    const key = UNSPACED.test(low) ? low.slice(0, 1) : FIRST_RUN.exec(low)[0];
    if (!index.has(key)) index.set(key, []);
    index.get(key).push({ term, name, low, pattern });
  }
  for (const list of index.values()) list.sort((a, b) => b.low.length - a.low.length || (b.name === b.low) - (a.name === a.low));
  return index;
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");

/** The term that occurs at a place of a text, and where it ends. */
function termAt(candidates, text, low, at, isUnspaced) {
  let found = null;
  for (const { term, name, low: wanted, pattern } of candidates || []) {
    let end = at + wanted.length;
    if (pattern) {
      pattern.lastIndex = at;
      if (!pattern.test(low)) continue;
      end = pattern.lastIndex;
    } else if (!low.startsWith(wanted, at)) continue;
    NEXT_IN_WORD.lastIndex = end;
    if (!isUnspaced && NEXT_IN_WORD.test(low)) continue;
    if (found && wanted.length < found.length) break;
    if (!found || text.startsWith(name, at)) found = { term, start: at, end, length: wanted.length };
  }
  return found;
}

/** Where the terms of a sample occur in its text, in order and without overlap. */
function occurrences(text, terms) {
  const index = termIndex(terms), low = lowered(text), found = [];
  let from = 0;
  const add = (at, key, isUnspaced) => {
    if (at < from) return;
    const here = termAt(index.get(key), text, low, at, isUnspaced);
    if (here) { found.push(here); from = here.end; }
  };
  for (const run of low.matchAll(RUN)) {
    if (UNSPACED.test(run[0])) for (let i = 0; i < run[0].length; i += 1) add(run.index + i, run[0][i], true);
    else add(run.index, run[0], false);
  }
  return found;
}
