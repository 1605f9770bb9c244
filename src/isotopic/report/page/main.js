"use strict";
// Draw the page: the theme, then every panel.

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

readAddress();
startTheme();
startSections();
for (const start of panels) start();
startPermalink();
document.documentElement.dataset.ready = "";
