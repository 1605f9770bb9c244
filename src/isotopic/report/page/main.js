"use strict";
// Draw the page: the theme, then every panel.

function startTheme() {
  const button = byId("theme");
  button.addEventListener("click", () => choose({ theme: state.theme === "dark" ? "light" : "dark" }));
  watch(["theme"], () => {
    document.documentElement.dataset.theme = state.theme;
    button.setAttribute("aria-pressed", state.theme === "dark");
    byId("theme-name").textContent = state.theme === "dark" ? "Light" : "Dark";
  });
}

readAddress();
startTheme();
for (const start of panels) start();
startPermalink();
document.documentElement.dataset.ready = "";
