// Options of the chart library for each kind of chart. Numbers come from the table of the figure, and texts for people
// are the cells that it shows; nothing is computed here but places.
"use strict";
const laptimeChart = (() => {
  const {
    FONT, patternOf, shapeOf, tinted, onPattern, textWidth, shortened, widest, reader, colorsOf, base, number, counted, named, valueAxis,
    logAxis, below, above, roundAbove, rowsOf, legendOf, legendHeight, whiskers, unique,
  } = chartParts;

  // Stacked bars; a tick at the whole, which need not be the sum of the parts, and its interval.
  function bars(chart, t, c, dark, width) {
    const unit = counted(chart.axis);
    const names = t.rows.map((row) => t.value(row, chart.label));
    const texts = chart.text ? t.rows.map((row) => t.shown(row, chart.text)) : [];
    const rows = rowsOf(c, names, texts, width);
    const tooltip = { formatter: ({ dataIndex }) => t.tip(dataIndex) };
    const most = Math.max(...t.rows.map((row) => unit(t.value(row, chart.total))));
    const room = width - rows.left - rows.right;
    // As much of the number and the share of a part as has room.
    const labelOf = (row, i) => {
      const [long, short] = chart.labels[row][i];
      const wide = (room * 0.8 * unit(t.value(row, chart.parts[i].key) ?? 0)) / most;
      return [`${long} · ${short}`, long, short].find((text) => textWidth(text, 11) + 10 < wide) ?? "";
    };
    const series = chart.parts.map((part, i) => ({
      name: part.name, type: "bar", stack: "whole", barMaxWidth: rows.barWidth,
      itemStyle: { color: tinted(part.color, dark), decal: patternOf(part.pattern) },
      data: t.rows.map((row) => {
        const value = unit(t.value(row, part.key) ?? 0);
        const text = chart.labels ? labelOf(row, i) : "";
        return text ? { value, label: { show: true, formatter: text, ...onPattern(part.color, dark) } } : value;
      }), tooltip,
    }));
    if (chart.low) {
      const places = t.rows.filter((row) => t.value(row, chart.low) !== null)
        .map((row) => [unit(t.value(row, chart.low)), unit(t.value(row, chart.high)), row]);
      series.push(whiskers(c, places), {
        name: chart.total_name, type: "scatter", symbol: "path://M0,0h3v24h-3z", symbolSize: [3, rows.barWidth + 6], z: 6, tooltip, itemStyle: { color: c.ink },
        data: t.rows.map((row) => [unit(t.value(row, chart.total)), row]),
      });
    }
    const legend = series.map(({ name }) => name).filter(Boolean);
    const top = (legend.length > 1 ? legendHeight(legend, width) : 4) + rows.above;
    return {
      height: top + rows.height + 54,
      option: {
        ...base(c), legend: legend.length > 1 ? legendOf(c, legend) : undefined, graphic: rows.stripes(top),
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
    const isAbove = widest(names) > 0.34 * width; // the name of a panel and its text, where there is no room beside it
    const left = isAbove ? 44 : Math.max(widest(names), 200) + 44;
    const panel = 64;
    const gap = isAbove ? 64 : 16;
    const topOf = (i) => (isAbove ? 52 : 16) + i * (panel + gap);
    const values = t.rows.map((row) => t.value(row, chart.y));
    const [low, high] = [Math.max(0, Math.min(0.9, ...values)), Math.max(1.1, Math.min(chart.most, Math.max(...values)))];
    const longest = Math.max(...t.rows.map((row) => t.value(row, chart.x)));
    const end = Math.max(2, longest);
    // The steps of a steady state are shaded; the word stands above the first, so that it covers no step.
    const steadyArea = ({ x }, rows) => {
      const [first, last] = [Math.max(1, x - 0.5), Math.min(end, t.value(rows.at(-1), chart.x) + 0.5)];
      const begin = left + ((width - left - 20) * (first - 1)) / (end - 1);
      return {
        silent: true, itemStyle: { color: c.shade },
        label: { show: true, position: [Math.min(0, width - 2 - begin - textWidth("steady", 11)), -13], align: "left", verticalAlign: "top", color: c.ink, fontSize: 11 },
        data: [[{ name: "steady", xAxis: first }, { xAxis: last }]],
      };
    };
    const grids = [], xAxes = [], yAxes = [], series = [], titles = [];
    names.forEach((name, i) => {
      const rows = t.rows.filter((row) => t.value(row, chart.series) === name);
      const last = i === names.length - 1;
      const mark = chart.marks.find((one) => one.series === name);
      grids.push({ left, right: 20, top: topOf(i), height: panel });
      xAxes.push(valueAxis(c, last ? chart.x_title : "", {
        gridIndex: i, min: 1, max: end, minInterval: 1, splitLine: { show: false },
        axisLine: { show: true, lineStyle: { color: c.line } }, axisLabel: { show: last, color: c.muted },
      }));
      yAxes.push(valueAxis(c, "", {
        gridIndex: i, min: Math.floor(low * 10) / 10, max: Math.ceil(high * 10) / 10, splitNumber: 2,
        axisLabel: { color: c.muted, formatter: (value) => `${number(value)}×`, showMinLabel: false, showMaxLabel: false },
      }));
      const room = isAbove ? width - 12 : left - 56;
      titles.push({ text: name, subtext: chart.texts[name], left: 0, padding: [2, 0], itemGap: 2, top: isAbove ? topOf(i) - 48 : topOf(i),
        textStyle: { color: c.ink, fontSize: 12, fontWeight: "normal", fontFamily: FONT, width: room, overflow: "truncate" },
        subtextStyle: { color: c.muted, fontSize: 11, lineHeight: 14, fontFamily: FONT, width: room, overflow: isAbove ? "truncate" : "break" } });
      series.push({
        type: "line", xAxisIndex: i, yAxisIndex: i, symbol: "circle", symbolSize: 5, lineStyle: { width: 1.5, color: c.accent },
        itemStyle: { color: c.accent },
        data: rows.map((row) => {
          const value = t.value(row, chart.y);
          const beyond = value > chart.most; // at the edge, with its number
          return {
            value: [t.value(row, chart.x), beyond ? high : value], row,
            ...(beyond ? { symbol: "triangle", symbolSize: 8, label: { show: true, position: "right", formatter: `${number(Math.round(10 * value) / 10)}×`, color: c.ink, fontSize: 11, fontWeight: 600 } } : {}),
            itemStyle: t.value(row, "kind") === "warm-up" ? { color: c.ground, borderColor: c.accent, borderWidth: 1.5 } : undefined,
          };
        }),
        tooltip: { formatter: ({ data }) => t.tip(data.row) },
        markLine: { silent: true, symbol: "none", lineStyle: { color: c.muted, type: "dashed", width: 1 }, label: { show: false }, data: [{ yAxis: 1 }] },
        markArea: mark ? steadyArea(mark, rows) : undefined,
      });
    });
    return {
      height: topOf(names.length) - (isAbove ? 44 : 0) + 42,
      option: { ...base(c), title: titles, grid: grids, xAxis: xAxes, yAxis: yAxes, series },
    };
  }

  // Every value as a dot around the zero of its series, in order from top to bottom of its row, and a band. Values out of
  // range stand at the edge, with their number.
  function strip(chart, t, c, dark, width) {
    const names = chart.bands.map((band) => band.series);
    const texts = chart.bands.map((band) => band.text);
    const rows = rowsOf(c, names, texts, width);
    const order = Object.fromEntries(names.map((name, i) => [name, i]));
    const range = 100 * chart.range;
    const clip = (value) => Math.max(-range, Math.min(range, value));
    // A band that goes beyond the axis runs to its end, and has no frame there.
    const edge = 1.04 * range;
    const openOf = (band) => [100 * (band.low ?? 0) < -range, 100 * (band.high ?? 0) > range];
    const endsOf = (band) => {
      const [isOpenLeft, isOpenRight] = openOf(band);
      return [isOpenLeft ? -edge : 100 * (band.low ?? 0), isOpenRight ? edge : 100 * (band.high ?? 0)];
    };
    const counts = {};
    for (const row of t.rows) counts[t.value(row, chart.series)] = (counts[t.value(row, chart.series)] ?? 0) + 1;
    const places = {};
    const high = rows.barWidth + 2; // of a cloud
    const dots = t.rows.map((row) => {
      const name = t.value(row, chart.series);
      const place = (places[name] = (places[name] ?? -1) + 1);
      const value = 100 * t.value(row, chart.value);
      const beyond = Math.abs(value) > range;
      return {
        value: [clip(value), order[name]], row,
        symbolOffset: [0, counts[name] > 1 ? high * (place / (counts[name] - 1) - 0.5) : 0],
        ...(beyond ? { symbol: "triangle", symbolRotate: value > 0 ? -90 : 90, symbolSize: 7, itemStyle: { color: c.ink, opacity: 1 } } : {}),
      };
    });
    const edges = chart.bands.flatMap((band, i) => [[-range, band.below], [range, band.above]].filter(([, count]) => count > 0)
      .map(([x, count]) => ({ value: [x, i], label: { show: true, formatter: String(count), position: x < 0 ? "right" : "left", distance: 6 } })));
    return {
      height: rows.above + rows.height + 58,
      option: {
        ...base(c), graphic: rows.stripes(rows.above + 6), grid: { left: rows.left, right: rows.right, top: rows.above + 6, bottom: 50 },
        xAxis: valueAxis(c, chart.axis_titles.find((title) => textWidth(title) < width - rows.left - rows.right) ?? "", { min: -edge, max: edge, axisLabel: { showMinLabel: false, showMaxLabel: false, formatter: (value) => (value > 0 ? `+${number(value)}` : number(value)) } }),
        yAxis: rows.yAxis,
        series: [
          {
            type: "custom", silent: true, z: 1, encode: { x: [0, 1], y: 2 },
            data: chart.bands.map((band, i) => [...endsOf(band), i]),
            renderItem: ({ dataIndex }, api) => {
              const [x1, y] = api.coord([api.value(0), api.value(2)]);
              const [x2] = api.coord([api.value(1), api.value(2)]);
              const wide = Math.max(4, x2 - x1);
              const [left, right] = [(x1 + x2 - wide) / 2, (x1 + x2 + wide) / 2];
              const [top, bottom] = [y - high / 2 - 3, y + high / 2 + 3];
              const frame = (...points) => ({ type: "polyline", shape: { points }, style: { fill: "none", stroke: c.frame, lineWidth: 1 } });
              const [isOpenLeft, isOpenRight] = openOf(chart.bands[dataIndex]);
              return { type: "group", children: [
                { type: "rect", shape: { x: left, y: top, width: wide, height: bottom - top }, style: { fill: c.band } },
                frame([left, top], [right, top]), frame([left, bottom], [right, bottom]),
                ...(isOpenLeft ? [] : [frame([left, top], [left, bottom])]), ...(isOpenRight ? [] : [frame([right, top], [right, bottom])]),
              ] };
            },
          },
          {
            type: "scatter", symbolSize: 4, z: 3, itemStyle: { color: c.accent, opacity: 0.85 }, data: dots,
            tooltip: { formatter: ({ data }) => t.tip(data.row) },
            markLine: { silent: true, symbol: "none", lineStyle: { color: c.ink, width: 1 }, label: { show: false }, data: [{ xAxis: 0 }] },
          },
          { type: "scatter", silent: true, symbolSize: 1, z: 6, itemStyle: { color: "transparent" }, data: edges, labelLayout: { hideOverlap: false },
            label: { color: c.ink, fontSize: 11, fontWeight: 600, textBorderColor: c.ground, textBorderWidth: 3 } },
          ...rows.behind,
        ],
      },
    };
  }

  // Ratios that may stand at an axis, the more important ones first.
  const RATIOS = [1, 2, 0.5, 4, 8, 0.25, 16, 1.5, 3, 6, 0.75, 12, 32, 0.125, 64, 1.25, 24, 1.75, 2.5, 5, 0.9, 1.1, 0.6, 10, 48];
  const PRECISE = [0.01, 0.02, 0.05, 0.0625, 128, 256, 512, 1024];

  // An axis of ratios: logarithmic, so that twice and half as fast are as far from 1, and one large ratio leaves room for
  // the others. It counts in powers of 2.
  function ratioAxis(c, title, ratios, room) {
    const ends = [...RATIOS, ...PRECISE].sort((a, b) => a - b);
    const [least, most] = [Math.min(1, ...ratios), Math.max(1, ...ratios)];
    const [low, high] = [ends.findLast((end) => end < 0.97 * least) ?? least / 2, ends.find((end) => end > 1.03 * most) ?? 2 * most];
    const placeOf = (ratio) => (room * Math.log2(ratio / low)) / Math.log2(high / low);
    const textOf = (ratio) => `${number(ratio)}×`;
    const ticks = [];
    for (const ratio of RATIOS.filter((one) => one >= low && one <= high)) {
      const isFree = ticks.every((tick) => Math.abs(placeOf(tick) - placeOf(ratio)) > (textWidth(textOf(tick)) + textWidth(textOf(ratio))) / 2 + 14);
      if (isFree) ticks.push(ratio);
    }
    const customValues = ticks.sort((a, b) => a - b).map(Math.log2);
    return valueAxis(c, title, {
      min: Math.log2(low), max: Math.log2(high), axisTick: { show: false, customValues },
      axisLabel: { customValues, formatter: (power) => textOf(2 ** power) },
    });
  }

  // Ratios with their intervals: the whole large, its parts small, rough ones hollow.
  function ratios(chart, t, c, dark, width) {
    const names = unique(t.rows.map((row) => t.value(row, chart.label)));
    const parts = unique(t.rows.map((row) => t.value(row, chart.part)));
    const colorOf = (part) => (chart.looks[part] ? tinted(chart.looks[part].color, dark) : c.ink);
    const texts = names.map((name) => {
      const row = t.rows.find((one) => t.value(one, chart.label) === name && t.value(one, chart.part) === parts[0]);
      return row === undefined ? "" : t.value(row, chart.text);
    });
    const rows = rowsOf(c, names, texts, width, 38);
    const top = legendHeight(parts, width) + rows.above;
    const drawn = t.rows.flatMap((row) => [chart.value, chart.low, chart.high].map((key) => t.value(row, key))).filter((ratio) => ratio > 0);
    const series = parts.flatMap((part, i) => {
      const own = t.rows.filter((row) => t.value(row, chart.part) === part);
      const offset = i === 0 ? 0 : 9;
      const dots = {
        name: part, type: "scatter", symbol: shapeOf(chart.looks[part]?.pattern ?? 1), symbolSize: i === 0 ? 10 : 7, symbolOffset: [0, offset], itemStyle: { color: colorOf(part) }, z: i === 0 ? 6 : 4,
        data: own.map((row) => ({
          value: [Math.log2(t.value(row, chart.value)), names.indexOf(t.value(row, chart.label))], row,
          // A rough factor is hollow.
          itemStyle: t.value(row, chart.doubt) ? { color: c.ground, borderColor: colorOf(part), borderWidth: 1.5 } : undefined,
        })),
        tooltip: { formatter: ({ data }) => t.tip(data.row) },
      };
      if (i > 0) return [dots];
      const places = own.filter((row) => t.value(row, chart.low) !== null)
        .map((row) => [Math.log2(t.value(row, chart.low)), Math.log2(t.value(row, chart.high)), names.indexOf(t.value(row, chart.label))]);
      dots.markLine = { silent: true, symbol: "none", lineStyle: { color: c.muted, type: "dashed", width: 1 }, label: { show: false }, data: [{ xAxis: 0 }] };
      return [dots, whiskers(c, places)];
    });
    return {
      height: top + 16 + rows.height + 54,
      option: {
        ...base(c), legend: legendOf(c, parts), graphic: rows.stripes(top + 16),
        grid: { left: rows.left, right: rows.right, top: top + 16, bottom: 50 },
        xAxis: ratioAxis(c, chart.axis_title, drawn, width - rows.left - rows.right),
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
    // Of the bars of one point the first has the whole name.
    const firsts = names.map((name) => shared.find((row) => labelOf(row) === name));
    const groupOf = (row) => t.value(row, chart.labels[0]);
    const groups = unique(firsts.map(groupOf));
    const shown = names.map((name, i) => (i > 0 && groupOf(firsts[i]) === groupOf(firsts[i - 1]) ? t.value(firsts[i], chart.labels[1]) : name));
    const drawn = new Set(shared.map((row) => t.value(row, chart.part)));
    const parts = unique([...Object.keys(chart.looks).filter((part) => drawn.has(part)), ...drawn]);
    const rows = rowsOf(c, shown, chart.texts, width, undefined, firsts.map((row) => groups.indexOf(groupOf(row))));
    const room = width - rows.left - rows.right;
    const top = legendHeight(parts, width) + rows.above;
    return {
      height: top + rows.height + 54,
      option: {
        ...base(c), legend: legendOf(c, parts, "roundRect"), graphic: rows.stripes(top), grid: { left: rows.left, right: rows.right, top, bottom: 50 },
        xAxis: valueAxis(c, chart.axis_title, { max: 1, axisLabel: { formatter: (value) => number(100 * value) } }),
        yAxis: rows.yAxis,
        series: [...parts.map((part) => {
          const { color, pattern } = chart.looks[part] ?? chart.looks.other;
          // As much of the name and the share as has room.
          const shareText = (share) => {
            const percent = `${Math.round(100 * share)} %`;
            return [`${part} ${percent}`, percent, percent.slice(0, -2)].find((text) => textWidth(text, 11) + 6 < share * room) ?? "";
          };
          return {
            name: part, type: "bar", stack: "whole", barMaxWidth: rows.barWidth,
            itemStyle: { color: tinted(color, dark), decal: patternOf(pattern) },
            data: names.map((name) => {
              const row = shared.find((one) => labelOf(one) === name && t.value(one, chart.part) === part);
              const value = row === undefined ? 0 : t.value(row, chart.value);
              const text = value > 0 ? shareText(value) : "";
              return { value, row, label: text ? { show: true, formatter: text, ...onPattern(color, dark) } : undefined };
            }),
            tooltip: { formatter: ({ data }) => (data.row === undefined ? "" : t.tip(data.row)) },
          };
        }), ...rows.behind],
      },
    };
  }

  // Ticks from 0 to `end`, which has one itself; the last round one makes way where it would be close to it.
  function ticksTo(end, room) {
    const wide = textWidth(end.toLocaleString("en")) + 24;
    const step = Math.ceil(roundAbove((end * wide) / room));
    const ticks = [];
    for (let tick = 0; ((end - tick) * room) / end > wide; tick += step) ticks.push(tick);
    return [...ticks, end];
  }

  // Bytes stacked by category over the launches of a step, with its phases.
  function areas(chart, t, c, dark, width) {
    const unit = counted(chart.axis);
    const names = chart.parts.map((part) => part.name);
    const xs = t.rows.map((row) => t.value(row, chart.x));
    const end = Math.max(...chart.phases.map((phase) => phase.last)) + 1;
    const [left, right] = [64, 16];
    const placeOf = (x) => left + ((width - left - right) * x) / end;
    // The title of a phase stands right of its line, left of it at the end of the frame, and above another where it would cover it.
    const ends = []; // of the titles in each line
    // A launch is drawn some pixels wide, so that a short peak is seen: where there are more launches, of each stretch of that
    // width the one that holds most, and the launch of the peak.
    const stretch = Math.max(1, (3 * end) / (width - left - right));
    const heldBy = (row) => chart.parts.reduce((sum, { key }) => sum + (t.value(row, key) ?? 0), 0);
    const kept = new Map();
    for (const row of t.rows) {
      const begin = stretch * Math.floor(xs[row] / stretch);
      const best = kept.get(begin);
      if (best === undefined || xs[row] === chart.peak.x || (xs[best] !== chart.peak.x && heldBy(row) > heldBy(best))) kept.set(begin, row);
    }
    const [begins, drawn] = [[...kept.keys()], [...kept.values()]];
    const titles = chart.phases.map((phase) => {
      const [at, long] = [placeOf(phase.first), textWidth(phase.title) + 6];
      const isLeft = at + long > width;
      const begin = isLeft ? at - long : at;
      let line = ends.findIndex((used) => used <= begin);
      if (line < 0) line = ends.length;
      ends[line] = begin + long;
      return { name: phase.title, xAxis: phase.first, label: { align: isLeft ? "right" : "left", offset: [isLeft ? -4 : 4, -16 * line] } };
    });
    const top = legendHeight(names, width) + 6 + 16 * ends.length;
    const series = chart.parts.map(({ key, name, color, pattern }) => ({
      name, type: "line", stack: "held", step: "end", symbol: "none", lineStyle: { width: 0 },
      itemStyle: { color: tinted(color, dark), decal: patternOf(pattern) }, areaStyle: { color: tinted(color, dark), opacity: 1 },
      data: [...drawn.map((row, i) => [begins[i], unit(t.value(row, key) ?? 0)]), [end, unit(t.value(drawn.at(-1), key) ?? 0)]],
    }));
    // The text of the peak stands beside or above its dot, in one line or two, where it crosses the fewest lines of phases.
    const at = placeOf(chart.peak.x);
    const places = ["peak ", "peak\n"].flatMap((word) => {
      const text = word + chart.peak.text;
      const long = widest(text.split("\n")) - 14;
      const up = word.endsWith("\n") ? -16 : -9;
      return [["right", at + 8, up], ["left", at - 8 - long, up], ["top", at - long / 2, 0]]
        .map(([position, begin, y]) => ({ text, position, begin, end: begin + long, offset: [0, y] }));
    });
    const fitting = places.filter(({ begin, end: last }) => begin > left && last < width - right);
    const crossed = ({ begin, end: last }) => chart.phases.filter(({ first }) => placeOf(first) > begin && placeOf(first) < last).length;
    const place = (fitting.length > 0 ? fitting : places).reduce((best, one) => (crossed(one) < crossed(best) ? one : best));
    series.push({
      type: "scatter", silent: true, symbolSize: 7, itemStyle: { color: c.ink, borderColor: c.ground, borderWidth: 1 }, z: 9, data: [[chart.peak.x, unit(chart.peak.bytes)]],
      label: { show: true, formatter: place.text, position: place.position, offset: place.offset, align: { right: "left", left: "right", top: "center" }[place.position], color: c.ink, fontWeight: 600, lineHeight: 15, backgroundColor: c.ground, padding: [1, 3] },
      markLine: {
        silent: true, symbol: "none", lineStyle: { color: c.muted, type: "dashed", width: 1 },
        label: { color: c.ink, position: "end", formatter: ({ name }) => name },
        data: titles,
      },
    });
    return {
      height: top + 230,
      option: {
        ...base(c), legend: legendOf(c, names, "roundRect"), grid: { left, right, top, bottom: 48 },
        tooltip: { ...base(c).tooltip, trigger: "axis", axisPointer: { lineStyle: { color: c.muted } },
          formatter: (all) => t.tip(drawn[Math.min(all[0].dataIndex, drawn.length - 1)]) },
        xAxis: valueAxis(c, chart.x_title, { min: 0, max: end, splitLine: { show: false }, axisLine: { show: true, lineStyle: { color: c.line } }, axisLabel: { customValues: ticksTo(end, width - left - right) } }),
        yAxis: valueAxis(c, named(chart.axis_title, chart.axis), { max: unit(chart.most) * 1.2, nameGap: 44, axisLabel: { showMaxLabel: false } }),
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
      height: 26 + rows.above + rows.height + 54,
      option: {
        ...base(c), legend: legendOf(c, chart.names, "circle"), graphic: rows.stripes(26 + rows.above),
        grid: { left: rows.left, right: rows.right, top: 26 + rows.above, bottom: 50 },
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

  // Times of one work in order, with a line at the fastest of this page.
  function ranked(chart, t, c, dark, width) {
    const unit = counted(chart.axis);
    const valueOf = (row) => unit(t.value(row, chart.value));
    const kindOf = (row) => t.value(row, chart.where);
    const names = chart.rows.map((row) => t.value(row, chart.label));
    const rows = rowsOf(c, names, chart.rows.map((row) => t.shown(row, chart.text)), width);
    const kinds = chart.kinds.filter(({ name }) => chart.rows.some((row) => kindOf(row) === name));
    const top = legendHeight(kinds.map(({ name }) => name), width) + rows.above;
    const places = chart.rows.map((row, i) => ({ row, i }));
    const lookOf = (kind) => {
      const look = kind.full ? { color: kind.own ? c.accent : c.ink } : { color: c.ground, borderColor: kind.own ? c.accent : c.muted, borderWidth: 2 };
      return { symbol: kind.own ? "diamond" : "circle", symbolSize: kind.own ? 15 : kind.full ? 9 : 8, itemStyle: look };
    };
    return {
      height: top + rows.height + 54,
      option: {
        ...base(c), legend: legendOf(c, kinds.map(({ name }) => name)), graphic: rows.separators(top), grid: { left: rows.left, right: rows.right, top, bottom: 50 },
        xAxis: logAxis(c, named(chart.axis_title, chart.axis), true, { min: below(0.95 * unit(chart.least), 10), max: above(1.05 * unit(chart.most), 10), axisLabel: { formatter: number } }),
        yAxis: rows.yAxis,
        series: [
          // The line of the fastest leaves out texts above bars.
          {
            type: "custom", silent: true, z: 2, data: chart.own === null ? [] : places.map(({ i }) => [unit(chart.own), i]),
            renderItem: ({ dataIndex, coordSys }, api) => {
              const [x, y] = api.coord([api.value(0), api.value(1)]);
              const [up, down] = rows.free(dataIndex, x);
              return { type: "line", shape: { x1: x, y1: Math.max(coordSys.y, y - up), x2: x, y2: y + down }, style: { stroke: c.accent, lineDash: [4, 3], lineWidth: 1 } };
            },
          },
          ...kinds.map((kind) => ({
            name: kind.name, type: "scatter", z: 6, ...lookOf(kind),
            data: places.filter(({ row }) => kindOf(row) === kind.name).map(({ row, i }) => ({ value: [valueOf(row), i], row })),
            tooltip: { formatter: ({ data }) => t.tip(data.row) },
          })),
          ...rows.behind,
        ],
      },
    };
  }

  const KINDS = { bars, lines, strip, ratios, shares, roofline: rooflineChart, areas, contexts: contextsChart, pairs, ranked };
  return ({ chart, table }, { dark, width }) => {
    const drawn = KINDS[chart.kind](chart, reader(table), colorsOf(dark), dark, width);
    if (drawn.option.legend) drawn.option.legend.formatter = (name) => shortened(name, width - 40);
    return drawn;
  };
})();
