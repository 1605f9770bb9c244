"use strict";
// The colours of topics.

// Ten hues that colour-blind readers can distinguish, then lighter and darker ones.
const HUES = ["#4477aa", "#ee8833", "#228866", "#cc4466", "#7755bb", "#bbaa33", "#55b5dd", "#a3527d", "#77bb55", "#997755"];
const TONES = [[0, 0], [255, 0.45], [20, 0.28], [255, 0.68], [20, 0.48]];

/** Red, green and blue of the topic with this rank, the largest first. */
function tone(place) {
  const hue = HUES[place % HUES.length];
  const [towards, part] = TONES[Math.floor(place / HUES.length) % TONES.length];
  const channel = (at) => Math.round(parseInt(hue.slice(at, at + 2), 16) * (1 - part) + towards * part);
  return [channel(1), channel(3), channel(5)];
}

/** Black or white, whichever has more contrast to a colour (WCAG 2): at least 4.5 to 1. */
function inkFor(colour) {
  const [r, g, b] = colour.map((value) => (value > 10 ? ((value / 255 + 0.055) / 1.055) ** 2.4 : value / 3294.6));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}
