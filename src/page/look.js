// How charts look (light or dark, patterned, on a screen or on paper), and when they are redrawn.
"use strict";
const looks = (() => {
  const PAPER = 690; // pixel width of a printed page
  const root = document.documentElement;
  const { at } = tables;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  let printing = false;
  let patterns = false;
  let redraw = () => {};

  // Returns the look of a chart in this node.
  function of(node) {
    const style = getComputedStyle(root);
    const color = (name) => style.getPropertyValue(`--${name}`).trim();
    return { ink: color("ink"), muted: color("muted"), line: color("line"), ground: color("ground"), accent: color("accent"),
      font: getComputedStyle(document.body).fontFamily, patterns: patterns || printing, width: printing ? PAPER : node?.clientWidth || PAPER };
  }

  // Draws `option` into chart.node; null hides it. On a click, passes the result of option.clicked to `chosen`.
  function draw(chart, option, chosen = () => {}) {
    chart.node.hidden = option === null;
    if (!option) return;
    const { clicked, height, ...shown } = option;
    chart.node.style.height = height ? `${height}px` : "";
    if (!chart.instance) {
      chart.instance = echarts.init(chart.node, null, { renderer: "svg" });
      chart.instance.on("click", (event) => chosen(chart.clicked?.(event)));
    }
    chart.clicked = clicked;
    chart.instance.resize({ width: of(chart.node).width, height: height ?? chart.node.clientHeight });
    chart.instance.setOption(shown, { notMerge: true });
  }

  function show(dark) {
    root.dataset.look = dark ? "dark" : "light";
    at("dark").setAttribute("aria-pressed", dark);
    redraw();
  }

  // Calls `drawAll` now, and whenever the look or the width changes.
  function start(drawAll) {
    redraw = drawAll;
    at("dark").addEventListener("click", () => show(root.dataset.look !== "dark"));
    at("patterns").addEventListener("click", ({ target }) => {
      patterns = !patterns;
      target.setAttribute("aria-pressed", patterns);
      redraw();
    });
    prefersDark.addEventListener("change", () => show(prefersDark.matches));
    let waiting = 0;
    addEventListener("resize", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => printing || redraw(), 120);
    });
    addEventListener("beforeprint", () => {
      printing = true;
      root.dataset.look = "light";
      redraw();
    });
    addEventListener("afterprint", () => {
      printing = false;
      show(at("dark").getAttribute("aria-pressed") === "true");
    });
    show(prefersDark.matches);
  }

  return { of, draw, start };
})();
