"use strict";
// Drawing again what depends on the state (topic, sample, theme, ...), which each page defines.

/** The panels of the page: each script in panels/ adds one function, which main.js calls. */
const panels = [];

const watchers = [];

/** Call a function now, and again whenever one of these parts of the state changes. */
function watch(names, draw) {
  watchers.push({ names, draw });
  draw();
}

/** Change the state and redraw what depends on it. */
function choose(changes) {
  const changed = Object.keys(changes).filter((name) => state[name] !== changes[name]);
  Object.assign(state, changes);
  for (const { names, draw } of watchers) if (names.some((name) => changed.includes(name))) draw();
}

function startTheme() {
  const button = byId("theme");
  button.addEventListener("click", () => choose({ theme: state.theme === "dark" ? "light" : "dark" }));
  watch(["theme"], () => {
    document.documentElement.dataset.theme = state.theme;
    byId("theme-name").textContent = state.theme === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `${byId("theme-name").textContent} theme`);
  });
}

/** In a narrow window the links to the sections are tabs. */
function startSections() {
  watch(["section"], () => {
    for (const section of document.querySelectorAll("main > section[id]")) section.classList.toggle("current", section.id === state.section);
    for (const link of document.querySelectorAll("nav a")) {
      if (link.hash === `#${state.section}`) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  });
}
