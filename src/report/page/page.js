// Builds the page from its block of JSON. Texts become text nodes, so that none of them is read as markup.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const charts = [];
  let printing = false;

  function make(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  // Tables ---------------------------------------------------------------------------------------------------------

  // A spreadsheet would run a text that begins with one of these as a formula.
  const harmless = (text) => (/^[=+\-@|%]/.test(text) ? "'" + text : text);
  const plain = (value) => (value === null ? "" : typeof value === "string" ? harmless(value) : String(value));
  const quoted = (text) => (/[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);

  const csvOf = (table) =>
    [table.columns.map((column) => column.key), ...table.rows]
      .map((row) => row.map((value) => quoted(plain(value))).join(",") + "\r\n").join("");
  const tsvOf = (table) =>
    [table.columns.map((column) => column.key), ...table.rows]
      .map((row) => row.map((value) => plain(value).replace(/[\t\r\n]/g, " ")).join("\t")).join("\n");

  const shownText = (table, row, column) => table.shown[row][column] ?? String(table.rows[row][column] ?? "");

  function tableNode(table, name) {
    const head = make("tr");
    for (const column of table.columns)
      head.append(make("th", { scope: "col", class: column.text ? "text" : "" }, column.title));
    const body = make("tbody");
    table.rows.forEach((row, r) => {
      const line = make("tr");
      row.forEach((_, c) => {
        const text = shownText(table, r, c);
        const kinds = [table.columns[c].text ? "text" : "", text.length > 46 ? "long" : "", text.startsWith(" ") ? "tree" : ""];
        line.append(make("td", { class: kinds.join(" ").trim() }, text));
      });
      body.append(line);
    });
    const node = make("table", { "aria-label": name }, make("thead", {}, head), body);
    return make("div", { class: "table", role: "region", tabindex: "0", "aria-label": name }, node);
  }

  async function copyText(text) {
    if (navigator.clipboard) {
      try {
        await navigator.clipboard.writeText(text);
        return true;
      } catch {
        // A file opened from a disk may not be allowed to; the older way follows.
      }
    }
    const area = make("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }

  function saveText(text, name) {
    const link = make("a", { download: name, href: URL.createObjectURL(new Blob([text], { type: "text/csv" })) });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // The table of a figure behind a line that opens it, with buttons to copy and to save it.
  function numbersNode(figure, fileName) {
    const { table } = figure;
    const said = make("span", { class: "said", role: "status" });
    const copy = make("button", { type: "button" }, "Copy table");
    const save = make("button", { type: "button" }, "Save CSV");
    copy.addEventListener("click", async () => {
      said.textContent = (await copyText(tsvOf(table))) ? "copied" : "this browser does not allow copying";
    });
    save.addEventListener("click", () => saveText(csvOf(table), fileName));
    const rows = `${table.rows.length} row${table.rows.length === 1 ? "" : "s"}`;
    const node = make("details", {}, make("summary", {}, figure.chart ? `Numbers (${rows})` : `Table (${rows})`),
      make("div", { class: "tools" }, copy, save, said));
    const fill = () => {
      if (node.querySelector("table") || !node.open) return;
      node.append(tableNode(table, figure.title));
      const notes = make("div", { class: "notes" });
      for (const note of table.notes) notes.append(make("p", {}, note));
      if (table.notes.length) node.append(notes);
    };
    node.addEventListener("toggle", fill);
    node.open = figure.open;
    fill();
    return node;
  }

  // Charts ---------------------------------------------------------------------------------------------------------

  function draw(chart) {
    const width = printing ? 700 : chart.node.clientWidth;
    if (width === 0) return;
    const { option, height } = laptimeChart(chart.figure, { dark: dark.matches && !printing, width });
    chart.drawn?.dispose();
    chart.node.style.height = `${height}px`;
    chart.drawn = echarts.init(chart.node, null, { renderer: "svg", width, height });
    chart.drawn.setOption(option);
    // Paper scales the picture to its own width.
    if (printing) chart.node.querySelector("svg").setAttribute("viewBox", `0 0 ${width} ${height}`);
    chart.width = width;
  }

  const redraw = () => charts.filter((chart) => chart.drawn).forEach(draw);
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const chart = charts.find((one) => one.node === entry.target);
      if (entry.isIntersecting && !chart.drawn) draw(chart);
    }
  }, { rootMargin: "400px" });

  let waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (!printing) charts.filter((one) => one.drawn && one.width !== one.node.clientWidth).forEach(draw);
    }, 150);
  });
  dark.addEventListener("change", redraw);
  addEventListener("beforeprint", () => {
    printing = true;
    charts.forEach(draw);
  });
  addEventListener("afterprint", () => {
    printing = false;
    redraw();
  });

  // Words of the page beside what they mean.
  function wordsNode(words) {
    const node = make("dl", { class: "words" });
    for (const [word, meaning] of words) node.append(make("div", {}, make("dt", {}, word), make("dd", {}, meaning)));
    return node;
  }

  function figureNode(figure, fileName) {
    const title = make("h3", {}, figure.title);
    const node = make("figure", {}, title);
    if (figure.reading) node.append(make("p", { class: "reading" }, figure.reading));
    if (figure.chart) {
      const said = [`${figure.title}.`, figure.reading, figure.summary].filter(Boolean).join(" ");
      const chart = make("div", { class: "chart", "data-kind": figure.chart.kind, role: "img", "aria-label": said });
      node.append(chart);
      charts.push({ node: chart, figure, drawn: null, width: 0 });
      seen.observe(chart);
    }
    if (figure.summary) node.append(make("p", { class: "summary" }, figure.summary));
    if (figure.words.length) node.append(wordsNode(figure.words));
    node.append(numbersNode(figure, fileName));
    return node;
  }

  // Page -----------------------------------------------------------------------------------------------------------

  function sectionNode(section) {
    const heading = make("h2", { id: `${section.id}-title` }, section.title);
    const node = make("section", { id: section.id, "aria-labelledby": `${section.id}-title` }, heading);
    if (section.questions.length) {
      const list = make("dl", { class: "questions" });
      for (const { question, answers, conclusion } of section.questions) {
        const items = make("ul");
        for (const answer of answers) items.append(make("li", {}, answer));
        list.append(make("dt", {}, question), make("dd", {}, answers.length === 1 ? answers[0] : items));
        if (conclusion) list.append(make("dd", { class: "conclusion" }, `Conclusion: ${conclusion}`));
      }
      node.append(list);
    }
    section.figures.forEach((figure, i) => node.append(figureNode(figure, `${section.id}-${i + 1}.csv`)));
    if (section.lines.length) {
      const lines = make("div", { class: "notes" });
      for (const line of section.lines) lines.append(make("p", {}, line));
      section.figures.length && section.figures[0].chart ? node.append(lines) : heading.after(lines);
    }
    if (section.words.length) node.append(wordsNode(section.words));
    return node;
  }

  function build() {
    const { header, conclusion, sections, missing } = data;
    document.title = header.shared ? `laptime: ${header.shared}` : "laptime report";
    const title = make("h1", {}, header.title, " ",
      make("span", {}, [header.shared, header.count].filter(Boolean).join(" · ")));
    const facts = make("dl", { class: "facts" });
    for (const { label, text } of header.facts)
      facts.append(make("div", {}, make("dt", {}, label), make("dd", {}, text)));
    const words = make("div", { class: "conclusion" });
    const answers = make("dl", { class: "answers" });
    for (const { label, text } of conclusion)
      label ? answers.append(make("dt", {}, label), make("dd", {}, text)) : words.append(make("p", {}, text));
    if (answers.children.length) words.append(answers);
    if (header.words.length) facts.append(make("div", { class: "wide" }, make("dt", {}, "words"), make("dd", {}, wordsNode(header.words))));
    const links = make("ol");
    for (const section of sections) links.append(make("li", {}, make("a", { href: `#${section.id}` }, section.title)));
    const main = make("main", { id: "main" });
    const page = make("div", { class: "page" },
      make("a", { class: "skip", href: "#main" }, "Skip to the results"),
      make("header", {}, title, words, facts, make("nav", { "aria-label": "Sections" }, links)), main);
    document.body.append(page);
    for (const section of sections) main.append(sectionNode(section));
    if (missing.length) {
      const line = make("p", {}, "Not on this page, because no record has the data: ");
      missing.forEach(({ title: name, command }, i) =>
        line.append(i ? "; " : "", `${name.toLowerCase()} (`, make("code", {}, command), ")"));
      line.append(".");
      page.append(make("footer", {}, line));
    }
  }

  build();
})();
