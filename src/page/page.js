// Builds the page from its JSON block, and tracks one selected point that all charts and tables follow.
"use strict";
(() => {
  const { at, make, text, value, listed, choice, fold } = tables;
  const { seconds, bytes, count, percent, error } = charts.text;
  const data = JSON.parse(at("data").textContent);
  let selected = data.selected;
  const point = () => data.points[selected];
  const trace = () => data.traces[point().trace];

  // Tables ----------------------------------------------------------------------------------------------------------

  const mark = data.points.every(({ predicted }) => predicted) ? "" : " (predicted)";
  const shown = (one) => (one ?? "").replace(/^roofline:(.*)/, `$1${mark}`).replaceAll("_", " ") || "default";
  const axisColumns = data.axes.map(({ key, title }) => ({ ...text(key, title), text: (row) => shown(row[key]) }));
  const named = (one) => ({ point: one.full_name, ...one.values });
  const phaseTime = (one, phase) => one.phases.find((each) => each.phase === phase)?.median_s ?? null;
  const phaseNames = ["forward", "backward", "optimizer"].filter((phase) => data.points.some((one) => phaseTime(one, phase) !== null));
  const slowest = (group) => Math.max(...data.groups[group].points.map((index) => data.points[index].time?.median_s ?? 0));

  const comparison = {
    name: "points",
    columns: [
      ...(axisColumns.length ? axisColumns : [text("point", "point")]),
      { key: "median_s", title: "time", text: (row) => (row.median_s === null ? row.status.replaceAll("_", " ") : seconds(row.median_s)), bar: (row) => row.median_s / slowest(row.group) },
      ...(data.points.every(({ time }) => (time?.error ?? null) === null) ? [] : [{ key: "error", title: "\u00b1 (95 %)", text: (row) => error(row.error) }]),
      ...phaseNames.map((phase) => value(`${phase}_s`, phase, seconds)),
      value("tokens_per_s", "tokens/s", count), value("of_peak", "of peak", percent), value("peak_bytes", "memory", bytes),
      ...(data.points.some(({ ratio }) => ratio) ? [{ key: "times_as_fast", title: "times as fast", text: (row) => row.ratio_text }] : []),
    ],
    rows: data.points.map((one, index) => ({
      index, group: one.group, status: one.status, ...named(one), median_s: one.time?.median_s ?? null, error: one.time?.error ?? null,
      ...Object.fromEntries(phaseNames.map((phase) => [`${phase}_s`, phaseTime(one, phase)])),
      tokens_per_s: one.tokens_per_s, of_peak: one.of_peak, peak_bytes: one.peak_bytes,
      times_as_fast: one.ratio?.times_as_fast ?? null, ratio_text: one.ratio?.text ?? (data.groups[one.group].base === index ? "1" : "-"),
    })),
    filled: markSelected,
  };

  const kernelColumns = [text("kernel", "kernel", true), text("phase", "phase"), value("share", "share", percent), value("seconds_s", "time", seconds),
    value("calls", "calls", String), value("of_bound", "of bound", percent)];
  const kernels = (of) => [...(of?.kernels ?? [])].sort((a, b) => b.seconds_s - a.seconds_s);
  const roofColumns = [text("op", "op", true), text("phase", "phase"), value("seconds_s", "time", seconds), value("of_roof", "of roof", percent), value("flops_per_s", "FLOP/s", count)];
  const largestColumns = [text("tensor", "tensor", true), text("held_for", "purpose"), text("shape", "shape"), text("dtype", "type"),
    value("bytes", "bytes", bytes), value("count", "count", String), value("alive_at_peak", "at the peak", String)];

  const everywhere = (rows) => data.points.flatMap((one) => rows(one, data.traces[one.trace]).map((row) => ({ ...named(one), ...row })));
  const keyed = (name, rows) => ({ name, rows, columns: [...new Set(rows.flatMap(Object.keys))].map((key) => ({ key, title: key })) });
  const timeKeys = ["median_s", "ci_low_s", "ci_high_s", "mean_s", "std_s", "min_s", "max_s", "samples"];
  const statistics = (time) => Object.fromEntries(timeKeys.map((key) => [key, time?.[key] ?? null]));
  // Everything on the page, as tables that can be saved.
  const everything = () => [
    keyed("points", everywhere((one) => [{ record: one.record, machine: one.machine, created: one.created, status: one.status, reason: one.reason,
      ...statistics(one.time), tokens_per_s: one.tokens_per_s, of_peak: one.of_peak, peak_bytes: one.peak_bytes, predicted_s: one.predicted_s,
      times_as_fast: one.ratio?.times_as_fast ?? null, times_as_fast_low: one.ratio?.low ?? null, times_as_fast_high: one.ratio?.high ?? null,
      verdict: one.verdict, reasons: one.reasons.join("; ") }])),
    keyed("phases", everywhere((one) => one.phases.map(({ phase, ...time }) => ({ phase, ...statistics(time) })))),
    keyed("samples", everywhere((one) => charts.steps(one))),
    keyed("kernels", everywhere((_, of) => of?.kernels ?? [])),
    keyed("memory", everywhere((_, of) => of?.memory.launches.map((launch, i) => ({ launch,
      ...Object.fromEntries(Object.entries(of.memory.held_bytes).map(([name, held]) => [`${name.replaceAll(" ", "_")}_bytes`, held[i]])) })) ?? [])),
    keyed("tensors", everywhere((_, of) => of?.memory.largest ?? [])),
    keyed("roofline", everywhere((_, of) => of?.roofline?.ops ?? [])),
    keyed("answers", data.answers), keyed("published", data.published),
  ].filter(({ rows }) => rows.length);

  // Sections --------------------------------------------------------------------------------------------------------

  const facts = (pairs) => make("dl", { class: "words" }, ...pairs.map(([word, meaning]) => make("div", {}, make("dt", {}, word), make("dd", {}, meaning))));

  // Each section has a chart or a table, the sentence below it, and one collapsible part. `list` is shown next to the
  // chart, or below the sentence if `is_below`.
  const sections = [
    {
      id: "compare", title: "Compare", table: () => tables.node(comparison, ({ index }) => select(index)),
      says: () => (data.points.length > 1 ? `${data.points.length} points; choose a row to see it in every chart below.` : ""),
      folded: () => [point().record ? "Configuration and environment" : "", () => [listed("configuration", [text("key", "option"), text("value", "value", true)],
        Object.entries({ record: point().record, machine: point().machine, created: point().created, status: point().status, reason: point().reason,
          arithmetic: point().arithmetic, ...(point().config ?? point().values) })
          .filter(([, one]) => one !== "").map(([key, one]) => ({ key, value: typeof one === "object" ? JSON.stringify(one) : String(one) })))]],
    },
    {
      id: "work", title: "Where time goes", chart: charts.work, missing: "laptime profile", says: () => point().sentences.work,
      is_below: true, list: () => tables.node({ name: "longest kernels", columns: kernelColumns, rows: kernels(trace()).filter((one) => one.kernels === 1).slice(0, 10) }),
      folded: () => ["All kernels", () => [make("p", {}, `Times are shares of the traced steps multiplied by the median of the point. The mean traced step took ${seconds(trace().traced_s)}.`), listed("kernels", kernelColumns, kernels(trace()))]],
    },
    {
      id: "memory", title: "Memory", chart: charts.memory, second: charts.contexts, says: () => point().sentences.memory,
      folded: () => ["Largest tensors", () => [make("p", {}, `Forward saves ${bytes(trace().memory.saved_bytes)} for backward.`), listed("largest tensors", largestColumns, trace().memory.largest)]],
    },
    {
      id: "roofline", title: "Roofline", chart: charts.roofline, missing: "laptime profile", says: () => point().sentences.roofline,
      list: () => tables.node({ name: "ops under the roofline", columns: roofColumns.slice(0, 4), rows: trace().roofline.ops.slice(0, 7) }),
      folded: () => ["All ops", () => [listed("ops", roofColumns, trace().roofline.ops)]],
    },
    {
      id: "trust", title: "Reliability", chart: charts.trust, missing: "laptime bench", says: () => point().sentences.trust,
      folded: () => ["Verdicts and what they mean", () => [
        listed("verdicts", [text("point", "point"), value("samples", "samples", (number) => String(number ?? "-")), value("error", "± (95 %)", error), text("verdict", "verdict"), text("reasons", "reasons", true)],
          data.groups[point().group].points.map((index) => data.points[index]).filter(({ time }) => time).map((one) => ({ point: one.full_name, samples: one.time.samples, error: one.time.error, verdict: one.verdict.replaceAll("_", " "), reasons: one.reasons.join("; ") }))),
        facts([["± (95 %)", "bootstrap confidence interval of the median; ± is the distance to its farther end. The interval of a ratio includes the uncertainty of both medians."],
          ...Object.entries(data.verdicts).map(([word, meaning]) => [word.replaceAll("_", " "), meaning])])]],
    },
    {
      id: "data", title: "Data", chart: charts.prediction, says: () => "Every number on this page, by table, to copy or to save as CSV.",
      is_below: true, list: () => make("ul", { class: "files" }, ...everything().map((table) => make("li", {}, make("b", {}, table.name), ` ${table.rows.length} `, tables.tools(table)))),
      folded: () => ["Questions and answers", () => [
        facts(data.answers.map(({ question, answer }) => [question, answer])),
        ...(data.published.length ? [make("h3", {}, "Published times for the same work"), listed("published", [text("hardware", "hardware"), text("software", "software"), text("mode", "mode"),
          text("arithmetic", "arithmetic"), text("pass", "pass"), value("context", "context", String), value("seconds_s", "time", seconds), value("here_over_published", "here / published", (ratio) => `${ratio.toPrecision(3)}x`), text("source", "source", true)], data.published)] : [])]],
    },
  ];

  const drawn = []; // {node, option, instance}
  const addChart = (node, option) => drawn.push({ node, option, instance: null });

  function build() {
    document.title = `laptime: ${data.title}`;
    at("title").textContent = data.title;
    at("date").textContent = (point().created ?? "").slice(0, 10);
    at("headline").textContent = data.headline;
    at("selector").setAttribute("aria-label", "Selected point");
    at("doubt").textContent = data.doubt;
    at("program").textContent = `Made by laptime ${data.program}.`;
    const timeChart = make("div", { class: "chart", role: "img", id: "chart-time" });
    document.querySelector("header").append(timeChart, make("p", { class: "says", id: "says-time" }));
    addChart(timeChart, charts.time);
    for (const section of sections) {
      const body = make("div", { class: section.list && !section.is_below ? "body beside" : "body" });
      const says = make("p", { class: "says" });
      const node = make("section", { id: section.id, "aria-labelledby": `${section.id}-title` },
        make("h2", { id: `${section.id}-title` }, section.title, make("small", {})), body, says, make("div", { class: "fold" }));
      document.querySelector("nav").append(make("a", { href: `#${section.id}` }, section.title));
      if (section.table) body.append(section.table(), tables.tools(comparison));
      for (const option of [section.chart, section.second].filter(Boolean)) {
        const chart = make("div", { class: "chart", role: "img", id: `chart-${option === section.second ? "contexts" : section.id}` });
        body.append(chart);
        addChart(chart, option);
      }
      if (section.list) section.is_below ? says.after(make("div", { class: "list" })) : body.append(make("div", { class: "list" }));
      at("main").append(node);
    }
    looks.start(draw);
    update();
  }

  // Selection -------------------------------------------------------------------------------------------------------

  function select(index) {
    if (index === undefined || index === selected || !data.points[index]) return;
    selected = index;
    update();
  }

  // The point with the value `wanted` on the axis `key` that shares the most other values with the selected point.
  function nearest(key, wanted) {
    const alike = (one) => data.axes.filter((axis) => axis.key !== key && (one.values[axis.key] ?? "") === (point().values[axis.key] ?? "")).length;
    const found = data.points.map((one, index) => ({ one, index })).filter(({ one }) => (one.values[key] ?? "") === wanted);
    return found.reduce((best, each) => (!best || alike(each.one) > alike(best.one) ? each : best), null)?.index;
  }

  function fillSelector() {
    at("selector").replaceChildren(...data.axes.map(({ key, title, values }) => {
      const own = point().values[key] ?? "";
      if (values.length > 6) {
        const choice = make("select", { "aria-label": title }, ...values.map((one) => make("option", { value: one }, shown(one))));
        choice.value = own;
        choice.addEventListener("change", () => select(nearest(key, choice.value)));
        return make("span", { class: "axis" }, title, choice);
      }
      return choice(title, values, own, (one) => select(nearest(key, one)), shown);
    }));
  }

  function fillTiles() {
    const { time, tokens_per_s: tokens, of_peak: ofPeak, peak_bytes: held, predicted } = point();
    const tiles = [[time && seconds(time.median_s), `${predicted ? "predicted " : ""}per ${point().pass.replaceAll("_", " ")} ${error(time?.error)}`],
      [tokens && `${tokens < 1e4 ? Math.round(tokens).toLocaleString("en") : count(tokens)} tok/s`, "throughput"], [ofPeak && percent(ofPeak), "of the machine's peak"], [held && bytes(held), "peak memory"]];
    at("tiles").replaceChildren(...tiles.filter(([figure]) => figure).map(([figure, label]) => make("div", {}, make("dd", {}, figure), make("dt", {}, label))));
  }

  function markSelected(body) {
    for (const line of (body ?? document.querySelector("#compare tbody"))?.children ?? [])
      line.setAttribute("aria-selected", Number(line.dataset.index) === selected);
  }

  function update() {
    fillSelector();
    fillTiles();
    markSelected();
    at("says-time").textContent = [point().sentences.time, point().sentences.training].filter(Boolean).join(" ");
    for (const section of sections) {
      const node = at(section.id);
      const has = !section.chart || section.chart(data, selected, looks.of(node.querySelector(".chart"))) !== null;
      node.querySelector("h2 small").textContent = section.id === "compare" || section.id === "data" ? "" : point().full_name;
      node.querySelector("p.says").textContent = has ? section.says() : section.missing && !(section.id === "trust" && point().predicted) ? `No data for this point: run ${section.missing}.` : section.says();
      const list = node.querySelector(".list");
      const canList = list && (has || !section.missing);
      list?.replaceChildren(...(canList ? [section.list()] : []));
      const [title, children] = section.folded();
      const wasOpen = node.querySelector("details")?.open;
      const canFold = section.id === "data" || (has && (section.id !== "memory" || trace()));
      const details = fold(title, children);
      details.open = Boolean(wasOpen);
      node.querySelector(".fold").replaceChildren(...(canFold ? [details] : []));
    }
    draw();
  }

  // Drawing ---------------------------------------------------------------------------------------------------------

  function draw() {
    for (const chart of drawn) {
      looks.draw(chart, chart.option(data, selected, looks.of(chart.node)), select);
      const section = sections.find(({ id }) => chart.node.closest("section")?.id === id);
      chart.node.setAttribute("aria-label", `${section?.title ?? "Times by phase"}, ${point().full_name}. ${section?.says() ?? point().sentences.time}`);
    }
  }

  build();
})();
