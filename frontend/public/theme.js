/* Sets theme, density and side bar before the first paint; external, because inline scripts are refused by the page's CSP. */
(function () {
  var root = document.documentElement;
  var saved = function (key) {
    try { return localStorage.getItem("proctor." + key); } catch (_) { return null; }
  };
  var theme = saved("theme");
  if (theme !== "light" && theme !== "dark") {
    theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  }
  root.dataset.theme = theme;
  root.dataset.density = saved("density") || "default";
  root.dataset.side = saved("side") || (location.pathname.indexOf("/trace/") === 0 ? "shut" : "open");
})();
