"use strict";
// Everything starts here.

function startTheme() {
  const button = byId("theme");
  button.addEventListener("click", () => choose({ theme: state.theme === "dark" ? "light" : "dark" }));
  watch(["theme"], () => {
    document.documentElement.dataset.theme = state.theme;
    button.setAttribute("aria-pressed", state.theme === "dark");
    byId("theme-name").textContent = state.theme === "dark" ? "Light" : "Dark";
  });
}

startTheme();
startAbout();
startTerms();
startTopics();
startMap();
startReadings();
startStructure();
startSamples();
startConvergence();
document.documentElement.dataset.ready = "";
