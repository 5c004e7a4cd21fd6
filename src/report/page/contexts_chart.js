// The chart of lines over context lengths, with names at the ends of the lines.
"use strict";
const contextsChart = (() => {
  const {
    FONT, CROSS, shapeOf, dashesOf, tinted, legible, spread, textWidth, widest, base, number, counted, named, valueAxis, logAxis, below,
    above, roundAbove, legendOf, legendHeight, unique,
  } = chartParts;
  const PLOT = 336; // pixels from the upper end of the plot to the lower
  const LINE = 15; // pixels of a name

  // The names at the ends of lines. A name that stands beside the end of another line has a leader to its own.
  function namesOf(ends, leader, font) {
    return {
      type: "custom", silent: true, z: 7, data: ends.map(({ x, y }) => [x, y]),
      renderItem: ({ dataIndex, coordSys }, api) => {
        const { x, y, text, color, stroke, at } = ends[dataIndex];
        const [x1, y1] = api.coord([x, y]);
        const [x2, y2] = [coordSys.x + coordSys.width + leader, coordSys.y + at];
        const name = { type: "text", style: { text, x: x2, y: y2, fill: color, font, textAlign: "left", textVerticalAlign: "middle" } };
        const line = { type: "line", shape: { x1: x1 + 6, y1, x2: x2 - 4, y2 }, style: { stroke, lineWidth: 1 } };
        return { type: "group", children: leader > 10 ? [line, name] : [name] };
      },
    };
  }

  // The name of a line that ends before the others stands above its end, on the side that has room.
  const nameAtEnd = (end, font) => ({
    type: "custom", silent: true, z: 7, data: [[end.x, end.y]],
    renderItem: ({ coordSys }, api) => {
      const [x] = api.coord([end.x, end.y]);
      const isRight = x + textWidth(end.text) + 20 < coordSys.x + coordSys.width;
      return { type: "text", style: { text: end.text, x: isRight ? x + 4 : x - 4, y: coordSys.y + end.at - 12, fill: end.color, font, textAlign: isRight ? "left" : "right", textVerticalAlign: "middle" } };
    },
  });

  // In a legend the lines have their names; the limit has its own below its right end.
  const nameOfLimit = (end, font) => ({
    type: "custom", silent: true, z: 7, data: [[end.x, end.y]],
    renderItem: (_, api) => {
      const [x, y] = api.coord([end.x, end.y]);
      return { type: "text", style: { text: end.text, x: x - 4, y: y + 3, fill: end.color, font, textAlign: "right", textVerticalAlign: "top" } };
    },
  });

  // Both axes are logarithmic or begin at 0.
  return function contexts(chart, t, c, dark, width) {
    const unit = counted(chart.axis);
    const names = unique(t.rows.map((row) => t.value(row, chart.series)));
    const xs = t.rows.map((row) => t.value(row, chart.x));
    const ys = t.rows.map((row) => unit(t.value(row, chart.y)));
    const limit = unit(chart.limit?.bytes);
    const [x1, x2] = [Math.min(...xs), Math.max(...xs)];
    const ends = names.map((name) => {
      const row = t.rows.filter((one) => t.value(one, chart.series) === name).at(-1);
      const { color } = chart.looks[name];
      return { text: name, x: t.value(row, chart.x), y: unit(t.value(row, chart.y)), color: legible(color, c, dark), stroke: tinted(color, dark) };
    });
    const series = names.map((name) => {
      const look = chart.looks[name];
      const color = tinted(look.color, dark);
      return {
        name, type: "line", symbol: shapeOf(look.pattern), symbolSize: 8, lineStyle: { width: 2, color, type: dashesOf(look.dashes) }, itemStyle: { color },
        data: t.rows.filter((row) => t.value(row, chart.series) === name).map((row) => {
          const state = t.value(row, chart.state);
          const mark = state === "out of memory" ? { symbol: CROSS, symbolSize: 11, itemStyle: { color: "transparent", borderColor: color, borderWidth: 2.5 } }
            : state === "predicted" ? { itemStyle: { color: c.ground, borderColor: color, borderWidth: 2 } } : {};
          return { value: [t.value(row, chart.x), unit(t.value(row, chart.y))], row, ...mark };
        }),
        tooltip: { formatter: ({ data }) => t.tip(data.row) },
      };
    });
    if (limit && limit < 64 * Math.max(...ys)) {
      series.push({ type: "line", silent: true, symbol: "none", data: [[x1, limit], [x2, limit]], lineStyle: { color: c.muted, type: "dashed", width: 1 } });
      ys.push(limit);
      ends.push({ text: chart.limit.text, x: x2, y: limit, color: c.muted, stroke: c.muted, isLimit: true });
    }
    const [y1, y2] = chart.logarithmic ? [below(Math.min(...ys), 2), above(Math.max(...ys), 2)] : [0, roundAbove(1.05 * Math.max(...ys))];
    const heightOf = chart.logarithmic ? Math.log2 : (y) => y;
    const placeOf = ({ y }) => (PLOT * (heightOf(y2) - heightOf(y))) / (heightOf(y2) - heightOf(y1));
    ends.sort((a, b) => b.y - a.y);
    for (const x of unique(ends.map((end) => end.x))) {
      const beside = ends.filter((end) => end.x === x);
      spread(beside.map(placeOf), LINE, 0, PLOT).forEach((at, i) => { beside[i].at = at; });
    }
    const last = ends.filter((end) => end.x === x2);
    const leader = last.some((end) => Math.abs(end.at - placeOf(end)) > 2) ? 34 : 10;
    // Names stand in a legend where there is no room for them at the ends of lines.
    const wide = widest(last.map(({ text }) => text)) + leader;
    const isLegend = wide > 0.36 * width;
    const right = isLegend ? 24 : wide;
    const top = isLegend ? legendHeight(names, width) + 8 : 14;
    const font = `12px ${FONT}`;
    series.push(...(isLegend ? ends.filter(({ isLimit }) => isLimit).map((end) => nameOfLimit(end, font))
      : [namesOf(last, leader, font), ...ends.filter((end) => end.x < x2).map((end) => nameAtEnd(end, font))]));
    return {
      height: PLOT + 50 + top,
      option: {
        ...base(c), legend: isLegend ? legendOf(c, names) : undefined, grid: { left: 70, right, top, bottom: 50 },
        xAxis: chart.logarithmic ? logAxis(c, chart.x_title, false, { min: below(x1, 2), max: above(x2, 2), axisLabel: { formatter: number } })
          : valueAxis(c, chart.x_title, { min: 0, max: x2, axisLabel: { formatter: number, customValues: [0, ...unique(xs)] }, axisLine: { show: true, lineStyle: { color: c.line } }, splitLine: { show: false } }),
        yAxis: (chart.logarithmic ? logAxis : (a, b, _, more) => valueAxis(a, b, more))(
          c, named(chart.y_title, chart.axis), false, { min: y1, max: y2, nameGap: 48, axisLabel: { formatter: number } }),
        series,
      },
    };
  };
})();
