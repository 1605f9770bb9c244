"use strict";
// What is compared, and what is selected. `report` is the payload; side 0 is the first fit.

const { words, fits, terms, partners } = report;
const nTopics = fits.map(({ counts }) => counts.length);
const explained = fits.map(({ counts }) => counts.reduce((sum, value) => sum + value, 0));
const share = (side, k) => fits[side].counts[k] / explained[side];
const nSamples = report.samples.names.length;
const moved = (k, j) => report.moves[k * nTopics[1] + j];
const similarity = (k, j) => report.similarity[k * nTopics[1] + j];
const allMoved = report.moves.reduce((sum, value) => sum + value, 0) || 1;
const partnerOf = [partners, range(nTopics[1]).map((j) => partners.indexOf(j))];

const byShare = range(nTopics[0]).sort((a, b) => share(0, b) - share(0, a) || a - b);
/** The topics of the second fit: each near its partner, the others near the topic they share most with. */
const closest = (j) => (partnerOf[1][j] >= 0 ? partnerOf[1][j] : range(nTopics[0]).reduce((best, k) => (moved(k, j) > moved(best, j) ? k : best), 0));
const secondOrder = range(nTopics[1]).sort((a, b) => byShare.indexOf(closest(a)) - byShare.indexOf(closest(b)) || (partnerOf[1][b] >= 0) - (partnerOf[1][a] >= 0) || share(1, b) - share(1, a));
const orders = [byShare, secondOrder];

// A topic of the second fit has the colour of its partner; one without has a colour of its own.
const places = [[], []];
byShare.forEach((k, place) => { places[0][k] = place; });
let unused = nTopics[0];
for (const j of secondOrder) places[1][j] = partnerOf[1][j] >= 0 ? places[0][partnerOf[1][j]] : unused++;
const channels = (side, k) => tone(places[side][k]);
const colour = (side, k) => `rgb(${channels(side, k).join(", ")})`;
const swatch = (side, k) => styled(make("span", { class: "swatch" }, String(k)), { background: colour(side, k), color: inkFor(channels(side, k)) });
const topicName = (side, k) => fits[side].names?.[k] || terms.listed[side][k].slice(0, 4).map((term) => terms.names[term]).join(" · ");

/** All pairs: matched ones, and topics without a partner. */
const pairs = [
  ...byShare.map((k) => ({ id: `${k}-${partners[k]}`, topics: [k, partners[k]] })),
  ...secondOrder.filter((j) => partnerOf[1][j] < 0).map((j) => ({ id: `-1-${j}`, topics: [-1, j] })),
];
const likeness = ({ topics: [k, j] }) => (k < 0 || j < 0 ? -1 : similarity(k, j));

const state = {
  a: byShare[0] ?? 0, // the selected topic of each fit
  b: Math.max(0, partners[byShare[0]] ?? 0),
  section: "topics",
  sort: "share",
  sample: 0,
  query: "",
  withTopic: false,
  theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
};

/** Select a topic on one side, and on the other the one that shares most with it: first its partner. */
function select(side, k) {
  const partner = partnerOf[side][k];
  const others = range(nTopics[1 - side]);
  const pair = (other) => (side === 0 ? moved(k, other) : moved(other, k));
  const other = partner >= 0 ? partner : others.reduce((best, i) => (pair(i) > pair(best) ? i : best), 0);
  choose(side === 0 ? { a: k, b: other } : { a: other, b: k });
}

const KEPT = {
  a: { write: (k) => k, read: numberBelow(nTopics[0]) },
  b: { write: (k) => k, read: numberBelow(nTopics[1]) },
  sort: { write: (text) => text, read: oneOf(["share", "similarity"]) },
  sample: { write: (i) => i, read: numberBelow(nSamples) },
  query: { write: (text) => text, read: (text) => text.slice(0, 500) },
  withTopic: { write: (flag) => (flag ? 1 : 0), read: (text) => text === "1" },
  theme: { write: (text) => text, read: oneOf(["light", "dark"]) },
};
