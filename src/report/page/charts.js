// Options of the chart library for each kind of chart. Numbers come from the table of the figure, and texts for people
// are the cells that it shows; nothing is computed here but places.
"use strict";
const laptimeChart = (() => {
  const {
    PALETTE, FONT, CROSS, patternOf, shapeOf, dashesOf, tinted, inkOn, textWidth, shortened, widest, reader, colorsOf, base, number, counted, named,
    valueAxis, logAxis, below, above, rowsOf, legendOf, legendHeight, whiskers, unique,
  } = chartParts;

  // Stacked bars with the whole behind them.
  function bars(chart, t, c, dark, width) {
    const unit = counted(chart.axis);
    const names = t.rows.map((row) => t.value(row, chart.label));
    const texts = chart.text ? t.rows.map((row) => t.shown(row, chart.text)) : [];
    const rows = rowsOf(c, names, texts, width);
    const top = chart.names.length > 1 ? legendHeight(chart.names, width) : 4;
    const series = chart.parts.map((part, i) => ({
      name: chart.names[i], type: "bar", stack: "whole", barMaxWidth: rows.barWidth,
      itemStyle: { color: tinted(chart.colors[i], dark), decal: patternOf(chart.patterns[i]) },
      data: t.rows.map((row) => unit(t.value(row, part) ?? 0)),
      tooltip: { formatter: ({ dataIndex }) => t.tip(dataIndex) },
    }));
    if (chart.low) {
      const places = t.rows.filter((row) => t.value(row, chart.low) !== null)
        .map((row) => [unit(t.value(row, chart.low)), unit(t.value(row, chart.high)), row]);
      series.push(whiskers(c, places));
    }
    return {
      height: top + rows.height + 54,
      option: {
        ...base(c), legend: chart.names.length > 1 ? legendOf(c, chart.names, "roundRect") : undefined,
        grid: { left: rows.left, right: rows.right, top, bottom: 50 },
        xAxis: valueAxis(c, named(chart.axis_title, chart.axis)),
        yAxis: rows.yAxis,
        series: [...series, ...rows.behind],
      },
    };
  }

  // A panel for each series, one below the other, with one scale.
  function lines(chart, t, c, dark, width) {
    const names = unique(t.rows.map((row) => t.value(row, chart.series)));
    const isAbove = widest(names) > 0.34 * width; // the name of a panel, where there is no room beside it
    const left = isAbove ? 44 : widest(names) + 40;
    const panel = 64;
    const gap = isAbove ? 32 : 14;
    const topOf = (i) => (isAbove ? 30 : 10) + i * (panel + gap);
    const values = t.rows.map((row) => t.value(row, chart.y));
    const [low, high] = [Math.min(0.9, ...values), Math.max(1.1, ...values)];
    const longest = Math.max(...t.rows.map((row) => t.value(row, chart.x)));
    const grids = [], xAxes = [], yAxes = [], series = [], titles = [];
    names.forEach((name, i) => {
      const rows = t.rows.filter((row) => t.value(row, chart.series) === name);
      const last = i === names.length - 1;
      const mark = chart.marks.find((one) => one.series === name);
      grids.push({ left, right: 20, top: topOf(i), height: panel });
      xAxes.push(valueAxis(c, last ? chart.x_title : "", {
        gridIndex: i, min: 1, max: Math.max(2, longest), minInterval: 1, splitLine: { show: false },
        axisLine: { show: true, lineStyle: { color: c.line } }, axisLabel: { show: last, color: c.muted },
      }));
      yAxes.push(valueAxis(c, "", {
        gridIndex: i, min: Math.floor(low * 10) / 10, max: Math.ceil(high * 10) / 10, splitNumber: 2,
        axisLabel: { color: c.muted, formatter: (value) => `${number(value)}×`, showMinLabel: false, showMaxLabel: false },
      }));
      titles.push({ text: name, left: 0, padding: [5, 0], top: isAbove ? topOf(i) - 28 : topOf(i) + panel / 2 - 9,
        textStyle: { color: c.ink, fontSize: 12, fontWeight: "normal", fontFamily: FONT, width: isAbove ? width - 12 : left - 52, overflow: "truncate" } });
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
      height: topOf(names.length) - (isAbove ? 20 : 0) + 42,
      option: { ...base(c), title: titles, grid: grids, xAxis: xAxes, yAxis: yAxes, series },
    };
  }

  // Every value as a dot around the zero of its series, and a band.
  function strip(chart, t, c, dark, width) {
    const names = chart.bands.map((band) => band.series);
    const texts = chart.bands.map((band) => band.text);
    const rows = rowsOf(c, names, texts, width);
    const order = Object.fromEntries(names.map((name, i) => [name, i]));
    const dots = t.rows.map((row) => ({
      value: [100 * t.value(row, chart.value), order[t.value(row, chart.series)]], row,
      symbolOffset: [0, ((row * 7) % 5 - 2) * 2.4],
    }));
    const most = Math.max(1, ...dots.map((dot) => Math.abs(dot.value[0])));
    return {
      height: rows.height + 58,
      option: {
        ...base(c), grid: { left: rows.left, right: rows.right, top: 6, bottom: 50 },
        xAxis: valueAxis(c, chart.axis_title, { min: -Math.ceil(most), max: Math.ceil(most), axisLabel: { showMinLabel: false, showMaxLabel: false, formatter: (value) => (value > 0 ? `+${number(value)}` : number(value)) } }),
        yAxis: rows.yAxis,
        series: [
          {
            type: "custom", silent: true, z: 1, encode: { x: [0, 1], y: 2 },
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
          ...rows.behind,
        ],
      },
    };
  }

  // Ratios with their intervals: the whole large, its parts small.
  function ratios(chart, t, c, dark, width) {
    const names = unique(t.rows.map((row) => t.value(row, chart.label)));
    const parts = unique(t.rows.map((row) => t.value(row, chart.part)));
    const colorOf = (part) => (chart.colors[part] ? tinted(chart.colors[part], dark) : c.ink);
    const texts = names.map((name) => {
      const row = t.rows.find((one) => t.value(one, chart.label) === name && t.value(one, chart.part) === parts[0]);
      if (row === undefined) return "";
      const interval = t.value(row, chart.low) === null ? "" : ` (${t.shown(row, chart.low)} .. ${t.shown(row, chart.high)})`;
      return t.shown(row, chart.value) + interval;
    });
    const rows = rowsOf(c, names, texts, width, 38);
    const top = legendHeight(parts, width);
    const series = parts.flatMap((part, i) => {
      const own = t.rows.filter((row) => t.value(row, chart.part) === part);
      const offset = i === 0 ? 0 : 9;
      const dots = {
        name: part, type: "scatter", symbol: shapeOf(i), symbolSize: i === 0 ? 10 : 7, symbolOffset: [0, offset], itemStyle: { color: colorOf(part) }, z: i === 0 ? 6 : 4,
        data: own.map((row) => ({ value: [t.value(row, chart.value), names.indexOf(t.value(row, chart.label))], row })),
        tooltip: { formatter: ({ data }) => t.tip(data.row) },
      };
      if (i > 0) return [dots];
      const places = own.filter((row) => t.value(row, chart.low) !== null)
        .map((row) => [t.value(row, chart.low), t.value(row, chart.high), names.indexOf(t.value(row, chart.label))]);
      dots.markLine = { silent: true, symbol: "none", lineStyle: { color: c.muted, type: "dashed", width: 1 }, label: { show: false }, data: [{ xAxis: 1 }] };
      return [dots, whiskers(c, places)];
    });
    return {
      height: top + 16 + rows.height + 54,
      option: {
        ...base(c), legend: legendOf(c, parts),
        grid: { left: rows.left, right: rows.right, top: top + 16, bottom: 50 },
        xAxis: valueAxis(c, chart.axis_title, { min: 0, axisLabel: { formatter: (value) => `${number(value)}×` } }),
        yAxis: rows.yAxis,
        series: [...series, ...rows.behind],
      },
    };
  }

  // Bars of one length, divided by share.
  function shares(chart, t, c, dark, width) {
    const labelOf = (row) => chart.labels.map((key) => t.value(row, key)).join(" · ");
    const shared = t.rows.filter((row) => t.value(row, chart.value) !== null);
    const names = unique(shared.map(labelOf));
    const parts = unique(shared.map((row) => t.value(row, chart.part)));
    const rows = rowsOf(c, names, chart.texts, width);
    const room = width - rows.left - rows.right;
    const top = legendHeight(parts, width);
    return {
      height: top + rows.height + 54,
      option: {
        ...base(c), legend: legendOf(c, parts, "roundRect"), grid: { left: rows.left, right: rows.right, top, bottom: 50 },
        xAxis: valueAxis(c, chart.axis_title, { max: 1, axisLabel: { formatter: (value) => number(100 * value) } }),
        yAxis: rows.yAxis,
        series: [...parts.map((part) => {
          const color = chart.colors[part] ?? "#bbbbbb";
          const shareText = (share) => `${part} ${Math.round(100 * share)} %`;
          return {
            name: part, type: "bar", stack: "whole", barMaxWidth: rows.barWidth,
            itemStyle: { color: tinted(color, dark), decal: patternOf(chart.patterns[part]) },
            label: {
              show: true, color: dark ? "#111111" : inkOn(color), fontSize: 11, textBorderColor: tinted(color, dark), textBorderWidth: 3,
              formatter: ({ data }) => (textWidth(shareText(data.value), 11) + 12 < data.value * room ? shareText(data.value) : ""),
            },
            data: names.map((name) => {
              const row = shared.find((one) => labelOf(one) === name && t.value(one, chart.part) === part);
              return { value: row === undefined ? 0 : t.value(row, chart.value), row };
            }),
            tooltip: { formatter: ({ data }) => (data.row === undefined ? "" : t.tip(data.row)) },
          };
        }), ...rows.behind],
      },
    };
  }

  const overlap = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

  // Names beside as many dots as have room, the first of them first. `dots`: {x, y, radius, text} in pixels; `taken`: boxes
  // that no name may cover. Gives each dot with room the side of its name.
  function namesBeside(dots, taken, frame) {
    const places = new Map();
    const boxes = [...taken];
    for (const { x, y, radius, text, row } of dots) {
      const [w, h] = [textWidth(text, 11) + 6, 14];
      const sides = { right: [x + radius + 3, y - h / 2], left: [x - radius - 3 - w, y - h / 2], top: [x - w / 2, y - radius - h - 2], bottom: [x - w / 2, y + radius + 2] };
      for (const [side, [left, top]] of Object.entries(sides)) {
        const box = { x: left, y: top, width: w, height: h };
        if (left < frame.x || left + w > frame.x + frame.width || top < frame.y || top + h > frame.y + frame.height) continue;
        if (boxes.some((other) => overlap(box, other))) continue;
        boxes.push(box);
        places.set(row, side);
        break;
      }
    }
    return places;
  }

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
    const frame = { x: 74, y: top + 12, width: width - 98, height: 378 };
    const at = (x, y) => [frame.x + (frame.width * Math.log(x / x1)) / Math.log(x2 / x1), frame.y + (frame.height * Math.log(y2 / y)) / Math.log(y2 / y1)];
    const sizeOf = (row) => 7 + 24 * Math.sqrt(t.value(row, chart.size) / longest);
    const textOf = (row) => chart.label.map((key) => t.value(row, key)).join(" ");
    const bySize = [...t.rows].sort((a, b) => t.value(b, chart.size) - t.value(a, chart.size)).map((row) => {
      const [x, y] = at(t.value(row, chart.x), unit(t.value(row, chart.y)));
      return { x, y, radius: sizeOf(row) / 2, text: textOf(row), row };
    });
    // The texts of the roof: the peak above its right end, the bandwidth above the slope, left of the ridge.
    const [ridgeX, peakY] = at(ridge, peak);
    const slope = at(ridge / 2, peak / 2);
    const peakBox = { x: frame.x + frame.width - textWidth(chart.peak_text) - 4, y: peakY - 20, width: textWidth(chart.peak_text) + 4, height: 18 };
    const isSlopeFree = slope[0] - textWidth(chart.bandwidth_text) - 14 > frame.x;
    const slopeBox = { x: slope[0] - textWidth(chart.bandwidth_text) - 14, y: slope[1] - 16, width: textWidth(chart.bandwidth_text) + 8, height: 16 };
    const boxOf = ({ x, y, radius }) => ({ x: x - radius, y: y - radius, width: 2 * radius, height: 2 * radius });
    // The slope is covered by small boxes, so that no name lies across it.
    const [startX, startY] = at(start, start * bandwidth);
    const pieces = Math.max(1, Math.ceil((ridgeX - startX) / 6));
    const [wide, high] = [(ridgeX - startX) / pieces, (startY - peakY) / pieces];
    const slopeBoxes = Array.from({ length: pieces }, (_, i) => ({ x: startX + i * wide, y: startY - (i + 1) * high - 2, width: wide, height: high + 4 }));
    const taken = [peakBox, ...(isSlopeFree ? [slopeBox] : []), ...bySize.map(boxOf), ...slopeBoxes, { x: ridgeX, y: peakY - 2, width, height: 4 }];
    const sides = namesBeside(bySize.slice(0, 8), taken, frame);
    const roof = {
      type: "line", silent: true, symbol: "none", lineStyle: { color: c.ink, width: 1.5 }, z: 1,
      data: [[start, start * bandwidth], [ridge, peak], [x2, peak]],
      markPoint: {
        silent: true, symbolSize: 0, label: { color: c.muted, fontSize: 12 },
        data: [
          { coord: [x2, peak], label: { formatter: chart.peak_text, position: "insideBottomRight", align: "right", offset: [0, -4] } },
          ...(isSlopeFree ? [{ coord: [ridge / 2, peak / 2], label: { formatter: chart.bandwidth_text, align: "right", offset: [-10, -8] } }] : []),
        ],
      },
    };
    return {
      height: 440 + top,
      option: {
        ...base(c), legend: legendOf(c, parts), grid: { left: 74, right: 24, top: top + 12, bottom: 50 },
        xAxis: logAxis(c, "FLOPs for each byte that must move", true, { min: x1, max: x2, axisLabel: { formatter: number } }),
        yAxis: logAxis(c, named("rate", chart.axis), true, { min: y1, max: y2, nameGap: 48, axisLabel: { formatter: number } }),
        series: [roof, ...parts.map((part) => ({
          name: part, type: "scatter", symbol: shapeOf(chart.patterns[part] ?? 9),
          itemStyle: { color: tinted(chart.colors[part] ?? "#bbbbbb", dark), opacity: 0.9, borderColor: c.ground, borderWidth: 1 },
          data: t.rows.filter((row) => t.value(row, chart.part) === part).map((row) => ({
            value: [t.value(row, chart.x), unit(t.value(row, chart.y))], row, symbolSize: sizeOf(row),
            label: { show: sides.has(row), position: sides.get(row) ?? "right", color: c.ink, fontSize: 11, formatter: textOf(row) },
          })),
          tooltip: { formatter: ({ data }) => t.tip(data.row) },
        }))],
      },
    };
  }

  // Bytes stacked by category over the launches of a step, with its phases.
  function areas(chart, t, c, dark, width) {
    const unit = counted(chart.axis);
    const xs = t.rows.map((row) => t.value(row, chart.x));
    const end = Math.max(...chart.phases.map((phase) => phase.last)) + 1;
    const [left, right] = [64, 16];
    const placeOf = (x) => left + ((width - left - right) * x) / end;
    // The title of a phase stands right of its line, left of it at the end of the frame, and above another where it would cover it.
    const ends = []; // of the titles in each line
    const titles = chart.phases.map((phase) => {
      const [at, long] = [placeOf(phase.first), textWidth(phase.title) + 6];
      const isLeft = at + long > width;
      const begin = isLeft ? at - long : at;
      let line = ends.findIndex((used) => used <= begin);
      if (line < 0) line = ends.length;
      ends[line] = begin + long;
      return { name: phase.title, xAxis: phase.first, label: { align: isLeft ? "right" : "left", offset: [isLeft ? -4 : 4, -16 * line] } };
    });
    const top = legendHeight(chart.names, width) + 6 + 16 * ends.length;
    const series = chart.parts.map((part, i) => ({
      name: chart.names[i], type: "line", stack: "held", step: "end", symbol: "none", lineStyle: { width: 0 },
      itemStyle: { color: tinted(chart.colors[i], dark), decal: patternOf(chart.patterns[i]) }, areaStyle: { color: tinted(chart.colors[i], dark), opacity: 1 },
      data: [...t.rows.map((row) => [xs[row], unit(t.value(row, part) ?? 0)]), [end, unit(t.value(t.count - 1, part) ?? 0)]],
    }));
    const nearRight = placeOf(chart.peak.x) + textWidth(`peak ${chart.peak.text}`, 13) + 20 > width - right;
    series.push({
      type: "scatter", silent: true, symbolSize: 7, itemStyle: { color: c.ink, borderColor: c.ground, borderWidth: 1 }, z: 9, data: [[chart.peak.x, unit(chart.peak.bytes)]],
      label: { show: true, formatter: `peak ${chart.peak.text}`, position: nearRight ? "left" : "right", offset: [0, -9], color: c.ink, fontWeight: 600, textBorderColor: c.ground, textBorderWidth: 3 },
      markLine: {
        silent: true, symbol: "none", lineStyle: { color: c.muted, type: "dashed", width: 1 },
        label: { color: c.ink, position: "end", formatter: ({ name }) => name },
        data: titles,
      },
    });
    return {
      height: top + 230,
      option: {
        ...base(c), legend: legendOf(c, chart.names, "roundRect"), grid: { left, right, top, bottom: 48 },
        tooltip: { ...base(c).tooltip, trigger: "axis", axisPointer: { lineStyle: { color: c.muted } },
          formatter: (all) => t.tip(Math.min(all[0].dataIndex, t.count - 1)) },
        xAxis: valueAxis(c, chart.x_title, { min: 0, max: end, minInterval: 1, splitLine: { show: false }, axisLine: { show: true, lineStyle: { color: c.line } } }),
        yAxis: valueAxis(c, named(chart.axis_title, chart.axis), { max: unit(chart.most) * 1.12, nameGap: 44, axisLabel: { showMaxLabel: false } }),
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
    // Names at the ends of lines; in a legend where there is no room for them.
    const isLegend = widest([...names, chart.limit?.text ?? ""]) > 0.34 * width;
    const right = isLegend ? 24 : widest([...names, chart.limit?.text ?? ""]) + 10;
    const top = isLegend ? legendHeight(names, width) + 8 : 14;
    const [x1, x2] = [Math.min(...xs), Math.max(...xs)];
    const colorOf = (name, i) => tinted(chart.colors?.[name] ?? PALETTE[i % PALETTE.length], dark);
    const ends = names.map((name) => {
      const row = t.rows.filter((one) => t.value(one, chart.series) === name).at(-1);
      return { text: name, y: unit(t.value(row, chart.y)), color: c.ink };
    });
    const series = names.map((name, i) => ({
      name, type: "line", symbol: shapeOf(i), symbolSize: 8, lineStyle: { width: 2, color: colorOf(name, i), type: dashesOf(i) }, itemStyle: { color: colorOf(name, i) },
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
    const shown = isLegend ? ends.filter((end) => end.color === c.muted) : ends;
    series.push({
      type: "scatter", silent: true, symbolSize: 0,
      data: shown.map((end) => ({ value: [x2, 2 ** end.at], label: { show: true, position: isLegend ? [-textWidth(end.text) - 4, 2] : "right", distance: 10, formatter: end.text, color: end.color } })),
    });
    return {
      height: 386 + top,
      option: {
        ...base(c), legend: isLegend ? legendOf(c, names) : undefined, grid: { left: 70, right, top, bottom: 50 },
        xAxis: logAxis(c, chart.x_title, false, { min: below(x1, 2), max: above(x2, 2), axisLabel: { formatter: number } }),
        yAxis: logAxis(c, named(chart.y_title, chart.axis), false, { min: y1, max: y2, nameGap: 48, axisLabel: { formatter: number } }),
        series,
      },
    };
  }

  // Two values of each row on one line: a ring and a dot.
  function pairs(chart, t, c, dark, width) {
    const unit = counted(chart.axis);
    const names = t.rows.map((row) => t.value(row, chart.label));
    const texts = t.rows.map((row) => t.shown(row, chart.text));
    const rows = rowsOf(c, names, texts, width);
    const end = (key, look) => ({
      name: chart.names[key === chart.a ? 0 : 1], type: "scatter", symbolSize: 10, itemStyle: look, z: 5,
      data: t.rows.map((row) => [unit(t.value(row, key)), row]), tooltip: { formatter: ({ dataIndex }) => t.tip(dataIndex) },
    });
    return {
      height: 26 + rows.height + 54,
      option: {
        ...base(c), legend: legendOf(c, chart.names, "circle"),
        grid: { left: rows.left, right: rows.right, top: 26, bottom: 50 },
        xAxis: valueAxis(c, named(chart.axis_title, chart.axis), { min: 0 }),
        yAxis: rows.yAxis,
        series: [
          {
            type: "custom", silent: true, encode: { x: [0, 1], y: 2 }, data: t.rows.map((row) => [unit(t.value(row, chart.a)), unit(t.value(row, chart.b)), row]),
            renderItem: (params, api) => {
              const [x1, y] = api.coord([api.value(0), api.value(2)]);
              const [x2] = api.coord([api.value(1), api.value(2)]);
              return { type: "line", shape: { x1, y1: y, x2, y2: y }, style: { stroke: c.accent, lineWidth: 2 } };
            },
          },
          end(chart.b, { color: c.accent }), end(chart.a, { color: c.ground, borderColor: c.accent, borderWidth: 2 }),
          ...rows.behind,
        ],
      },
    };
  }

  // One line for each kind of work, with the times of this page and those of others on it.
  function dots(chart, t, c, dark, width) {
    const unit = counted(chart.axis);
    const timed = t.rows.filter((row) => typeof t.value(row, chart.value) === "number");
    const names = unique(timed.map((row) => t.value(row, chart.label)));
    const isOwn = (row) => t.value(row, chart.where) !== "published";
    const isPredicted = (row) => t.value(row, chart.where) !== "here";
    const parts = unique(timed.filter((row) => !isOwn(row)).map((row) => t.value(row, chart.part)));
    const rows = rowsOf(c, names, [], width, 54);
    const values = timed.map((row) => unit(t.value(row, chart.value)));
    const kinds = timed.some(isOwn) ? [...parts, "this page"] : parts;
    const text = (row) => ({ show: true, position: "bottom", distance: 4, color: c.muted, fontSize: 10, formatter: t.value(row, chart.text) });
    const top = legendHeight(kinds, width);
    const place = (row) => ({ value: [unit(t.value(row, chart.value)), names.indexOf(t.value(row, chart.label))], row });
    const tooltip = { formatter: ({ data }) => t.tip(data.row) };
    return {
      height: top + rows.height + 54,
      option: {
        ...base(c), legend: legendOf(c, kinds), grid: { left: rows.left, right: 30, top, bottom: 50 },
        xAxis: logAxis(c, named(chart.axis_title, chart.axis), true, { min: below(Math.min(...values), 10), max: above(Math.max(...values), 10), axisLabel: { formatter: number } }),
        yAxis: { ...rows.yAxis[0], splitLine: { show: true, lineStyle: { color: c.line } } },
        series: [
          ...parts.map((part, i) => ({
            name: part, type: "scatter", symbol: shapeOf(i), symbolSize: 8, itemStyle: { color: tinted(PALETTE[i % PALETTE.length], dark), opacity: 0.85 }, tooltip,
            labelLayout: ({ labelRect }) => ({ hideOverlap: true, dx: Math.max(0, 2 - labelRect.x) + Math.min(0, width - 2 - labelRect.x - labelRect.width) }),
            data: timed.filter((row) => !isOwn(row) && t.value(row, chart.part) === part).map((row) => ({ ...place(row), label: text(row) })),
          })),
          {
            name: "this page", type: "scatter", symbol: "diamond", symbolSize: 15, itemStyle: { color: c.ink }, tooltip, z: 6,
            data: timed.filter(isOwn).map((row) => ({ ...place(row), itemStyle: isPredicted(row) ? { color: c.ground, borderColor: c.ink, borderWidth: 1.5 } : undefined })),
          },
        ],
      },
    };
  }

  const KINDS = { bars, lines, strip, ratios, shares, roofline, areas, loglog, pairs, dots };
  return ({ chart, table }, { dark, width }) => {
    const drawn = KINDS[chart.kind](chart, reader(table), colorsOf(dark), dark, width);
    if (drawn.option.legend) drawn.option.legend.formatter = (name) => shortened(name, width - 40);
    return drawn;
  };
})();
