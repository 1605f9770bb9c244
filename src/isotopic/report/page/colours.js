"use strict";
// The colours of topics.

// Those of the plots (plot/style.py), which colour-blind readers can distinguish; then lighter and darker ones.
const HUES = [
  "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#78005a",
  "#4b4b00", "#00f0c3", "#3c1ea5", "#875a69", "#8769f0", "#d2c3ff", "#87c369", "#b40f3c",
  "#ffc396", "#b43c96", "#b4a596", "#5a4bc3", "#004b87", "#c378ff", "#ff78d2", "#87874b",
];
const TONES = [[0, 0], [255, 0.45], [20, 0.28], [255, 0.68], [20, 0.48]];

/** Red, green and blue of the colour at a place. */
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
