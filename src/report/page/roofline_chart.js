// The chart of ops under the roofline: marks with numbers, and the list that the numbers lead to.
"use strict";
const rooflineChart = (() => {
  const {
    FONT, shapeOf, tinted, textWidth, shortened, widest, base, number, counted, named, logAxis, below, above, legendOf, legendHeight,
    unique,
  } = chartParts;

  const overlap = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

  // Places for short texts beside their dots, the first dots first. `dots`: {x, y, radius, text} in pixels; `taken`: boxes that
  // no text may cover. A text without room beside its dot moves away from it.
  function placesBeside(dots, taken, frame) {
    const boxes = [...taken];
    return dots.map((dot) => {
      const [w, h] = [textWidth(dot.text, 11) + 5, 13];
      for (let away = 1; away < 200; away += 6) {
        for (let turn = 0; turn < 16; ++turn) {
          const angle = (turn * Math.PI) / 8;
          const [x, y] = [dot.x + Math.cos(angle) * (dot.radius + away + w / 2), dot.y - Math.sin(angle) * (dot.radius + away + h / 2)];
          const box = { x: x - w / 2, y: y - h / 2, width: w, height: h };
          if (box.x < frame.x || box.x + w > frame.x + frame.width || box.y < frame.y || box.y + h > frame.y + frame.height) continue;
          if (boxes.some((other) => overlap(box, other))) continue;
          boxes.push(box);
          // A leader where the text stands away, or where several dots are so close that it could be of another.
          const near = dots.some((other) => other !== dot && Math.hypot(other.x - x, other.y - y) < other.radius + away + 14);
          return { dot, x, y, isAway: away > 8 || near };
        }
      }
      return { dot, x: dot.x, y: dot.y, isAway: false };
    });
  }

  // Rates over intensity, both logarithmic, below what memory and arithmetic allow.
  return function roofline(chart, t, c, dark, width) {
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
    const textOf = (row) => chart.label.map((key) => t.value(row, key)).join(" ");
    // The list of ops, of which the first have numbers in the plot: right of the plot, or below it where there is no room.
    const numbered = t.rows.slice(0, chart.numbered);
    const marked = Math.min(chart.numbered, chart.marked);
    const values = numbered.map((row) => t.value(row, chart.text));
    const besides = width >= 760;
    const listWidth = besides ? Math.min(0.42 * width, widest(numbered.map(textOf)) + widest([...values, chart.text_title])) : width - 20;
    const right = besides ? listWidth + 34 : 24;
    const plotHeight = Math.max(378, besides ? 18 * (numbered.length + 1) : 0);
    const frame = { x: 74, y: top + 12, width: width - 74 - right, height: plotHeight };
    const list = { x: besides ? width - listWidth : 10, y: besides ? top + 12 : top + plotHeight + 70, line: 18 };
    const listed = (number, name, text, line, color) => {
      const y = list.y + list.line * line;
      const room = listWidth - 26 - textWidth(text, 11) - 12;
      const style = { fill: color, font: `11px ${FONT}` };
      return [
        ...(number ? [{ type: "text", silent: true, x: list.x + 18, y, style: { ...style, text: number, textAlign: "right" } }] : []),
        { type: "text", silent: true, x: list.x + 26, y, style: { ...style, text: shortened(name, (room * 12) / 11) } },
        { type: "text", silent: true, x: list.x + listWidth, y, style: { ...style, text, textAlign: "right" } },
      ];
    };
    const graphic = [...listed("", "op", chart.text_title, 0, c.muted),
      ...numbered.flatMap((row, i) => listed(i < marked ? String(i + 1) : "\u2013", textOf(row), values[i], i + 1, c.ink))];
    const at = (x, y) => [frame.x + (frame.width * Math.log(x / x1)) / Math.log(x2 / x1), frame.y + (frame.height * Math.log(y2 / y)) / Math.log(y2 / y1)];
    const sizeOf = (row) => 7 + 17 * Math.sqrt(t.value(row, chart.size) / longest);
    const dots = t.rows.map((row) => {
      const [x, y] = at(t.value(row, chart.x), unit(t.value(row, chart.y)));
      return { x, y, radius: sizeOf(row) / 2, text: String(row + 1), row };
    });
    const boxOf = ({ x, y, radius }) => ({ x: x - radius, y: y - radius, width: 2 * radius, height: 2 * radius });
    const bubbles = dots.map(boxOf);
    // The texts of the roof stand where no mark covers them, long or short: that of the peak above the flat line, if possible
    // right of the ridge; that of the bandwidth above the slope, below it where there is no room.
    const [ridgeX, peakY] = at(ridge, peak);
    const edge = frame.x + frame.width;
    const isFree = (box) => box.x >= frame.x + 4 && box.x + box.width <= edge && box.y + box.height <= frame.y + frame.height && !bubbles.some((other) => overlap(box, other));
    const boxAt = (text, x, y) => ({ text, x, y, width: textWidth(text) + 4, height: 16 });
    const peakTexts = [chart.peak_text, chart.peak_short];
    const firstBubble = Math.min(edge, ...bubbles.filter((box) => box.y < peakY).map((box) => box.x));
    const peakBoxes = [() => ridgeX + 6, (wide) => edge - wide, (wide) => firstBubble - wide - 6]
      .flatMap((begin) => peakTexts.map((text) => boxAt(text, begin(textWidth(text) + 4), peakY - 20)));
    const peakBox = peakBoxes.find(isFree) ?? boxAt(chart.peak_short, edge - textWidth(chart.peak_short) - 4, peakY - 20);
    const { bandwidth_text: long, bandwidth_short: short } = chart;
    const slopeBox = [[long, true], [short, true], [short, false]].flatMap(([text, isAbove]) => [2, 3, 5, 9, 17, 33].map((times) => {
      const [x, y] = at(ridge / times, peak / times);
      return isAbove ? boxAt(text, x - textWidth(text) - 14, y - 16) : boxAt(text, x + 12, y + 2);
    })).find(isFree);
    const roofBoxes = [peakBox, slopeBox].filter(Boolean);
    // The slope is covered by small boxes, so that no name lies across it.
    const [startX, startY] = at(start, start * bandwidth);
    const pieces = Math.max(1, Math.ceil((ridgeX - startX) / 6));
    const [wide, high] = [(ridgeX - startX) / pieces, (startY - peakY) / pieces];
    const slopeBoxes = Array.from({ length: pieces }, (_, i) => ({ x: startX + i * wide, y: startY - (i + 1) * high - 2, width: wide, height: high + 4 }));
    const taken = [...roofBoxes, ...bubbles, ...slopeBoxes, { x: ridgeX, y: peakY - 2, width, height: 4 }];
    const places = placesBeside(dots.slice(0, marked), taken, frame);
    const numbers = {
      type: "custom", silent: true, z: 7, data: places.map(({ dot }) => [t.value(dot.row, chart.x), unit(t.value(dot.row, chart.y))]),
      renderItem: ({ dataIndex }) => {
        const { dot, x, y, isAway } = places[dataIndex];
        const text = { type: "text", style: { text: dot.text, x, y, fill: c.ink, font: `11px ${FONT}`, textAlign: "center", textVerticalAlign: "middle" } };
        // From the middle of the dot to the edge of the text that is nearest to it.
        const [dx, dy] = [dot.x - x, dot.y - y];
        const half = textWidth(dot.text, 11) / 2 + 1;
        const share = Math.min(1, Math.min(half / Math.max(1e-6, Math.abs(dx)), 6 / Math.max(1e-6, Math.abs(dy))));
        const line = { type: "line", shape: { x1: dot.x, y1: dot.y, x2: x + dx * share, y2: y + dy * share }, style: { stroke: c.ink, lineWidth: 0.8, opacity: 0.7 } };
        return { type: "group", children: isAway ? [line, text] : [text] };
      },
    };
    const roof = {
      type: "line", silent: true, symbol: "none", lineStyle: { color: c.ink, width: 1.5 }, z: 1,
      data: [[start, start * bandwidth], [ridge, peak], [x2, peak]],
    };
    const roofTexts = {
      type: "custom", silent: true, z: 6, data: roofBoxes.map(() => [ridge, peak]),
      renderItem: ({ dataIndex }) => {
        const { text, x, y } = roofBoxes[dataIndex];
        return { type: "text", style: { text, x: x + 2, y: y + 2, fill: c.muted, font: `12px ${FONT}`, textAlign: "left", textVerticalAlign: "top" } };
      },
    };
    return {
      height: top + plotHeight + 62 + (besides ? 0 : list.line * (numbered.length + 1) + 14),
      option: {
        ...base(c), legend: legendOf(c, parts), graphic, grid: { left: frame.x, right, top: frame.y, height: plotHeight },
        xAxis: logAxis(c, "FLOPs for each byte that must move", true, { min: x1, max: x2, axisLabel: { formatter: number } }),
        yAxis: logAxis(c, named("rate", chart.axis), true, { min: y1, max: y2, nameGap: 48, axisLabel: { formatter: number } }),
        series: [roof, ...parts.map((part) => ({
          name: part, type: "scatter", symbol: shapeOf((chart.looks[part] ?? chart.looks.other).pattern),
          itemStyle: { color: tinted((chart.looks[part] ?? chart.looks.other).color, dark), opacity: 0.9, borderColor: c.ground, borderWidth: 1 },
          data: t.rows.filter((row) => t.value(row, chart.part) === part)
            .map((row) => ({ value: [t.value(row, chart.x), unit(t.value(row, chart.y))], row, symbolSize: sizeOf(row) })),
          tooltip: { formatter: ({ data }) => t.tip(data.row) },
        })), roofTexts, numbers],
      },
    };
  };
})();
