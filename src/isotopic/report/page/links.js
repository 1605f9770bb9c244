"use strict";
// The state in the address of the page. `KEPT` says how each part is written and read.

const oneOf = (allowed) => (text) => (allowed.includes(text) ? text : undefined);
const numberBelow = (n) => (text) => (/^\d+$/.test(text) && Number(text) < n ? Number(text) : undefined);

const initial = {};

/** The state as text: only what is not as it was at first. */
function stateText() {
  const parts = new URLSearchParams();
  for (const [name, { write }] of Object.entries(KEPT))
    if (JSON.stringify(state[name]) !== initial[name]) parts.set(name, write(state[name]));
  return String(parts);
}

/** What a link says of the state; what makes no sense is left out. */
function stateFrom(text) {
  const changes = {}, parts = new URLSearchParams(text);
  for (const [name, { read }] of Object.entries(KEPT)) {
    const value = parts.has(name) ? read(parts.get(name)) : undefined;
    changes[name] = value === undefined ? JSON.parse(initial[name]) : value;
  }
  return changes;
}

/** Take the state from the address, before anything is drawn. */
function readAddress() {
  for (const name of Object.keys(KEPT)) initial[name] = JSON.stringify(state[name]);
  if (location.hash.includes("=")) Object.assign(state, stateFrom(location.hash.slice(1)));
}

/** Keep the address up to date, and follow it when a link is opened in the same page. */
function startPermalink() {
  let written = location.hash.slice(1);
  watchers.push({ names: Object.keys(KEPT), draw: () => {
    written = stateText();
    history.replaceState(null, "", `#${written}`);
  } });
  addEventListener("hashchange", () => {
    const asked = location.hash.slice(1);
    if (asked === written || !asked.includes("=")) return;
    choose(stateFrom(asked));
    for (const input of document.querySelectorAll("input[type=radio]")) input.checked = String(state[input.name]) === input.value;
    for (const input of document.querySelectorAll("input[type=range]")) input.value = state[input.id];
  });
  // Links to sections scroll, and leave the address alone.
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (!link) return;
    event.preventDefault();
    const target = byId(link.getAttribute("href").slice(1)), section = target.closest("section[id]");
    if (section) choose({ section: section.id });
    target.scrollIntoView();
    target.setAttribute("tabindex", -1);
    target.focus({ preventScroll: true });
  });
  byId("copy-link").addEventListener("click", async () => {
    let done = true;
    try { await navigator.clipboard.writeText(location.href); } catch { done = false; }
    const note = byId("link-note");
    note.textContent = done ? "Copied: the link opens this page as you see it." : "Copy the address of this page: it has the link.";
    setTimeout(() => { note.textContent = ""; }, 4000);
  });
}
