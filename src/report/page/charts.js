// Options of the chart library for each kind of chart. Numbers come from the table of the figure, and texts for people
// are the cells that it shows; nothing is computed here but places.
"use strict";
const laptimeChart = (() => {
  const ROW = 30; // pixels of a bar and the space around it
  const PALEE = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#999933", "#bbbbbb"];
  const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
  const BEHIND = { type: "bar", yAxisIndex: 1, data: [], silent: true }; // what the axis of texts behind bars belongs to
  const CROSS = "path://M0,0L10,10M10,0L0,10";

  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  // Dark grounds take the same hues lighter.
  const tinted = (hex, dark) =>
    dark ? `rgb(${rgb(hex).map((part) => Math.round(part + (255 - part) * 0.28)).join(",")})` : hex;
  const inkOn = (hex) => {
    const [r, g, b] = rgb(hex);
    return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#111111" : "#ffffff";
  };

  const canvas = document.createElement("canvas").getContext("2d");
  const textWidth = (text, size = 12) => {
    canvas.font = `${size}px ${FONT}`;
    return canvas.measureText(text).width;
  };
  const widest = (texts, limit) => Math.min(limit, Math.max(0, ...texts.map((text) => textWidth(text))) + 24);

  // The table of a figure with its columns by key.
  function reader(table) {
    const at = Object.fromEntries(table.columns.map((column, i) => [column.key, i]));
    const value = (row, key) => table.rows[row][at[key]];
    const shown = (row, key) => table.shown[row][at[key]] ?? String(value(row, key) ?? "");
    const tip = (row) =>
      table.columns.map((column, i) => [column.title, table.shown[row][i] ?? String(table.rows[row][i] ?? "")])
        .filter(([, text]) => text !== "" && text !== "-").slice(0, 12).map(([title, text]) => `${title}: ${text}`).join("\n");
    return { count: table.rows.length, value, shown, tip, rows: table.rows.map((_, i) => i) };
  }

  function colorsOf(dark) {
    return dark
      ? { ink: "#e4e8ec", muted: "#9aa5b1", line: "#343c45", ground: "#14181c", raised: "#262c33", accent: "#8ab6e6" }
      : { ink: "#1c2127", muted: "#59636e", line: "#dfe3e7", ground: "#ffffff", raised: "#ffffff", accent: "#2f5f92" };
  }

  // What all charts have in common.
  function base(c) {
    return {
      animation: false,
      backgroundColor: "transparent",
      textStyle: { fontFamily: FONT, fontSize: 12, color: c.ink },
      tooltip: {
        trigger: "item", renderMode: "richText", confine: true, backgroundColor: c.raised, borderColor: c.line, borderWidth: 1,
        padding: [8, 10], textStyle: { color: c.ink, fontSize: 12, fontFamily: FONT, lineHeight: 17 },
      },
    };
  }
  const number = (value) => String(Number(value.toPrecision(4)));
  // Charts count in the unit of their axis, so that its ticks are round.
  const counted = (axis) => (value) => (typeof value === "number" ? value / axis.factor : value);
  const named = (title, axis) => (axis.unit ? `${title}, ${axis.unit}` : title);
  function valueAxis(c, name, more = {}) {
    return {
      type: "value", name, nameLocation: "middle", nameGap: 28,
      nameTextStyle: { color: c.muted, fontSize: 12 },
      axisLabel: { color: c.muted, hideOverlap: true }, axisLine: { show: false }, axisTick: { show: false },
      splitLine: { lineStyle: { color: c.line } }, ...more,
    };
  }
  function nameAxis(c, names, width) {
    return {
      type: "category", inverse: true, data: names, axisTick: { show: false },
      axisLine: { lineStyle: { color: c.line } },
      axisLabel: { color: c.ink, width: width - 12, overflow: "truncate", interval: 0 },
    };
  }
  // Texts in a column behind the bars, one for each.
  const textAxis = (c, texts) => ({
    type: "category", inverse: true, data: texts.map((text, i) => ({ value: `${i}\u0000${text}` })), position: "right",
    axisTick: { show: false }, axisLine: { show: false },
    axisLabel: { color: c.muted, interval: 0, formatter: (value) => value.slice(value.indexOf("\u0000") + 1) },
  });
  const legendOf = (c, names) => ({
    data: names, top: 0, left: -5, itemWidth: 12, itemHeight: 12, itemGap: 16, icon: "roundRect",
    textStyle: { color: c.ink }, selectedMode: false, width: "96%",
  });
  // Lines of a legend that breaks at `width`.
  const legendHeight = (names, width) => {
    let [lines, used] = [1, 0];
    for (const name of names) {
      const need = textWidth(name) + 38;
      if (used + need > width * 0.94 && used > 0) [lines, used] = [lines + 1, 0];
      used += need;
    }
    return 22 * lines + 4;
  };
  // A line with small ends from `low` to `high` at each place.
  const whiskers = (c, places, color) => ({
    type: "custom", silent: true, z: 5, data: places,
    renderItem: (params, api) => {
      const [left, y] = api.coord([api.value(0), api.value(2)]);
      const [right] = api.coord([api.value(1), api.value(2)]);
      const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: color ?? c.ink, lineWidth: 1.5 } });
      return { type: "group", children: [line(left, y, right, y), line(left, y - 4, left, y + 4), line(right, y - 4, right, y + 4)] };
    },
  });
  const unique = (values) => [...new Set(values)];

  // Stacked bars with the whole behind them.
  function bars(chart, t, c, dark, width) {
    const unit = counted(chart.axis);
    const names = t.rows.map((row) => t.value(row, chart.label));
    const texts = chart.text ? t.rows.map((row) => t.shown(row, chart.text)) : [];
    const left = widest(names, width * 0.32);
    const right = texts.length ? widest(texts, width * 0.34) : 24;
    const top = chart.names.length > 1 ? legendHeight(chart.names, width) : 4;
    const series = chart.parts.map((part, i) => ({
      name: chart.names[i], type: "bar", stack: "whole", barMaxWidth: 18, itemStyle: { color: tinted(chart.colors[i], dark) },
      data: t.rows.map((row) => unit(t.value(row, part) ?? 0)),
      tooltip: { formatter: ({ dataIndex }) => t.tip(dataIndex) },
    }));
    if (chart.low) {
      const places = t.rows.filter((row) => t.value(row, chart.low) !== null)
        .map((row) => [unit(t.value(row, chart.low)), unit(t.value(row, chart.high)), row]);
      series.push(whiskers(c, places));
    }
    return {
      height: top + names.length * ROW + 54,
      option: {
        ...base(c), legend: chart.names.length > 1 ? legendOf(c, chart.names) : undefined,
       
        grid: { left, right, top, bottom: 50 },
        xAxis: valueAxis(c, named(chart.axis_title, chart.axis)),
        yAxis: [nameAxis(c, names, left), ...(texts.length ? [textAxis(c, texts)] : [])],
        series: [...series, ...(texts.length ? [BEHIND] : [])],
      },
    };
  }

  // A panel for each series, one below the other, with one scale.
  function lines(chart, t, c, dark, width) {
    const names = unique(t.rows.map((row) => t.value(row, chart.series)));
    const left = widest(names, width * 0.34) + 40;
    const panel = 64;
    const values = t.rows.map((row) => t.value(row, chart.y));
    const [low, high] = [Math.min(0.9, ...values), Math.max(1.1, ...values)];
    const longest = Math.max(...t.rows.map((row) => t.value(row, chart.x)));
    const grids = [], xAxes = [], yAxes = [], series = [], titles = [];
    names.forEach((name, i) => {
      const rows = t.rows.filter((row) => t.value(row, chart.series) === name);
      const last = i === names.length - 1;
      const mark = chart.marks.find((one) => one.series === name);
      grids.push({ left, right: 20, top: 10 + i * (panel + 14), height: panel });
      xAxes.push(valueAxis(c, last ? chart.x_title : "", {
        gridIndex: i, min: 1, max: Math.max(2, longest), minInterval: 1, splitLine: { show: false },
        axisLine: { show: true, lineStyle: { color: c.line } }, axisLabel: { show: last, color: c.muted },
      }));
      yAxes.push(valueAxis(c, "", {
        gridIndex: i, min: Math.floor(low * 10) / 10, max: Math.ceil(high * 10) / 10, splitNumber: 2,
        axisLabel: { color: c.muted, formatter: (value) => `${number(value)}×`, showMinLabel: false, showMaxLabel: false },
      }));
      titles.push({ text: name, left: -5, top: 10 + i * (panel + 14) + panel / 2 - 9,
        textStyle: { color: c.ink, fontSize: 12, fontWeight: "normal", fontFamily: FONT, width: left - 52, overflow: "truncate" } });
      series.push({
        type: "line", xAxisIndex: i, yAxisIndex: i, symbol: "circle", symbolSize: 5, lineStyle: { width: 1.5, color: c.accent },
        itemStyle: { color: c.accent },
        data: rows.map((row) => ({
          value: [t.value(row, chart.x), t.value(row, chart.y)], row,
          itemStyle: t.value(row, "kind") === "warm-up" ? { color: c.ground, borderColor: c.accent, borderWidth: 1.5 } : undefined,
        })),
        tooltip: { formatter: ({ data }) => t.tip(data.row) },
        markLine: { silent: true, symbol: "none", lineStyle: { color: c.muted, type: "dashed", width: 1 }, label: { show: false }, data: [{ yAxis: 1 }] },
        markPoint: mark ? {
          silent: true, symbol: "circle", symbolSize: 14, itemStyle: { color: "transparent", borderColor: c.ink, borderWidth: 1.5 },
          label: { show: true, formatter: "steady", position: "top", color: c.ink, fontSize: 11 },
          data: [{ coord: [mark.x, t.value(rows.find((row) => t.value(row, chart.x) === mark.x) ?? rows[0], chart.y)] }],
        } : undefined,
      });
    });
    return {
      height: 10 + names.length * (panel + 14) + 42,
      option: { ...base(c), title: titles, grid: grids, xAxis: xAxes, yAxis: yAxes, series },
    };
  }

  // Every value as a dot around the zero of its series, and a band.
  function strip(chart, t, c, dark, width) {
    const names = chart.bands.map((band) => band.series);
    const texts = chart.bands.map((band) => band.text);
    const left = widest(names, width * 0.3);
    const right = widest(texts, width * 0.4);
    const order = Object.fromEntries(names.map((name, i) => [name, i]));
    const dots = t.rows.map((row) => ({
      value: [100 * t.value(row, chart.value), order[t.value(row, chart.series)]], row,
      symbolOffset: [0, ((row * 7) % 5 - 2) * 2.4],
    }));
    const most = Math.max(1, ...dots.map((dot) => Math.abs(dot.value[0])));
    return {
      height: names.length * ROW + 58,
      option: {
        ...base(c), grid: { left, right, top: 6, bottom: 50 },
        xAxis: valueAxis(c, chart.axis_title, { min: -Math.ceil(most), max: Math.ceil(most), axisLabel: { color: c.muted, hideOverlap: true, showMinLabel: false, showMaxLabel: false, formatter: (value) => (value > 0 ? `+${number(value)}` : number(value)) } }),
        yAxis: [nameAxis(c, names, left), textAxis(c, texts)],
        series: [
          {
            type: "custom", silent: true, z: 1,
            data: chart.bands.map((band, i) => [100 * (band.low ?? 0), 100 * (band.high ?? 0), i]),
            renderItem: (params, api) => {
              const [x1, y] = api.coord([api.value(0), api.value(2)]);
              const [x2] = api.coord([api.value(1), api.value(2)]);
              return { type: "rect", shape: { x: x1, y: y - 10, width: Math.max(1, x2 - x1), height: 20 }, style: { fill: c.accent, opacity: 0.22 } };
            },
          },
          {
            type: "scatter", symbolSize: 5, itemStyle: { color: c.accent, opacity: 0.75 }, data: dots,
            tooltip: { formatter: ({ data }) => t.tip(data.row) },
            markLine: { silent: true, symbol: "none", lineStyle: { color: c.ink, width: 1 }, label: { show: false }, data: [{ xAxis: 0 }] },
          },
          BEHIND,
        ],
      },
    };
  }

  // Ratios with their intervals: the whole large, its parts small.
  function ratios(chart, t, c, dark, width) {
    const names = unique(t.rows.map((row) => t.value(row, chart.label)));
    const parts = unique(t.rows.map((row) => t.value(row, chart.part)));
    const left = widest(names, width * 0.34);
    const colorOf = (part) => (chart.colors[part] ? tinted(chart.colors[part], dark) : c.ink);
    const texts = names.map((name) => {
      const row = t.rows.find((one) => t.value(one, chart.label) === name && t.value(one, chart.part) === parts[0]);
      if (row === undefined) return "";
      const interval = t.value(row, chart.low) === null ? "" : ` (${t.shown(row, chart.low)} .. ${t.shown(row, chart.high)})`;
      return t.shown(row, chart.value) + interval;
    });
    const right = widest(texts, width * 0.34);
    const top = legendHeight(parts, width);
    const series = parts.flatMap((part, i) => {
      const rows = t.rows.filter((row) => t.value(row, chart.part) === part);
      const offset = i === 0 ? 0 : 9;
      const dots = {
        name: part, type: "scatter", symbolSize: i === 0 ? 10 : 6, symbolOffset: [0, offset], itemStyle: { color: colorOf(part) }, z: i === 0 ? 6 : 4,
        data: rows.map((row) => ({ value: [t.value(row, chart.value), names.indexOf(t.value(row, chart.label))], row })),
        tooltip: { formatter: ({ data }) => t.tip(data.row) },
      };
      if (i > 0) return [dots];
      const places = rows.filter((row) => t.value(row, chart.low) !== null)
        .map((row) => [t.value(row, chart.low), t.value(row, chart.high), names.indexOf(t.value(row, chart.label))]);
      dots.markLine = { silent: true, symbol: "none", lineStyle: { color: c.muted, type: "dashed", width: 1 }, label: { show: false }, data: [{ xAxis: 1 }] };
      return [dots, whiskers(c, places)];
    });
    return {
      height: top + 16 + names.length * 38 + 54,
      option: {
        ...base(c), legend: legendOf(c, parts),
        grid: { left, right, top: top + 16, bottom: 50 },
        xAxis: valueAxis(c, chart.axis_title, { min: 0, axisLabel: { color: c.muted, formatter: (value) => `${number(value)}×`, hideOverlap: true } }),
        yAxis: [nameAxis(c, names, left), textAxis(c, texts)],
        series: [...series, BEHIND],
      },
    };
  }

  // Bars of one length, divided by share.
  function shares(chart, t, c, dark, width) {
    const labelOf = (row) => chart.labels.map((key) => t.value(row, key)).join(" · ");
    const names = unique(t.rows.map(labelOf));
    const parts = unique(t.rows.map((row) => t.value(row, chart.part)));
    const left = widest(names, width * 0.36);
    const right = widest(chart.texts, width * 0.2);
    const top = legendHeight(parts, width);
    return {
      height: top + names.length * ROW + 54,
      option: {
        ...base(c), legend: legendOf(c, parts), grid: { left, right, top, bottom: 50 },
        xAxis: valueAxis(c, chart.axis_title, { max: 1, axisLabel: { color: c.muted, formatter: (value) => number(100 * value) } }),
        yAxis: [nameAxis(c, names, left), textAxis(c, chart.texts)],
        series: [...parts.map((part) => {
          const color = chart.colors[part] ?? "#bbbbbb";
          return {
            name: part, type: "bar", stack: "whole", barMaxWidth: 18, itemStyle: { color: tinted(color, dark) },
            label: { show: true, color: dark ? "#111111" : inkOn(color), fontSize: 11, formatter: ({ data }) => (data.value > 0.13 ? `${part} ${Math.round(100 * data.value)} %` : "") },
            data: names.map((name) => {
              const row = t.rows.find((one) => labelOf(one) === name && t.value(one, chart.part) === part);
              return { value: row === undefined ? 0 : t.value(row, chart.value), row };
            }),
            tooltip: { formatter: ({ data }) => (data.row === undefined ? "" : t.tip(data.row)) },
          };
        }), BEHIND],
      },
    };
  }

  const logAxis = (c, name, base10, more = {}) => valueAxis(c, name, { type: "log", logBase: base10 ? 10 : 2, ...more });
  const below = (value, base) => base ** Math.floor(Math.log(value) / Math.log(base) + 1e-9);
  const above = (value, base) => base ** Math.ceil(Math.log(value) / Math.log(base) - 1e-9);

  // Rates over intensity, both logarithmic, below what memory and arithmetic allow.
  function roofline(chart, t, c, dark, width) {
    const unit = counted(chart.axis);
    const peak = unit(chart.peak);
    const bandwidth = unit(chart.bandwidth);
    const parts = unique(t.rows.map((row) => t.value(row, chart.part)));
    const xs = t.rows.map((row) => t.value(row, chart.x));
    const ys = t.rows.map((row) => unit(t.value(row, chart.y)));
    const ridge = peak / bandwidth;
    const [x1, x2] = [below(Math.min(...xs, ridge / 10), 10), above(Math.max(...xs, ridge * 4), 10)];
    const y1 = below(Math.min(...ys), 10);
    const y2 = above(Math.max(...ys, peak * 1.5), 10);
    const longest = Math.max(...t.rows.map((row) => t.value(row, chart.size)));
    const start = Math.max(x1, y1 / bandwidth);
    const top = legendHeight(parts, width);
    const named8 = new Set([...t.rows].sort((a, b) => t.value(b, chart.size) - t.value(a, chart.size)).slice(0, 8));
    const roof = {
      type: "line", silent: true, symbol: "none", lineStyle: { color: c.ink, width: 1.5 }, z: 1,
      data: [[start, start * bandwidth], [ridge, peak], [x2, peak]],
      markPoint: {
        silent: true, symbolSize: 0, label: { color: c.muted, fontSize: 12 },
        data: [
          { coord: [x2, peak], label: { formatter: chart.peak_text, position: "insideBottomRight", align: "right", offset: [0, -4] } },
          { coord: [Math.sqrt(start * ridge), Math.sqrt(start * ridge) * bandwidth], label: { formatter: chart.bandwidth_text, align: "right", offset: [-10, -8] } },
        ],
      },
    };
    return {
      height: 440 + top,
      option: {
        ...base(c), legend: legendOf(c, parts), grid: { left: 74, right: 24, top: top + 12, bottom: 50 },
        xAxis: logAxis(c, "FLOPs for each byte that must move", true, { min: x1, max: x2, axisLabel: { color: c.muted, formatter: number } }),
        yAxis: logAxis(c, named("rate", chart.axis), true, { min: y1, max: y2, nameGap: 48, axisLabel: { color: c.muted, formatter: number } }),
        series: [roof, ...parts.map((part) => ({
          name: part, type: "scatter", itemStyle: { color: tinted(chart.colors[part] ?? "#bbbbbb", dark), opacity: 0.9, borderColor: c.ground, borderWidth: 1 },
          labelLayout: { moveOverlap: "shiftY", hideOverlap: true },
          data: t.rows.filter((row) => t.value(row, chart.part) === part).map((row) => ({
            value: [t.value(row, chart.x), unit(t.value(row, chart.y))], row, symbolSize: 7 + 24 * Math.sqrt(t.value(row, chart.size) / longest),
            label: { show: named8.has(row), position: t.value(row, chart.x) > x2 / 12 ? "left" : "right", color: c.ink, fontSize: 11, formatter: chart.label.map((key) => t.value(row, key)).join(" ") },
          })),
          tooltip: { formatter: ({ data }) => t.tip(data.row) },
        }))],
      },
    };
  }

  // Bytes stacked by category over the launches of a step, with its phases.
  function areas(chart, t, c, dark, width) {
    const unit = counted(chart.axis);
    const top = legendHeight(chart.names, width) + 22;
    const xs = t.rows.map((row) => t.value(row, chart.x));
    const end = Math.max(...chart.phases.map((phase) => phase.last)) + 1;
    const series = chart.parts.map((part, i) => ({
      name: chart.names[i], type: "line", stack: "held", step: "end", symbol: "none", lineStyle: { width: 0 },
      itemStyle: { color: tinted(chart.colors[i], dark) }, areaStyle: { color: tinted(chart.colors[i], dark), opacity: 1 },
      data: [...t.rows.map((row) => [xs[row], unit(t.value(row, part) ?? 0)]), [end, unit(t.value(t.count - 1, part) ?? 0)]],
    }));
    const nearRight = chart.peak.x > 0.7 * end;
    series.push({
      type: "scatter", silent: true, symbolSize: 7, itemStyle: { color: c.ink, borderColor: c.ground, borderWidth: 1 }, z: 9, data: [[chart.peak.x, unit(chart.peak.bytes)]],
      label: { show: true, formatter: `peak ${chart.peak.text}`, position: nearRight ? "left" : "right", offset: [0, -9], color: c.ink, fontWeight: 600, textBorderColor: c.ground, textBorderWidth: 3 },
      markLine: {
        silent: true, symbol: "none", lineStyle: { color: c.muted, type: "dashed", width: 1 },
        label: { color: c.ink, position: "end", align: "left", offset: [4, 0], formatter: ({ name }) => name },
        data: chart.phases.map((phase) => ({ name: phase.title, xAxis: phase.first })),
      },
    });
    return {
      height: top + 230,
      option: {
        ...base(c), legend: legendOf(c, chart.names), grid: { left: 64, right: 16, top, bottom: 48 },
        tooltip: { ...base(c).tooltip, trigger: "axis", axisPointer: { lineStyle: { color: c.muted } },
          formatter: (all) => t.tip(Math.min(all[0].dataIndex, t.count - 1)) },
        xAxis: valueAxis(c, chart.x_title, { min: 0, max: end, minInterval: 1, splitLine: { show: false }, axisLine: { show: true, lineStyle: { color: c.line } } }),
        yAxis: valueAxis(c, named(chart.axis_title, chart.axis), { max: unit(chart.most) * 1.12, nameGap: 44, axisLabel: { color: c.muted, showMaxLabel: false } }),
        series,
      },
    };
  }

  // Lines over context lengths, both axes logarithmic.
  function loglog(chart, t, c, dark, width) {
    const unit = counted(chart.axis);
    const names = unique(t.rows.map((row) => t.value(row, chart.series)));
    const xs = t.rows.map((row) => t.value(row, chart.x));
    const ys = t.rows.map((row) => unit(t.value(row, chart.y)));
    const limit = unit(chart.limit?.bytes);
    const right = widest(names, width * 0.34) + 10;
    const [x1, x2] = [Math.min(...xs), Math.max(...xs)];
    const colorOf = (name, i) => tinted(chart.colors?.[name] ?? PALEE[i % PALEE.length], dark);
    const ends = names.map((name) => {
      const row = t.rows.filter((one) => t.value(one, chart.series) === name).at(-1);
      return { text: name, y: unit(t.value(row, chart.y)), color: c.ink };
    });
    const series = names.map((name, i) => ({
      name, type: "line", symbol: "circle", symbolSize: 8, lineStyle: { width: 2, color: colorOf(name, i) }, itemStyle: { color: colorOf(name, i) },
      data: t.rows.filter((row) => t.value(row, chart.series) === name).map((row) => {
        const state = t.value(row, chart.state);
        const look = state === "out of memory" ? { symbol: CROSS, symbolSize: 11, itemStyle: { color: "transparent", borderColor: colorOf(name, i), borderWidth: 2.5 } }
          : state === "predicted" ? { itemStyle: { color: c.ground, borderColor: colorOf(name, i), borderWidth: 2 } } : {};
        return { value: [t.value(row, chart.x), unit(t.value(row, chart.y))], row, ...look };
      }),
      tooltip: { formatter: ({ data }) => t.tip(data.row) },
    }));
    if (limit && limit < 64 * Math.max(...ys)) {
      series.push({ type: "line", silent: true, symbol: "none", data: [[x1, limit], [x2, limit]], lineStyle: { color: c.muted, type: "dashed", width: 1 } });
      ys.push(limit);
      ends.push({ text: chart.limit.text, y: limit, color: c.muted });
    }
    const [y1, y2] = [below(Math.min(...ys), 2), above(Math.max(...ys), 2)];
    // Names at the ends of their lines, pushed apart where they would overlap.
    const least = (Math.log2(y2 / y1) * 15) / 336;
    ends.sort((a, b) => a.y - b.y);
    ends.forEach((end, i) => { end.at = i === 0 ? Math.log2(end.y) : Math.max(Math.log2(end.y), ends[i - 1].at + least); });
    ends.reduceRight((most, end) => (end.at = Math.min(end.at, most)) - least, Math.log2(y2));
    series.push({
      type: "scatter", silent: true, symbolSize: 0,
      data: ends.map((end) => ({ value: [x2, 2 ** end.at], label: { show: true, position: "right", distance: 10, formatter: end.text, color: end.color, width: right - 16, overflow: "truncate" } })),
    });
    return {
      height: 400,
      option: {
        ...base(c), grid: { left: 70, right, top: 14, bottom: 50 },
        xAxis: logAxis(c, chart.x_title, false, { min: below(x1, 2), max: above(x2, 2), axisLabel: { color: c.muted, formatter: number } }),
        yAxis: logAxis(c, named(chart.y_title, chart.axis), false, { min: y1, max: y2, nameGap: 48, axisLabel: { color: c.muted, formatter: number, hideOverlap: true } }),
        series,
      },
    };
  }

  // Two values of each row on one line: a ring and a dot.
  function pairs(chart, t, c, dark, width) {
    const unit = counted(chart.axis);
    const names = t.rows.map((row) => t.value(row, chart.label));
    const texts = t.rows.map((row) => t.shown(row, chart.text));
    const left = widest(names, width * 0.34);
    const right = widest(texts, width * 0.2);
    const end = (key, look) => ({
      name: chart.names[key === chart.a ? 0 : 1], type: "scatter", symbolSize: 10, itemStyle: look, z: 5,
      data: t.rows.map((row) => [unit(t.value(row, key)), row]), tooltip: { formatter: ({ dataIndex }) => t.tip(dataIndex) },
    });
    return {
      height: 26 + names.length * ROW + 54,
      option: {
        ...base(c), legend: { ...legendOf(c, chart.names), icon: "circle" },
        grid: { left, right, top: 26, bottom: 50 },
        xAxis: valueAxis(c, named(chart.axis_title, chart.axis), { min: 0 }),
        yAxis: [nameAxis(c, names, left), textAxis(c, texts)],
        series: [
          {
            type: "custom", silent: true, data: t.rows.map((row) => [unit(t.value(row, chart.a)), unit(t.value(row, chart.b)), row]),
            renderItem: (params, api) => {
              const [x1, y] = api.coord([api.value(0), api.value(2)]);
              const [x2] = api.coord([api.value(1), api.value(2)]);
              return { type: "line", shape: { x1, y1: y, x2, y2: y }, style: { stroke: c.accent, lineWidth: 2 } };
            },
          },
          end(chart.b, { color: c.accent }), end(chart.a, { color: c.ground, borderColor: c.accent, borderWidth: 2 }),
          BEHIND,
        ],
      },
    };
  }

  // One line for each kind of work, with the times of this page and those of others on it.
  function dots(chart, t, c, dark, width) {
    const unit = counted(chart.axis);
    const rows = t.rows.filter((row) => typeof t.value(row, chart.value) === "number");
    const names = unique(rows.map((row) => t.value(row, chart.label)));
    const isOwn = (row) => t.value(row, chart.where) !== "published";
    const isPredicted = (row) => t.value(row, chart.where) !== "here";
    const parts = unique(rows.filter((row) => !isOwn(row)).map((row) => t.value(row, chart.part)));
    const left = widest(names, width * 0.34);
    const values = rows.map((row) => unit(t.value(row, chart.value)));
    const kinds = [...parts, "this page"];
    const text = (row) => ({ show: true, position: "bottom", distance: 4, color: c.muted, fontSize: 10, formatter: t.value(row, chart.text) });
    const top = legendHeight(kinds, width);
    const place = (row) => ({ value: [unit(t.value(row, chart.value)), names.indexOf(t.value(row, chart.label))], row });
    const tooltip = { formatter: ({ data }) => t.tip(data.row) };
    return {
      height: top + names.length * 54 + 54,
      option: {
        ...base(c), legend: { ...legendOf(c, kinds), icon: undefined }, grid: { left, right: 30, top, bottom: 50 },
        xAxis: logAxis(c, named(chart.axis_title, chart.axis), true, { min: below(Math.min(...values), 10), max: above(Math.max(...values), 10), axisLabel: { color: c.muted, formatter: number } }),
        yAxis: { ...nameAxis(c, names, left), splitLine: { show: true, lineStyle: { color: c.line } } },
        series: [
          ...parts.map((part, i) => ({
            name: part, type: "scatter", symbol: "circle", symbolSize: 8, itemStyle: { color: tinted(PALEE[i % PALEE.length], dark), opacity: 0.85 }, tooltip,
            labelLayout: { hideOverlap: true },
            data: rows.filter((row) => !isOwn(row) && t.value(row, chart.part) === part).map((row) => ({ ...place(row), label: text(row) })),
          })),
          {
            name: "this page", type: "scatter", symbol: "diamond", symbolSize: 15, itemStyle: { color: c.ink }, tooltip, z: 6,
            data: rows.filter(isOwn).map((row) => ({ ...place(row), itemStyle: isPredicted(row) ? { color: c.ground, borderColor: c.ink, borderWidth: 1.5 } : undefined })),
          },
        ],
      },
    };
  }

  const KINDS = { bars, lines, strip, ratios, shares, roofline, areas, loglog, pairs, dots };
  return ({ chart, table }, { dark, width }) => KINDS[chart.kind](chart, reader(table), colorsOf(dark), dark, width);
})();
