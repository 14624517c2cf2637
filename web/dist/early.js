// Runs before the first paint, so that a chosen theme or language never flashes. No inline script: the page's policy forbids them.
(function () {
  var root = document.documentElement;
  try {
    var theme = localStorage.getItem("holon_theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    var language = localStorage.getItem("holon_language") || navigator.language || "en";
    root.lang = language.toLowerCase().indexOf("zh") === 0 ? "zh-CN" : "en";
  } catch (_) {
    // Storage can be forbidden; the defaults are fine.
  }
})();
