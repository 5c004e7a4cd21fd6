// The charts of a page: each function turns the page's data and the selected point into options for ECharts.
"use strict";
const charts = (() => {
  const SECONDS = [[1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"]];
  const BYTES = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];
  const COUNTS = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
  const COLORS = {
    forward: "#4477aa", inference: "#4477aa", "forward backward": "#4477aa", backward: "#ee6677", optimizer: "#9988dd",
    matmul: "#66b5e0", attention: "#44aa99", softmax: "#228855", elementwise: "#ddcc77", reduction: "#999933", cast: "#cc6677",
    copy: "#aa4499", loss: "#882255",
    parameters: "#4477aa", "optimizer state": "#9988dd", "inputs and constants": "#44aa99", gradients: "#ee6677",
    "autocast copies": "#aa3377", "saved activations": "#228833", activations: "#228833", temporaries: "#ccbb44",
    workspace: "#66ccee", measured: "#4477aa",
  };
  const colorOf = (name) => COLORS[name] ?? "#bbbbbb";

  // Formats a value with three digits, in the largest unit in which it is at least one.
  function scaled(value, units) {
    if (value === null || value === undefined) return "-";
    if (value === 0) return "0";
    const [factor, unit] = units.find(([least]) => Math.abs(value) >= 0.9995 * least) ?? units.at(-1);
    const number = value / factor;
    const decimals = unit === "B" || Math.abs(number) >= 99.95 ? 0 : Math.abs(number) >= 9.995 ? 1 : 2;
    return `${number.toFixed(decimals)} ${unit}`.trim();
  }
  const seconds = (value) => scaled(value, SECONDS);
  const bytes = (value) => scaled(value, BYTES);
  const count = (value) => scaled(value, COUNTS);
  // Like percent_text() of the tables: two significant digits below 0.1 %.
  function percent(value) {
    if (value === null || value === undefined) return "-";
    const shown = 100 * value;
    return `${Math.abs(shown) < 0.1 ? Number(shown.toPrecision(2)) : shown.toFixed(shown < 9.95 ? 1 : 0)} %`;
  }
  // Like plus_minus_text() of the tables: one decimal below 1 %, and at least 0.1 % unless the value is exact.
  function error(value) {
    if (value === null || value === undefined) return "";
    const shown = 100 * value;
    return `±${shown === 0 || shown >= 1 ? shown.toFixed(0) : Math.max(0.1, shown).toFixed(1)} %`;
  }
  const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}\u2026` : text);
  // Formats the value at a tick, without zeros at the end of a fraction.
  const tick = (format) => (value) => format(value).replace(/\.0+(?= |$)|(\.\d*[1-9])0+(?= |$)/, "$1");

  // The options that all charts share. `look` has colours (ink, muted, line, ground, accent), the font, whether to draw
  // patterns, and the width in pixels.
  const common = (look) => ({
    animation: false,
    textStyle: { color: look.ink, fontFamily: look.font },
    aria: { enabled: true, label: { enabled: false }, decal: { show: look.patterns } },
    tooltip: {
      renderMode: "richText", confine: true, backgroundColor: look.ground, borderColor: look.line,
      textStyle: { color: look.ink, fontSize: 13 },
    },
  });
  // An axis of numbers; `format` turns the value at a tick into text.
  const axisOf = (look, format = null) => ({
    type: "value", axisLabel: { color: look.muted, hideOverlap: true, ...(format && { formatter: tick(format) }) },
    axisLine: { lineStyle: { color: look.line } }, nameTextStyle: { color: look.muted },
    splitLine: { lineStyle: { color: look.line, opacity: 0.6 } },
  });
  // An axis with a row for each category, from top to bottom.
  const rowsOf = (data, more) => ({ type: "category", data, inverse: true, axisTick: { show: false }, axisLine: { show: false }, ...more });
  // The options that charts with one pair of axes share; `grid` and `tooltip` override them.
  const frame = (look, names, grid, tooltip) => ({
    ...common(look),
    grid: { left: 8, right: 16, top: 36, bottom: 26, outerBoundsMode: "same", outerBoundsContain: "axisLabel", ...grid },
    legend: {
      type: "scroll", data: names, textStyle: { color: look.ink }, pageTextStyle: { color: look.muted }, pageIconColor: look.ink,
      inactiveColor: look.line, itemWidth: 14, itemHeight: 10, top: 0, left: 0,
    },
    tooltip: { ...common(look).tooltip, ...tooltip },
  });

  // Draws an interval on each row of a category axis; `rows` are [row, low, high].
  const whiskers = (look, rows) => ({
    type: "custom", silent: true, z: 5, tooltip: { show: false }, data: rows, encode: { x: [1, 2], y: 0 },
    renderItem(_, api) {
      const [left, y] = api.coord([api.value(1), api.value(0)]);
      const [right] = api.coord([api.value(2), api.value(0)]);
      const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: look.ink, lineWidth: 1.5 } });
      return { type: "group", children: [line(left, y, right, y), line(left, y - 4, left, y + 4), line(right, y - 4, right, y + 4)] };
    },
  });

  // The range of an axis of bytes that starts at zero and has round ticks in binary units.
  function byteAxis(most) {
    const interval = 2 ** Math.ceil(Math.log2(Math.max(1, most) / 6));
    return { min: 0, interval, max: interval * Math.ceil((1.02 * most) / interval) };
  }
  const powers = (values, base = 10) => [[Math.min, Math.floor], [Math.max, Math.ceil]].map(([end, round]) => base ** round(Math.log(end(...values)) / Math.log(base)));

  const withTime = (data, indices) => indices.filter((index) => data.points[index].time);

  // The warm-up steps and the samples of a point in order, each with the number of its last step.
  function steps({ warmup_s: warmup = [], samples_s: samples = [], steps_per_sample: each }) {
    const kind = each > 1 ? `sample of ${each} steps` : "sample";
    return [...warmup.map((time_s, i) => ({ step: i + 1, kind: "warm-up", time_s })),
      ...samples.map((time_s, i) => ({ step: warmup.length + (i + 1) * each, kind, time_s }))];
  }

  // The phases of a point; time outside them is added as another phase if it is large enough to see. The time of the pass
  // `backward` does not include the forward before it.
  function phasesOf(point) {
    if (!point.phases.length || point.pass === "backward") return [{ phase: point.pass.replaceAll("_", " "), seconds: point.time.median_s }];
    const phases = point.phases.map(({ phase, median_s }) => ({ phase, seconds: median_s }));
    const rest = point.time.median_s - phases.reduce((sum, one) => sum + one.seconds, 0);
    if (rest > 0.01 * point.time.median_s) phases.push({ phase: "outside the phases", seconds: rest });
    return phases;
  }

  // Bars for a group of points, stacked by phase, with the median's interval, the time and the ratio.
  function time(data, selected, look) {
    const group = data.groups[data.points[selected].group];
    const rows = withTime(data, group.points);
    const points = rows.map((index) => data.points[index]);
    const phases = points.map(phasesOf);
    const names = [...new Set(phases.flatMap((one) => one.map(({ phase }) => phase)))];
    const order = ["inference", "forward", "backward", "optimizer"];
    names.sort((a, b) => (order.indexOf(a) + 1 || 9) - (order.indexOf(b) + 1 || 9));
    const narrow = look.width < 640;
    const categories = rows.map(String);
    const fastest = points.length > 1 && group.is_one_work ? group.fastest : null;
    const result = (value) => {
      const point = data.points[value];
      const ratio = point.ratio?.text ?? (Number(value) === group.base && group.is_one_work && points.length > 1 ? "1" : "");
      const cells = [`{time|${seconds(point.time.median_s)}}`];
      if (!narrow) cells.push(`{error|${error(point.time.error)}}`);
      if (points.some(({ ratio: one }) => one)) cells.push(`{ratio|${narrow ? ratio.split(" ")[0] : ratio}}`);
      if (!narrow && fastest !== null) cells.push(`{best|${Number(value) === fastest ? "fastest" : ""}}`);
      return cells.join("");
    };
    const label = {
      interval: 0, color: look.ink, fontSize: narrow ? 12 : 14, lineHeight: 16,
      rich: {
        time: { width: narrow ? 54 : 64, align: "right", fontWeight: 600, color: look.ink, fontSize: narrow ? 12 : 14 },
        error: { width: 56, align: "right", color: look.muted, fontSize: 13 },
        ratio: { width: narrow ? 46 : 150, align: "right", color: look.ink, fontSize: narrow ? 12 : 14 },
        best: { width: 62, align: "right", color: look.accent, fontWeight: 600, fontSize: 13 },
        on: { fontWeight: 700, color: look.accent, fontSize: narrow ? 12 : 14 },
      },
    };
    const nameOf = (value) => {
      const name = cut(data.points[value].name, narrow ? 14 : 36).replace(/[{}|]/g, " ");
      return Number(value) === selected && points.length > 1 ? `{on|${name}}` : name;
    };
    const most = Math.min(8, Math.max(...data.groups.map((one) => one.points.length)));
    return {
      height: 72 + Math.max(2, most) * (most > 5 ? 36 : 46),
      ...frame(look, names.length > 1 ? names : [], { right: 8, top: 34 }, { trigger: "axis", axisPointer: { type: "shadow" },
        formatter: ([{ dataIndex }]) => {
          const { full_name: name, time: { median_s: median, ci_low_s: low = null, ci_high_s: high } } = points[dataIndex];
          const lines = phases[dataIndex].map(({ phase, seconds: value }) => `${phase}  ${seconds(value)}  ${percent(value / median)}`);
          return [name, ...lines, `median  ${seconds(median)}${low === null ? "" : `  (${seconds(low)} to ${seconds(high)})`}`].join("\n");
        } }),
      xAxis: axisOf(look, seconds),
      yAxis: [
        rowsOf(categories, { triggerEvent: true, axisLabel: { ...label, formatter: nameOf } }),
        rowsOf(categories, { position: "right", axisLabel: { ...label, formatter: result } }),
      ],
      dataZoom: rows.length > 8 ? [{ type: "slider", yAxisIndex: [0, 1], width: 14, right: 0, startValue: 0, endValue: 7, showDetail: false,
        brushSelect: false }] : [],
      series: [
        ...names.map((name) => ({
          name, type: "bar", stack: "phases", barMaxWidth: 26, itemStyle: { color: colorOf(name) }, cursor: "pointer",
          data: phases.map((one, i) => ({
            value: one.find(({ phase }) => phase === name)?.seconds ?? null,
            itemStyle: { opacity: rows[i] === selected || rows.length === 1 ? 1 : 0.6 },
          })),
        })),
        whiskers(look, points.flatMap(({ time: { ci_low_s: low = null, ci_high_s: high } }, i) => (low === null ? [] : [[i, low, high]]))),
        { type: "bar", yAxisIndex: 1, data: [], silent: true },
      ],
      clicked: ({ componentType, value, dataIndex }) => (componentType === "yAxis" ? Number(value) : rows[dataIndex]),
    };
  }

  // Three strips over the time of a step: its phases, their classes of work, and the kernels.
  function work(data, selected, look) {
    const trace = data.traces[data.points[selected].trace];
    if (!trace?.kernels.length) return null;
    const segments = [];
    const last = [null, null, null]; // one per strip
    const grow = (row, key, name, label, value) => {
      if (last[row]?.key === key) last[row].seconds += value;
      else segments.push(last[row] = { row, key, name, label, seconds: value });
    };
    for (const { phase, class: kind, kernel, seconds_s: value } of trace.kernels) {
      grow(0, phase, phase, phase, value);
      grow(1, `${phase} ${kind}`, kind, kind, value);
      grow(2, `${phase} ${kind} ${kernel}`, kind, kernel, value);
    }
    if (trace.between_launches_s > 0.005 * trace.step_s)
      for (const row of [0, 1, 2]) grow(row, "", "between launches", "between launches", trace.between_launches_s);
    const drawn = segments.filter(({ seconds: value }) => value > 0);
    const classes = [...new Set(drawn.filter(({ row }) => row > 0).map(({ name }) => name))];
    const narrow = look.width < 640;
    const room = (look.width - (narrow ? 20 : 80)) / trace.step_s;
    return {
      ...frame(look, classes, {}, { trigger: "item",
        formatter: ({ data: { text }, value }) => `${text}\n${seconds(value)}, ${percent(value / trace.step_s)}` }),
      xAxis: { ...axisOf(look, seconds), max: trace.step_s, splitLine: { show: false } },
      yAxis: rowsOf(["phase", "class", "kernel"], { axisLabel: { color: look.muted, show: !narrow } }),
      series: drawn.map(({ row, name, label, seconds: value }) => {
        const text = row === 0 ? `${label} ${percent(value / trace.step_s)}` : label;
        const data = [null, null, null];
        data[row] = { value, text: label };
        return {
          name, type: "bar", stack: "strips", barWidth: "92%", data, legendHoverLink: false,
          itemStyle: { color: colorOf(name), borderColor: look.ground, borderWidth: 1 },
          label: { show: value * room > 7 * text.length + 6, formatter: text, color: "#101418", fontSize: 12, textBorderWidth: 0 },
        };
      }),
    };
  }

  // Memory held while each launch runs, stacked by purpose.
  function memory(data, selected, look) {
    const point = data.points[selected];
    const held = data.traces[point.trace]?.memory;
    if (!held) return peak(point, look);
    const names = Object.keys(held.held_bytes);
    const peakAt = held.launches.reduce((best, launch) => (Math.abs(launch - held.peak_launch) < Math.abs(best - held.peak_launch) ? launch : best), held.launches[0]);
    return {
      ...frame(look, names, { top: 56, bottom: 62 }, { trigger: "axis", valueFormatter: bytes }),
      dataZoom: [{ type: "inside", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false },
        { type: "slider", height: 18, bottom: 6, showDetail: false, brushSelect: false }],
      xAxis: { ...axisOf(look), min: 0, max: held.launch_count, splitLine: { show: false }, name: "launch", nameLocation: "middle", nameGap: 22,
        axisLabel: { ...axisOf(look).axisLabel, showMaxLabel: false } },
      yAxis: { ...axisOf(look, bytes), ...byteAxis(held.peak_bytes) },
      series: names.map((name, i) => ({
        name, type: "line", stack: "held", step: "end", symbol: "none", lineStyle: { width: 0 }, emphasis: { disabled: true },
        areaStyle: { color: colorOf(name), opacity: 0.95 }, itemStyle: { color: colorOf(name) },
        data: held.launches.map((launch, k) => [launch, held.held_bytes[name][k]]),
        ...(i === 0 && {
          markLine: {
            symbol: "none", silent: true, label: { color: look.muted, formatter: "{b}", position: "end", distance: [0, 4] },
            lineStyle: { color: look.muted, type: "dashed" },
            data: held.sections.map(({ title, first }) => ({ name: title, xAxis: first, label: { align: "left" } })),
          },
          markPoint: {
            symbol: "circle", symbolSize: 8, itemStyle: { color: look.ink }, silent: true,
            label: { position: peakAt > held.launch_count / 2 ? "left" : "right", color: look.ink, fontWeight: 600, formatter: `peak ${bytes(held.peak_bytes)}`, textBorderColor: look.ground, textBorderWidth: 3 },
            data: [{ coord: [peakAt, held.peak_bytes] }],
          },
        }),
      })),
    };
  }

  // The peak of a point without a timeline, as a single bar.
  function peak(point, look) {
    const parts = Object.entries(point.peak_parts_bytes);
    if (!parts.length) return null;
    return {
      height: 140, ...frame(look, parts.map(([name]) => name), {}, { trigger: "item", valueFormatter: bytes }),
      xAxis: { ...axisOf(look, bytes), ...byteAxis(point.peak_bytes) },
      yAxis: { type: "category", data: ["peak"], axisTick: { show: false }, axisLabel: { color: look.muted } },
      series: parts.map(([name, value]) => ({ name, type: "bar", stack: "peak", barMaxWidth: 48, itemStyle: { color: colorOf(name) }, data: [value] })),
    };
  }

  // The peaks of points that differ only in their context; nothing for fewer than three contexts.
  function contexts(data, selected, look) {
    const rest = ({ values, pass }) => JSON.stringify([pass, { ...values, ctx: "" }]);
    const own = data.points[selected];
    const alike = ({ pass, values }) => pass === own.pass && ["model", "device", "machine"].every((key) => values[key] === own.values[key]);
    const same = data.points.filter((one) => alike(one) && one.peak_bytes && one.context);
    const keys = [...new Set(same.map(rest))];
    const drawn = keys.map((key) => same.filter((one) => rest(one) === key)).filter((line) => new Set(line.map(({ context }) => context)).size >= 3);
    if (!drawn.length) return null;
    const all = drawn.flat();
    const spreads = (values) => Math.max(...values) > 24 * Math.min(...values);
    const isLog = spreads(all.map(({ context }) => context)) || spreads(all.map(({ peak_bytes: held }) => held));
    const nameOf = (line) => line[0].full_name.replace(/(, )?context \d+(, )?/, (_, before, after) => (before && after ? ", " : ""));
    return {
      ...frame(look, drawn.length > 1 ? drawn.map(nameOf) : [], { right: 24, top: 40, bottom: 30, outerBoundsContain: "all" },
        { trigger: "axis", valueFormatter: bytes }),
      xAxis: { ...axisOf(look), ...(isLog ? { type: "log", logBase: 2, min: "dataMin", max: "dataMax" } : { min: 0 }), name: "context", nameLocation: "middle", nameGap: 24, splitLine: { show: false } },
      yAxis: { ...axisOf(look, bytes), ...(isLog ? { type: "log", logBase: 2 } : byteAxis(Math.max(...all.map((one) => one.peak_bytes)))), name: "peak memory", nameTextStyle: { align: "left", color: look.muted } },
      series: drawn.map((line) => ({
        name: nameOf(line), type: "line", symbolSize: 8, lineStyle: { width: rest(line[0]) === rest(data.points[selected]) ? 3 : 1.5 },
        data: [...line].sort((a, b) => a.context - b.context).map(({ context, peak_bytes: held }) => [context, held]),
      })),
    };
  }

  // Ops as dots below the peak and the bandwidth; a dot's size shows its share of the time.
  function roofline(data, selected, look) {
    const trace = data.traces[data.points[selected].trace];
    const found = trace?.roofline;
    if (!found) return null;
    const { peak_flops_per_s: top, bandwidth_bytes_per_s: bandwidth, ops } = found;
    const [least, most] = powers([...ops.map(({ flops_per_byte: x }) => x), 10 * (top / bandwidth)]);
    const [slowest, fastest] = powers([...ops.map(({ flops_per_s: y }) => y), 2 * top]);
    const phases = [...new Set(ops.map(({ phase }) => phase))];
    const shapes = ["circle", "rect", "triangle", "diamond"];
    return {
      ...frame(look, phases, { top: 40, bottom: 34, outerBoundsContain: "all" }, { trigger: "item",
        formatter: ({ data: { op } }) => op && `${op.phase} ${op.op}\n${seconds(op.seconds_s)}, ${percent(op.seconds_s / trace.step_s)} of the time\n${count(op.flops_per_s)}FLOP/s, ${percent(op.of_roof)} of the roof` }),
      xAxis: { ...axisOf(look), type: "log", min: least, max: most, name: "FLOP per byte", nameLocation: "middle", nameGap: 24, splitLine: { show: false }, axisLabel: { ...axisOf(look).axisLabel, formatter: (value) => String(Number(value.toPrecision(2))) } },
      yAxis: { ...axisOf(look, count), type: "log", name: "FLOP/s", nameTextStyle: { align: "left", color: look.muted }, min: slowest, max: fastest },
      series: [
        { type: "line", symbol: "none", silent: true, lineStyle: { color: look.ink, width: 1.5 }, tooltip: { show: false },
          data: [[Math.max(least, slowest / bandwidth), Math.max(least * bandwidth, slowest)], [top / bandwidth, top], [most, top]],
          endLabel: { show: true, formatter: `peak ${count(top)}FLOP/s`, color: look.muted, offset: [-4, -10], align: "right" } },
        ...phases.map((phase, i) => ({
          name: phase, type: "scatter", symbol: shapes[i % shapes.length], itemStyle: { color: colorOf(phase), opacity: 0.85, borderColor: look.ground },
          symbolSize: (_, { data: { op } }) => 7 + 40 * Math.sqrt(op.seconds_s / trace.step_s),
          labelLayout: { hideOverlap: true },
          label: { show: true, color: look.ink, textBorderColor: look.ground, textBorderWidth: 3, formatter: ({ data: { op } }) => (op.seconds_s > 0.01 * trace.step_s ? cut(op.op, 22) : "") },
          data: ops.filter((op) => op.phase === phase).map((op) => ({
            value: [op.flops_per_byte, op.flops_per_s], op, label: { position: op.flops_per_byte > Math.sqrt(least * most) ? "left" : "right" } })),
        })),
      ],
    };
  }

  // All samples of a group's points as deviations from their medians, and the selected point's steps in order.
  function trust(data, selected, look) {
    const group = data.groups[data.points[selected].group];
    const rows = withTime(data, group.points).filter((index) => data.points[index].samples_s.length > 1).slice(0, 12);
    const point = data.points[selected];
    if (!rows.length || !point.time || point.predicted) return null;
    const narrow = look.width < 640;
    const farthest = 60; // percent; samples farther away are triangles at the edge
    const deviation = (index, value) => Math.min(farthest, 100 * (value / data.points[index].time.median_s - 1));
    const inner = { outerBoundsMode: "same", outerBoundsContain: "axisLabel", top: 34 };
    const grids = narrow ? [{ ...inner, left: 8, right: 16, height: 130 }, { ...inner, left: 8, right: 16, top: 230, bottom: 40 }]
      : [{ ...inner, left: 8, right: "52%", bottom: 46 }, { ...inner, left: "52%", right: 16, bottom: 46 }];
    const inOrder = steps(point);
    const each = point.steps_per_sample > 1 ? inOrder.at(-1).kind : "step";
    const title = (text, left, top) => ({ text, left, top, textStyle: { color: look.muted, fontSize: 13, fontWeight: 400 } });
    const within = (index) => {
      const { ci_low_s: low = null, ci_high_s: high } = data.points[index].time;
      return low === null ? [] : [[rows.indexOf(index), deviation(index, low), deviation(index, high)]];
    };
    return {
      ...common(look),
      title: [title("samples: deviation from the median", 8, 0), title(`${point.name}: each ${each} in order`, narrow ? 8 : "52%", narrow ? 196 : 0)],
      grid: grids,
      tooltip: { ...common(look).tooltip, trigger: "item" },
      xAxis: [
        { ...axisOf(look), scale: true, axisLabel: { ...axisOf(look).axisLabel, formatter: (value) => `${value > 0 ? "+" : ""}${value} %` } },
        { ...axisOf(look), gridIndex: 1, min: 1, max: Math.max(2, inOrder.at(-1).step), minInterval: 1, name: "step", nameLocation: "middle", nameGap: 24, splitLine: { show: false } },
      ],
      yAxis: [
        rowsOf(rows.map(String), { jitter: 14, jitterOverlap: true,
          axisLabel: { interval: 0, color: look.ink, formatter: (value) => cut(data.points[value].name, narrow ? 14 : 28) } }),
        { ...axisOf(look, seconds), gridIndex: 1, scale: true },
      ],
      series: [
        { type: "scatter", symbolSize: 6, tooltip: { formatter: ({ value }) => seconds(value[2]) },
          data: rows.flatMap((index, i) => data.points[index].samples_s.map((value) => ({
            value: [deviation(index, value), i, value], symbol: deviation(index, value) === farthest ? "triangle" : "circle", symbolRotate: -90, itemStyle: { color: index === selected ? look.accent : look.muted, opacity: 0.55 } }))) },
        whiskers(look, rows.flatMap(within)),
        { type: "line", xAxisIndex: 1, yAxisIndex: 1, symbolSize: 4, lineStyle: { width: 1, color: look.muted }, itemStyle: { color: look.accent },
          tooltip: { formatter: ({ data: { value, kind } }) => `step ${value[0]}${kind.includes(" ") ? `, ${kind}` : ""}: ${seconds(value[1])}` },
          data: inOrder.map(({ step, kind, time_s }) => ({ value: [step, time_s], kind })),
          markArea: point.warmup_s.length ? { silent: true, itemStyle: { color: look.line, opacity: 0.6 }, label: { color: look.muted, position: "insideTop" }, data: [[{ name: "warm-up", xAxis: 1 }, { xAxis: point.warmup_s.length + 0.5 }]] } : undefined,
          markLine: { symbol: "none", silent: true, lineStyle: { color: look.ink, type: "dashed" }, label: { show: false }, data: [{ yAxis: point.time.median_s }] } },
      ],
      clicked: ({ seriesIndex, value }) => (seriesIndex === 0 ? rows[value[1]] : undefined),
    };
  }

  // Times predicted before the run, next to the measured times.
  function prediction(data, selected, look) {
    const group = data.groups[data.points[selected].group];
    const rows = withTime(data, group.points).filter((index) => data.points[index].predicted_s).slice(0, 12);
    if (!rows.length) return null;
    const narrow = look.width < 640;
    const bar = (name, value) => ({ name, type: "bar", barMaxWidth: 14, itemStyle: { color: colorOf(name) }, data: rows.map((index) => value(data.points[index])) });
    return {
      ...frame(look, ["predicted", "measured"], { top: 34 }, { trigger: "item", valueFormatter: seconds }),
      xAxis: axisOf(look, seconds),
      yAxis: rowsOf(rows.map(String), { axisLabel: { color: look.ink, interval: 0, formatter: (value) => cut(data.points[value].name, narrow ? 14 : 36) } }),
      series: [bar("predicted", (one) => one.predicted_s), bar("measured", (one) => one.time.median_s)],
      clicked: ({ dataIndex }) => rows[dataIndex],
    };
  }

  const SERIES = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bb7733", "#888888"];
  const SYMBOLS = ["circle", "triangle", "rect", "diamond"];

  // Predicted against published values on logarithmic axes, with a series for each value of `key`. The lines mark
  // equality and a factor of 1.25 in both directions.
  function scatter({ points, key, format, base }, look) {
    const [low, high] = powers(points.flatMap(({ published, predicted }) => [published, predicted]), base);
    const names = [...new Set(points.map((one) => one[key]))].sort();
    const axis = { ...axisOf(look), type: "log", logBase: base, min: low, max: high, nameLocation: "middle",
      axisLabel: { ...axisOf(look).axisLabel, formatter: tick(format) } };
    const line = (factor, type) => ({
      type: "line", silent: true, symbol: "none", tooltip: { show: false }, lineStyle: { color: look.muted, width: 1, type },
      data: [[Math.max(low, low / factor), Math.max(low, low * factor)], [Math.min(high, high / factor), Math.min(high, high * factor)]],
    });
    const narrow = look.width < 640;
    const shared = frame(look, names, { left: 26, right: 18, top: narrow ? 52 : 68, bottom: 30 });
    return {
      ...shared,
      legend: { ...shared.legend, type: narrow ? "scroll" : "plain" },
      tooltip: { ...shared.tooltip, trigger: "item",
        formatter: ({ data: { of } }) => of && [of.model, `${of.machine}, ${of.program}`, of.quantity, `published  ${format(of.published)}`,
          `predicted  ${format(of.predicted)}  ${of.error >= 0 ? "+" : ""}${(100 * of.error).toFixed(1)} %`, of.source].map((text) => cut(text, 90)).join("\n") },
      xAxis: { ...axis, name: "published", nameGap: 24 }, yAxis: { ...axis, name: "predicted", nameGap: 46 },
      series: [
        ...names.map((name, i) => ({
          name, type: "scatter", symbol: SYMBOLS[Math.floor(i / SERIES.length) % 4 || i % 4], symbolSize: 7, itemStyle: { color: SERIES[i % SERIES.length], opacity: 0.65 },
          data: points.filter((one) => one[key] === name).map((of) => ({ value: [of.published, of.predicted], of })),
        })),
        line(1, "solid"), line(1.25, "dashed"), line(0.8, "dashed"),
      ],
    };
  }

  return { time, work, memory, contexts, roofline, trust, prediction, scatter, steps, text: { seconds, bytes, count, percent, error } };
})();
