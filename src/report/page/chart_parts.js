// What charts are made of: colours and patterns, axes, legends, and rows of names and texts beside their bars.
"use strict";
const chartParts = (() => {
  const ROW = 30; // pixels of a bar and the space around it
  const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
  const BEHIND = { type: "bar", yAxisIndex: 1, data: [], silent: true }; // what the axis of texts behind bars belongs to
  const CROSS = "path://M0,0L10,10M10,0L0,10";

  // In black and white an area is known by its pattern, a dot by its shape, a line by its dashes.
  const PATTERNS = [
    { dashArrayX: [1, 0], dashArrayY: [2, 5], rotation: Math.PI / 4 },
    undefined,
    { symbol: "circle", dashArrayX: [[8, 8], [0, 8, 8, 0]], dashArrayY: [6, 0], symbolSize: 0.6 },
    { dashArrayX: [1, 0], dashArrayY: [2, 5], rotation: -Math.PI / 4 },
    { dashArrayX: [1, 0], dashArrayY: [2, 4], rotation: Math.PI / 2 },
    { dashArrayX: [[1, 0], [1, 6]], dashArrayY: [1, 0, 6, 0], rotation: Math.PI / 4 },
    { dashArrayX: [1, 0], dashArrayY: [1, 4] },
    { symbol: "rect", dashArrayX: [[5, 5], [0, 5, 5, 0]], dashArrayY: [5, 0] },
    { symbol: "triangle", dashArrayX: [[9, 9], [0, 9, 9, 0]], dashArrayY: [7, 2], symbolSize: 0.75 },
    { dashArrayX: [[1, 0], [1, 4]], dashArrayY: [1, 0, 4, 0] },
  ];
  const patternOf = (index) => {
    const pattern = PATTERNS[index % PATTERNS.length];
    return pattern && { symbol: "rect", symbolSize: 1, ...pattern, color: "rgba(0, 0, 0, 0.3)" };
  };
  // Each fills a square, so that a legend and a plot draw it alike.
  const SHAPES = ["circle", "rect", "triangle", "path://M0,0L10,0L5,10Z", "path://M3.5,0h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z",
    "path://M5,0L10,4L8,10H2L0,4Z", "path://M5,0L6.5,3.5L10,3.8L7.4,6.2L8.2,10L5,8L1.8,10L2.6,6.2L0,3.8L3.5,3.5Z",
    "path://M2.5,0H7.5L10,5L7.5,10H2.5L0,5Z", "path://M5,0L10,5L5,10L0,5Z", "path://M0,2L2,0L5,3L8,0L10,2L7,5L10,8L8,10L5,7L2,10L0,8L3,5Z"];
  const shapeOf = (index) => SHAPES[index % SHAPES.length];
  const DASHES = ["solid", [8, 4], [2, 3], [10, 3, 2, 3]];
  const dashesOf = (index) => DASHES[index % DASHES.length];

  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  // Dark grounds take the same hues lighter.
  const tinted = (hex, dark) =>
    dark ? `rgb(${rgb(hex).map((part) => Math.round(part + (255 - part) * 0.28)).join(",")})` : hex;
  const inkOn = (hex) => {
    const [r, g, b] = rgb(hex);
    return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#111111" : "#ffffff";
  };

  const luminance = (parts) => {
    const [r, g, b] = parts.map((part) => (part <= 10 ? part / 3295 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((one, other) => one - other);
    return (high + 0.05) / (low + 0.05);
  };
  // The colour of a line for its name: as near to the ink as it takes to read it, 4.5 to 1 after WCAG.
  const legible = (hex, c, dark) => {
    const [from, to] = [rgb(hex).map((part) => (dark ? part + (255 - part) * 0.28 : part)), rgb(c.ink)];
    for (let share = 0; share < 1; share += 0.1) {
      const mixed = from.map((part, i) => Math.round(part + (to[i] - part) * share));
      if (contrast(mixed, rgb(c.ground)) >= 4.5) return `rgb(${mixed.join(",")})`;
    }
    return c.ink;
  };

  // A text on a patterned area: dark or light ink on a plate of the area's plain colour.
  const onPattern = (hex, dark) => ({
    color: dark ? "#111111" : inkOn(hex), fontSize: 11, fontWeight: 600, backgroundColor: tinted(hex, dark), padding: [1, 2], borderRadius: 2,
  });

  const canvas = document.createElement("canvas").getContext("2d");
  const textWidth = (text, size = 12) => {
    canvas.font = `${size}px ${FONT}`;
    return canvas.measureText(text).width;
  };
  // As much of a text as has room.
  const shortened = (text, room) => {
    if (textWidth(text) <= room) return text;
    let kept = text.length;
    while (kept > 1 && textWidth(`${text.slice(0, kept)}…`) > room) --kept;
    return `${text.slice(0, kept)}…`;
  };
  // A text in lines that have room, broken at spaces; a word that is longer than a line is shortened.
  const wrapped = (text, room) => {
    const lines = [];
    for (const word of text.split(" ")) {
      const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
      if (lines.length && textWidth(longer) <= room) lines[lines.length - 1] = longer;
      else lines.push(shortened(word, room));
    }
    return lines;
  };
  // Places in one direction that are `gap` apart, from `low` to `high`, and move as little as that takes: the sum of the
  // squares is the least. `places` in order. Neighbours that would come too near move together, around their middle.
  function spread(places, gap, low, high) {
    const groups = [];
    places.forEach((place, i) => {
      let group = { sum: place - i * gap, count: 1 };
      while (groups.length && groups.at(-1).sum / groups.at(-1).count > group.sum / group.count) {
        const { sum, count } = groups.pop();
        group = { sum: group.sum + sum, count: group.count + count };
      }
      groups.push(group);
    });
    const most = high - (places.length - 1) * gap;
    return groups.flatMap(({ sum, count }) => Array(count).fill(sum / count))
      .map((place, i) => Math.max(low, Math.min(most, place)) + i * gap);
  }
  const widest = (texts) => Math.max(0, ...texts.map((text) => textWidth(text))) + 24;

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
      ? { ink: "#e4e8ec", muted: "#9aa5b1", line: "#343c45", ground: "#14181c", raised: "#262c33", stripe: "#1b2025", accent: "#8ab6e6", band: "rgba(230, 170, 60, 0.45)", frame: "#e6aa3c", shade: "rgba(138, 182, 230, 0.2)" }
      : { ink: "#1c2127", muted: "#59636e", line: "#dfe3e7", ground: "#ffffff", raised: "#ffffff", stripe: "#f5f6f8", accent: "#2f5f92", band: "rgba(230, 159, 0, 0.4)", frame: "#b37700", shade: "rgba(47, 95, 146, 0.13)" };
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
  function valueAxis(c, name, { axisLabel, ...more } = {}) {
    return {
      type: "value", name, nameLocation: "middle", nameGap: 28,
      nameTextStyle: { color: c.muted, fontSize: 12 },
      axisLabel: { color: c.muted, hideOverlap: true, ...axisLabel }, axisLine: { show: false }, axisTick: { show: false },
      splitLine: { lineStyle: { color: c.line } }, ...more,
    };
  }
  const logAxis = (c, name, base10, more = {}) => valueAxis(c, name, { type: "log", logBase: base10 ? 10 : 2, ...more });
  const below = (value, base) => base ** Math.floor(Math.log(value) / Math.log(base) + 1e-9);
  const above = (value, base) => base ** Math.ceil(Math.log(value) / Math.log(base) - 1e-9);

  // The next number of one digit and zeros, or of 15 or 25 and zeros: a round end of an axis.
  const roundAbove = (value) => {
    const unit = 10 ** Math.floor(Math.log10(value));
    return unit * [1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 10].find((factor) => factor * unit >= value);
  };

  // One text for each place of an axis of rows, of which several may be the same.
  const rowAxis = (texts, axisLabel, more) => ({
    type: "category", inverse: true, data: texts.map((text, i) => ({ value: `${i}\u0000${text}` })), axisTick: { show: false },
    axisLabel: { interval: 0, formatter: (value) => value.slice(value.indexOf("\u0000") + 1), ...axisLabel }, ...more,
  });

  // Every second row, or group of rows, on a ground of its own, so that a text is seen to belong to its bar. `top`: of the
  // rows; `up`: how much higher than its row a ground begins; `groups`: the number of the group of each row.
  const stripesOf = (c, width, row, up, groups) => (top) => groups.flatMap((group, i) => (group % 2 === 0 ? [] : [{
    type: "rect", silent: true, z: -10, shape: { x: 0, y: top + i * row - up, width, height: row }, style: { fill: c.stripe },
  }]));

  // A thin line between two rows.
  const separatorsOf = (c, width, row, up, count) => (top) => Array.from({ length: count - 1 }, (_, i) => ({
    type: "line", silent: true, z: -10, shape: { x1: 0, y1: top + (i + 1) * row - up, x2: width, y2: top + (i + 1) * row - up }, style: { stroke: c.line, lineWidth: 1 },
  }));

  // Rows with a name to the left of each bar and a text behind it. Where a chart is too narrow for its texts, they stand
  // above the bars: the text flush right, or below the name if both do not fit. `above`: room that the first row needs
  // above the rows. `free`: pixels above and below the middle of a bar that an upright line at `x` may
  // take in row `i` without a text of that row or of the next in its way. `groups`: numbers of rows that belong together, each row alone without them.
  function rowsOf(c, names, texts, width, least = ROW, groups = names.map((_, i) => i)) {
    const axisLine = { lineStyle: { color: c.line } };
    const [forNames, forTexts] = [widest(names), texts.length ? widest(texts) : 24];
    if (forNames + forTexts <= 0.6 * width) {
      return {
        left: forNames, right: forTexts, above: 0, height: names.length * least, barWidth: 18,
        free: () => [least / 2, least / 2], stripes: stripesOf(c, width, least, 0, groups), separators: separatorsOf(c, width, least, 0, names.length),
        yAxis: [rowAxis(names, { color: c.ink }, { axisLine }),
          ...(texts.length ? [rowAxis(texts, { color: c.muted }, { position: "right", axisLine: { show: false } })] : [])],
        behind: texts.length ? [BEHIND] : [],
      };
    }
    const [left, right] = [12, 24];
    const room = width - left - right;
    const both = texts.length > 0 && names.every((name, i) => textWidth(name) + textWidth(texts[i]) + 20 < room);
    const blocks = names.map((name, i) => [...wrapped(name, room), ...(texts.length && !both ? wrapped(texts[i], room) : [])]);
    const high = 15 * Math.max(...blocks.map((block) => block.length)) + 10; // of the texts above a bar
    const row = Math.max(least, high + 17);
    const covers = (i, x) => x < left + Math.max(...blocks[i].map((text) => textWidth(text))) + 6 || (both && x > left + room - textWidth(texts[i]) - 6);
    const inside = { inside: true, margin: 0, verticalAlign: "bottom", padding: [0, 0, 10, 0], lineHeight: 15, textBorderColor: c.ground, textBorderWidth: 3 };
    return {
      left, right, above: Math.max(0, Math.ceil(high - row / 2)), height: names.length * row, barWidth: 14,
      free: (i, x) => [covers(i, x) ? 9 : row - 12, 12], stripes: stripesOf(c, width, row, row / 2 - 12, groups), separators: separatorsOf(c, width, row, row / 2 - 12, names.length),
      yAxis: [rowAxis(blocks.map((block) => block.join("\n")), { ...inside, color: c.ink, align: "left" }, { axisLine, z: 4 }),
        ...(both ? [rowAxis(texts, { ...inside, color: c.muted, align: "right" }, { position: "right", axisLine: { show: false }, z: 4 })] : [])],
      behind: both ? [BEHIND] : [],
    };
  }
  const legendOf = (c, names, icon) => ({
    data: names, top: 0, left: 0, padding: [5, 5, 5, 0], itemWidth: 14, itemHeight: 12, itemGap: 16, icon, textStyle: { color: c.ink }, selectedMode: false, width: "96%",
  });
  // Lines of a legend that breaks at `width`.
  const legendHeight = (names, width) => {
    let [lines, used] = [1, 0];
    for (const name of names) {
      const need = textWidth(name) + 20;
      if (used + need > width * 0.95 && used > 0) [lines, used] = [lines + 1, 0];
      used += need + 16;
    }
    return 28 * lines - 2;
  };
  // A line with small ends from `low` to `high` at each place.
  const whiskers = (c, places, color) => ({
    type: "custom", silent: true, z: 5, data: places, encode: { x: [0, 1], y: 2 },
    renderItem: (params, api) => {
      const [left, y] = api.coord([api.value(0), api.value(2)]);
      const [right] = api.coord([api.value(1), api.value(2)]);
      const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: color ?? c.ink, lineWidth: 1.5 } });
      return { type: "group", children: [line(left, y, right, y), line(left, y - 4, left, y + 4), line(right, y - 4, right, y + 4)] };
    },
  });
  const unique = (values) => [...new Set(values)];

  return {
    FONT, CROSS, patternOf, shapeOf, dashesOf, tinted, legible, onPattern, textWidth, shortened, spread, widest, reader, colorsOf, base,
    number, counted, named, valueAxis, logAxis, below, above, roundAbove, rowsOf, legendOf, legendHeight, whiskers, unique,
  };
})();
