// Builds the page of published figures from its JSON block: predicted against published values, and the rows behind them.
"use strict";
(() => {
  const { at, make, text, value, listed, choice, fold } = tables;
  const { seconds, bytes } = charts.text;
  const data = JSON.parse(at("data").textContent);
  const KEYS = ["program", "machine", "arithmetic"];
  let key = KEYS[0];

  const percent = (error) => `${(100 * error).toFixed(1)} %`;
  const change = (error) => `${error < 0 ? "\u2212" : "+"}${percent(Math.abs(error))}`;

  // The number of errors, their median, and their 90th percentile.
  function summary(points) {
    const errors = points.map(({ error }) => Math.abs(error)).sort((a, b) => a - b);
    const middle = (errors.length - 1) / 2;
    return { figures: errors.length, median: (errors[Math.floor(middle)] + errors[Math.ceil(middle)]) / 2, within: errors[Math.ceil(0.9 * errors.length) - 1] };
  }

  const sections = [
    { id: "times", title: "Times", kind: "time", format: seconds, base: 10, what: "seconds of a step, or of the phases that the source timed" },
    { id: "peaks", title: "Memory peaks", kind: "memory", format: bytes, base: 2, what: "peak bytes of the rank with the highest peak" },
  ].map((one) => ({ ...one, points: data.points.filter(({ kind }) => kind === one.kind) })).filter(({ points }) => points.length);

  function errorsOf({ title, points }) {
    const names = [...new Set(points.map((one) => one[key]))].sort();
    return listed(`errors of ${title.toLowerCase()}`, [text("name", key), value("figures", "figures", String), value("median", "median", percent), value("within", "90 %", percent)],
      names.map((name) => ({ name, ...summary(points.filter((one) => one[key] === name)) })));
  }

  const figuresOf = ({ id, points, format }) => listed(id, [text("id", "figure"), text("machine", "machine"), text("model", "model"),
    text("program", "program"), text("arithmetic", "arithmetic"), text("quantity", "quantity"), value("published", "published", format),
    value("predicted", "predicted", format), value("error", "error", change), text("source", "source", true)], points);

  function draw() {
    for (const section of sections) looks.draw(section.chart, charts.scatter({ ...section, key }, looks.of(section.chart.node)));
  }

  function fill() {
    at("selector").replaceChildren(choice("one series per", KEYS, key, (one) => {
      key = one;
      fill();
    }));
    for (const section of sections) at(section.id).querySelector(".list").replaceChildren(errorsOf(section));
    draw();
  }

  document.title = `laptime: ${data.title}`;
  for (const id of ["title", "headline"]) at(id).textContent = data[id];
  at("program").textContent = `Made by laptime ${data.program}.`;
  at("selector").setAttribute("aria-label", "Series");
  for (const section of sections) {
    const { id, title, points, what } = section;
    const says = `${points.length} figures, median error ${percent(summary(points).median)}: ${what}. The solid line marks equality, and the dashed lines a factor of 1.25 either way.`;
    section.chart = { node: make("div", { class: "chart scatter", role: "img", id: `chart-${id}`, "aria-label": `${title}. ${says}` }) };
    at("main").append(make("section", { id, "aria-labelledby": `${id}-title` }, make("h2", { id: `${id}-title` }, title),
      make("div", { class: "body beside" }, section.chart.node, make("div", { class: "list" })), make("p", { class: "says" }, says),
      fold("All figures", () => [figuresOf(section)])));
    document.querySelector("nav").append(make("a", { href: `#${id}` }, title));
  }
  looks.start(draw);
  fill();
})();
