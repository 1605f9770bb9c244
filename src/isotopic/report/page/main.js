"use strict";
// Draw the page: the theme, then every panel.

readAddress();
startTheme();
startSections();
for (const start of panels) start();
startPermalink();
document.documentElement.dataset.ready = "";
