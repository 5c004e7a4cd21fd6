// Tables of a page, which the reader can sort by clicking a heading, copy, and save as CSV. Strings become text nodes.
"use strict";
const tables = (() => {
  function make(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  // A spreadsheet would run text that begins with one of these characters as a formula.
  const harmless = (text) => (/^[=+\-@|%]/.test(text) ? "'" + text : text);
  const plain = (value) => (value === null || value === undefined ? "" : typeof value === "string" ? harmless(value) : String(value));
  const quoted = (text) => (/[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);
  const lines = (table) => [table.columns.map(({ key }) => key), ...table.rows.map((row) => table.columns.map(({ key }) => plain(row[key])))];
  const csv = (table) => lines(table).map((line) => line.map(quoted).join(",") + "\r\n").join("");
  const tsv = (table) => lines(table).map((line) => line.map((cell) => cell.replace(/[\t\r\n]/g, " ")).join("\t")).join("\n");

  function save(text, name) {
    const link = make("a", { download: name, href: URL.createObjectURL(new Blob([text], { type: "text/csv" })) });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // Buttons that copy a table and save it as NAME.csv.
  function tools(table) {
    const said = make("span", { class: "said", role: "status" });
    const copies = make("button", { type: "button", "aria-label": `copy ${table.name}` }, "copy");
    const saves = make("button", { type: "button", "aria-label": `save ${table.name}.csv` }, "CSV");
    copies.addEventListener("click", async () => {
      const isCopied = await navigator.clipboard?.writeText(tsv(table)).then(() => true, () => false);
      said.textContent = isCopied ? "copied" : "this browser does not allow copying";
    });
    saves.addEventListener("click", () => save(csv(table), `${table.name}.csv`));
    return make("span", { class: "tools" }, copies, saves, said);
  }

  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if ((a ?? null) === null || (b ?? null) === null) return ((a ?? null) === null) - ((b ?? null) === null);
    return String(a).localeCompare(String(b), undefined, { numeric: true });
  };

  // Builds a table from {name, columns: [{key, title, text?(row), is_text?, is_long?, bar?(row)}], rows}. A click on
  // a row passes it to `chosen`.
  function node(table, chosen = null) {
    const body = make("tbody");
    const order = { key: null, down: false };
    const heads = table.columns.map(({ key, title, is_text: isText }) => {
      const button = make("button", { type: "button" }, title);
      const head = make("th", { scope: "col", class: isText ? "text" : "" }, button);
      button.addEventListener("click", () => {
        order.down = order.key === key && !order.down;
        order.key = key;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
        fill();
      });
      return head;
    });
    function fill() {
      const rows = order.key === null ? table.rows : [...table.rows].sort((a, b) => compare(a[order.key], b[order.key]) * (order.down ? -1 : 1));
      body.replaceChildren(...rows.map((row) => {
        const line = make("tr");
        for (const { key, text, is_text: isText, is_long: isLong, bar } of table.columns) {
          const cell = make("td", { class: isLong ? "text long" : isText ? "text" : "" }, text ? text(row) : String(row[key] ?? "-"));
          if (bar && row[key]) {
            const strip = make("span", { class: "bar" });
            strip.style.width = `${Math.round(100 * bar(row))}%`;
            cell.append(strip);
          }
          line.append(cell);
        }
        if (chosen) {
          line.tabIndex = 0;
          line.dataset.index = row.index;
          line.addEventListener("click", () => chosen(row));
          line.addEventListener("keydown", (event) => {
            if (event.key !== "Enter" && event.key !== " ") return;
            event.preventDefault();
            chosen(row);
          });
        }
        return line;
      }));
      table.filled?.(body);
    }
    fill();
    return make("div", { class: "table", role: "region", tabindex: "0", "aria-label": table.name },
      make("table", {}, make("thead", {}, make("tr", {}, ...heads)), body));
  }

  const text = (key, title, isLong = false) => ({ key, title, is_text: true, is_long: isLong });
  const value = (key, title, format) => ({ key, title, text: (row) => format(row[key]) });

  // Returns a table together with its buttons.
  function listed(name, columns, rows) {
    const table = { name, columns, rows };
    return make("div", {}, node(table), tools(table));
  }

  // Buttons for `values`; `pressed` is the selected value. A click passes the value to `choose` and keeps the focus.
  function choice(title, values, pressed, choose, shown = (value) => value) {
    return make("span", { class: "axis", role: "group", "aria-label": title }, title, ...values.map((value) => {
      const button = make("button", { type: "button", "aria-pressed": value === pressed, "data-axis": title, "data-value": value }, shown(value));
      button.addEventListener("click", () => {
        choose(value);
        [...document.querySelectorAll("#selector button")].find(({ dataset }) => dataset.axis === title && dataset.value === value)?.focus();
      });
      return button;
    }));
  }

  // A collapsible part; `children` is called when it is first opened.
  function fold(title, children) {
    const details = make("details", {}, make("summary", {}, title));
    details.addEventListener("toggle", () => details.children.length > 1 || details.append(...children()));
    return details;
  }

  return { at: (id) => document.getElementById(id), make, text, value, node, tools, listed, choice, fold };
})();
