"use strict";
// Search: every word of every document, or every term of every sample; phrases in quotation marks.

/** The parts of a query: words, which may be parts of words, and quoted phrases, which are whole. */
function queryParts(asked) {
  const parts = [];
  for (const [, phrase, word] of asked.matchAll(/["“”„]([^"“”„]+)["“”„]?|([^\s"“”„]+)/g)) {
    const words = (phrase ?? word).trim().split(/\s+/).filter(Boolean).map((text) => escaped(text).replace(/['’]/g, "['’]"));
    if (!words.length) continue;
    const pattern = words.join(`[^${WORD}]+`);
    parts.push(new RegExp(phrase === undefined ? pattern : `(?<![${WORD}])${pattern}(?![${WORD}])`, "giu"));
  }
  return parts;
}

const occursIn = (pattern, text) => { pattern.lastIndex = 0; return pattern.test(text); };

/** Which of the terms a part of the query matches, as a table of flags. */
function matchingTerms(pattern) {
  const flags = new Uint8Array(report.terms.names.length);
  report.terms.names.forEach((name, term) => { if (occursIn(pattern, name)) flags[term] = 1; });
  return flags;
}

/** Let `found[part]` say which samples contain a part of the query among their terms. */
async function findTerms(parts, found, isStale) {
  const flags = parts.map(matchingTerms), { own } = report.samples;
  const scan = (terms, starts, first) => {
    for (let row = 0; row + 1 < starts.length; row += 1)
      flags.forEach((flag, part) => {
        for (let i = starts[row]; i < starts[row + 1] && !found[part][first + row]; i += 1)
          if (flag[terms[i]]) found[part][first + row] = 1;
      });
  };
  if (own) scan(own.terms, own.starts, 0);
  for (let i = 0; rowArchive && i < rowArchive.length && !isStale(); i += 1) {
    const { terms, starts } = await rowArchive.chunk(i);
    scan(terms, starts, rowArchive.bounds[i]);
  }
}

async function findTexts(parts, found, isStale) {
  for (let i = 0; i < textArchive.length && !isStale(); i += 1) {
    const { texts } = await textArchive.chunk(i);
    const first = textArchive.bounds[i];
    texts.forEach((text, at) => parts.forEach((part, p) => { if (!found[p][first + at] && occursIn(part, text)) found[p][first + at] = 1; }));
  }
}

/** The samples that contain all parts of a query; matches of the name come first. */
async function findSamples(asked, isStale = () => false) {
  const parts = queryParts(asked);
  if (!parts.length) return { parts, samples: range(nSamples) };
  const found = parts.map((part) => Uint8Array.from(report.samples.names, (name) => occursIn(part, name)));
  const named = Uint8Array.from(range(nSamples), (sample) => found.every((flags) => flags[sample]));
  if (textArchive) await findTexts(parts, found, isStale);
  if (!textArchive || !textsAreWhole) await findTerms(parts, found, isStale);
  const samples = range(nSamples).filter((sample) => found.every((flags) => flags[sample]));
  return { parts, samples: [...samples.filter((sample) => named[sample]), ...samples.filter((sample) => !named[sample])] };
}

/** The places in a text that a query matches. */
function hits(text, parts) {
  for (const part of parts) part.lastIndex = 0; // where a test has left it
  return parts.flatMap((part) => [...text.matchAll(part)].map((hit) => ({ start: hit.index, end: hit.index + hit[0].length })))
    .filter(({ start, end }) => end > start).sort((a, b) => a.start - b.start);
}

/** A text with its hits marked. */
function withHits(text, parts) {
  const pieces = [];
  let from = 0;
  for (const { start, end } of hits(text, parts)) {
    if (start < from) continue;
    pieces.push(text.slice(from, start), make("mark", { class: "hit" }, text.slice(start, end)));
    from = end;
  }
  return [...pieces, text.slice(from)];
}

/** The surroundings of the first hit in a text. */
function snippet(text, parts) {
  const first = hits(text, parts)[0];
  if (!first) return null;
  const from = Math.max(0, first.start - 40);
  const cut = [...text.slice(from, first.end + 80)].join("").replace(/\s+/g, " ");
  return make("bdi", { class: "snippet", dir: "auto" }, from > 0 ? "…" : "", withHits(cut, parts));
}
