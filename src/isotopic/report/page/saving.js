"use strict";
// What can be saved: tables as CSV, pictures as SVG and PNG. A panel adds its own to `saves`.

/** Each entry: { label, file, type, content() }, where content returns text, a Blob, or a promise of one. */
const saves = [];

/** Let the reader save a file that the page has made. */
function saveFile(name, type, ...content) {
  const address = URL.createObjectURL(new Blob(content, { type }));
  const link = make("a", { href: address, download: name, class: "unseen" });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

const cell = (value) => (typeof value === "number" ? String(value) : `"${String(value).replaceAll('"', '""')}"`);
const asCsv = (header, rows) => [header, ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";

/** Offer a table: `rows` returns its rows when it is saved. */
const offerTable = (label, file, header, rows) => saves.push({ label, file: `${file}.csv`, type: "text/csv", content: async () => asCsv(header(), await rows()) });

const DRAWN = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-weight", "font-family", "text-anchor", "paint-order"];

/** A drawing as a file of its own, with the style that the page gives it. */
function svgText(svg) {
  const copy = svg.cloneNode(true), { width, height } = svg.viewBox.baseVal;
  const originals = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, i) => {
    const style = getComputedStyle(originals[i]);
    for (const name of DRAWN) element.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "id", "role", "tabindex", "aria-selected"]) element.removeAttribute(name);
  });
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.prepend(makeSvg("rect", { width, height, fill: getComputedStyle(document.body).getPropertyValue("--card").trim() }));
  return new XMLSerializer().serializeToString(copy);
}

const canvasBlob = (canvas) => new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });

/** A drawing as pixels, at twice its size. */
async function svgPixels(svg) {
  const { width, height } = svg.viewBox.baseVal, image = new Image();
  const address = URL.createObjectURL(new Blob([svgText(svg)], { type: "image/svg+xml" }));
  await new Promise((resolve, reject) => { image.onload = resolve; image.onerror = reject; image.src = address; });
  const canvas = make("canvas", { width: 2 * width, height: 2 * height });
  canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
  URL.revokeObjectURL(address);
  return canvasBlob(canvas);
}

/** Offer a drawing in both forms; `find` returns the element when it is saved. */
function offerDrawing(label, file, find) {
  saves.push({ label: `${label} (SVG)`, file: `${file}.svg`, type: "image/svg+xml", content: async () => svgText(find()) });
  saves.push({ label: `${label} (PNG)`, file: `${file}.png`, type: "image/png", content: () => svgPixels(find()) });
}

/** Offer a canvas, on the background of the page. */
const offerCanvas = (label, file, find) => saves.push({
  label: `${label} (PNG)`, file: `${file}.png`, type: "image/png",
  content: () => {
    const drawn = find(), canvas = make("canvas", { width: drawn.width, height: drawn.height }), pen = canvas.getContext("2d");
    pen.fillStyle = getComputedStyle(document.body).getPropertyValue("--card").trim();
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(drawn, 0, 0);
    return canvasBlob(canvas);
  },
});

/** The menu of what can be saved. */
function startSaveMenu() {
  const menu = byId("save-menu");
  const close = (event) => { if (menu.open && !menu.contains(event.target)) menu.open = false; };
  document.addEventListener("click", close);
  menu.addEventListener("keydown", (event) => { if (event.key === "Escape") { menu.open = false; menu.querySelector("summary").focus(); } });
  menu.addEventListener("toggle", () => {
    if (!menu.open) return;
    byId("save-list").replaceChildren(...saves.map(({ label: text, file, type, content }) => make("button", {
      type: "button", "data-file": file, onclick: async () => { saveFile(file, type, await content()); menu.open = false; },
    }, text, make("span", { class: "hint" }, ` ${file}`))));
  });
}
