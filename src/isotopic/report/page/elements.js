"use strict";
// Making elements and formatting numbers. Text from the data only becomes text nodes, never markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null));
  return node;
}

const make = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const makeSvg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const byId = (id) => document.getElementById(id);

/** Set CSS properties one by one: the content security policy forbids inline styles. */
function styled(node, properties) {
  for (const [name, value] of Object.entries(properties)) node.style.setProperty(name, value);
  return node;
}

/** A name or text from the data, isolated because it may be written from right to left. */
const said = (text, className) => make("bdi", { class: className, dir: "auto" }, text.trim() ? text : "(no name)");

/** A group of radio buttons. */
function segmented(container, name, options, chosen, choose) {
  container.replaceChildren(
    ...options.map(({ value, label, title }) => {
      const input = make("input", {
        type: "radio", name, value, id: `${name}-${value}`, onchange: () => choose(value),
      });
      input.checked = value === chosen;
      return make("label", { for: input.id, title }, input, make("span", {}, label));
    }),
  );
}

/** Let arrow keys, Home and End select from a list that has the focus. */
function listKeys(container, keys, current, choose) {
  container.addEventListener("keydown", (event) => {
    const list = keys();
    const at = list.indexOf(current());
    const steps = { ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1, Home: 0, End: list.length - 1 };
    if (!(event.key in steps) || !list.length) return;
    event.preventDefault();
    choose(list[Math.max(0, Math.min(list.length - 1, steps[event.key]))]);
  });
}

/** Mark the selected entry of a list, or none. Only what changes is touched, since lists are long. */
function markSelected(container, entry) {
  for (const before of container.querySelectorAll('[aria-selected="true"]')) before.setAttribute("aria-selected", "false");
  entry?.setAttribute("aria-selected", "true");
  if (entry) container.setAttribute("aria-activedescendant", entry.id);
  else container.removeAttribute("aria-activedescendant");
}

/** Let arrow keys, Home and End go through the options of a drawing; Enter and the space bar do what a click does. */
function optionKeys(container) {
  const options = () => [...container.querySelectorAll('[role="option"]')];
  const current = () => container.querySelector('[aria-selected="true"]');
  listKeys(container, options, current, (option) => {
    markSelected(container, option);
    option.scrollIntoView({ block: "nearest", behavior: "instant" });
    const { left, top, width, height } = option.getBoundingClientRect();
    option.dispatchEvent(new PointerEvent("pointermove", { clientX: left + width / 2, clientY: top + height / 2 }));
  });
  container.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    hideTip();
    current()?.dispatchEvent(new MouseEvent("click"));
  });
  container.addEventListener("blur", () => { markSelected(container, null); hideTip(); });
}

/** Scroll the list, not the page, until an entry is visible. */
function reveal(container, entry) {
  if (!entry) return;
  const top = entry.offsetTop - container.offsetTop;
  if (top < container.scrollTop) container.scrollTop = top;
  else if (top + entry.offsetHeight > container.scrollTop + container.clientHeight)
    container.scrollTop = top + entry.offsetHeight - container.clientHeight;
}

/** Show a tooltip next to the pointer. */
function showTip(event, ...lines) {
  const tip = byId("tip");
  tip.replaceChildren(...lines.map((line) => make("div", {}, line)));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, innerWidth - width - 8);
  const top = event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18;
  styled(tip, { left: `${Math.max(8, left)}px`, top: `${top}px` });
}

const hideTip = () => { byId("tip").hidden = true; };

/** Say that something is being read, until the function that this returns is called. */
function busy() {
  const { dataset } = document.documentElement;
  dataset.busy = Number(dataset.busy || 0) + 1;
  return () => {
    dataset.busy -= 1;
    if (dataset.busy === "0") delete dataset.busy;
  };
}

function whileBusy(promise) {
  const end = busy();
  promise.then(end, (error) => { end(); throw error; });
}

const range = (n) => Array.from({ length: n }, (_, i) => i);

// Formatting numbers.
const whole = (value) => Math.round(value).toLocaleString("en");
function percent(value) {
  if (value >= 0.0995) return `${(100 * value).toFixed(0)}%`;
  return value >= 0.001 || value === 0 ? `${(100 * value).toFixed(1)}%` : `${Number((100 * value).toPrecision(2))}%`;
}

/** A number in little space. */
const brief = (value) => (value < 1e5 ? number(value) : value.toLocaleString("en", { notation: "compact", maximumSignificantDigits: 3 }));

function number(value) {
  if (value === null || !Number.isFinite(value)) return "not finite";
  const size = Math.abs(value);
  if (size >= 1000 || (size > 0 && Number.isInteger(value))) return whole(value);
  if (size >= 100) return value.toFixed(0);
  if (size >= 1) return value.toFixed(1);
  if (size >= 0.001) return value.toFixed(3);
  return size === 0 ? "0" : value.toExponential(1);
}
