// Builds the page of published figures from its JSON block: predicted against published values, and the rows behind them.
"use strict";
(() => {
  const { make } = tables;
  const { seconds, bytes } = charts.text;
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const KEYS = ["program", "machine", "arithmetic"];
  let key = KEYS[0];

  const median = (values) => {
    const sorted = [...values].sort((a, b) => a - b);
    const middle = (sorted.length - 1) / 2;
    return (sorted[Math.floor(middle)] + sorted[Math.ceil(middle)]) / 2;
  };
  const percent = (value) => `${(100 * value).toFixed(1)} %`;
  const change = (value) => `${value < 0 ? "\u2212" : "+"}${percent(Math.abs(value))}`;
  const text = (name, title, isLong = false) => ({ key: name, title, is_text: true, is_long: isLong });

  const sections = [
    { id: "times", title: "Times", kind: "time", format: seconds, base: 10, what: "seconds of a step, or of the phases that the source timed" },
    { id: "peaks", title: "Peaks of memory", kind: "memory", format: bytes, base: 2, what: "peak bytes of the rank with the highest peak" },
  ].map((one) => ({ ...one, points: data.points.filter(({ kind }) => kind === one.kind) })).filter(({ points }) => points.length);

  // Errors of each series.
  function groups({ points }) {
    return [...new Set(points.map((one) => one[key]))].sort().map((name) => {
      const errors = points.filter((one) => one[key] === name).map(({ error }) => Math.abs(error)).sort((a, b) => a - b);
      return { name, figures: errors.length, median: median(errors), within: errors[Math.ceil(0.9 * errors.length) - 1] };
    });
  }

  const drawn = [];
  function draw() {
    for (const chart of drawn) looks.draw(chart, charts.scatter(data, { ...chart.section, key }, looks.of(chart.node)));
  }

  function fill() {
    at("selector").replaceChildren(make("span", { class: "axis" }, "one series per", ...KEYS.map((one) => {
      const button = make("button", { type: "button", "aria-pressed": one === key, "data-key": one }, one);
      button.addEventListener("click", () => {
        key = one;
        fill();
        at("selector").querySelector(`[data-key=${one}]`).focus();
      });
      return button;
    })));
    for (const section of sections) {
      const table = { name: `errors of ${section.title.toLowerCase()}`, rows: groups(section), columns: [text("name", key),
        { key: "figures", title: "figures" }, { key: "median", title: "median", text: (row) => percent(row.median) },
        { key: "within", title: "90 %", text: (row) => percent(row.within) }] };
      at(section.id).querySelector(".list").replaceChildren(tables.node(table), tables.tools(table));
    }
    draw();
  }

  function rowsOf(section) {
    const value = (name) => ({ key: name, title: name, text: (row) => section.format(row[name]) });
    return { name: section.id, rows: section.points, columns: [text("id", "figure"), text("machine", "machine"), text("model", "model"),
      text("program", "program"), text("arithmetic", "arithmetic"), text("quantity", "quantity"), value("published"), value("predicted"),
      { key: "error", title: "error", text: (row) => change(row.error) }, text("source", "source", true)] };
  }

  function build() {
    document.title = `laptime: ${data.title}`;
    at("title").textContent = data.title;
    at("headline").textContent = data.headline;
    at("program").textContent = `Made by laptime ${data.program}.`;
    for (const section of sections) {
      const errors = section.points.map(({ error }) => Math.abs(error));
      const says = `${section.points.length} figures, median error ${percent(median(errors))}: ${section.what}. The solid line marks equality, and the dashed lines a factor of 1.25 either way.`;
      const chart = make("div", { class: "chart scatter", role: "img", id: `chart-${section.id}`, "aria-label": `${section.title}. ${says}` });
      const details = make("details", {}, make("summary", {}, "All figures"));
      details.addEventListener("toggle", () => {
        if (details.children.length > 1) return;
        const table = rowsOf(section);
        details.append(tables.node(table), tables.tools(table));
      });
      document.querySelector("main").append(make("section", { id: section.id, "aria-labelledby": `${section.id}-title` },
        make("h2", { id: `${section.id}-title` }, section.title), make("div", { class: "body beside" }, chart, make("div", { class: "list" })), make("p", { class: "says" }, says), details));
      drawn.push({ node: chart, section, instance: null });
    }
    looks.start(draw);
    fill();
  }

  build();
})();
