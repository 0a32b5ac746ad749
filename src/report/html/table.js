// A table that is filtered, sorted and shown a page at a time.

const PAGE_ROWS = 50;

const collator = new Intl.Collator("en", { numeric: true });

/** Smaller first; what is undefined last, whichever way it is sorted. */
function compare(a, b, direction) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (Array.isArray(a)) {
    for (let i = 0; i < a.length; i += 1) {
      const order = direction * ((a[i] ?? -1) - (b[i] ?? -1));
      if (order !== 0) return order;
    }
    return 0;
  }
  if (typeof a === "string") return direction * collator.compare(a, b);
  return direction * (a - b);
}

/**
 * `columns`: `{head, title?, kind?, key(row), cell(row)}`; `filters`: `{label, values, has(row, value)}`
 * with `[value, text]` in `values`; `id(row)` is what the text filter looks in.
 */
class Table {
  constructor(place, { noun, rows, columns, filters, id, sort, open }) {
    Object.assign(this, { noun, rows, columns, id, sort, open, page: 0, direction: 1 });
    this.shown = rows;
    this.filters = filters.filter((filter) => filter.values.length > 1).map((filter) => ({
      ...filter,
      select: el("select", { onchange: () => this.refresh() },
        el("option", { value: "" }, "all"),
        filter.values.map(([value, text]) => el("option", { value }, text))),
    }));
    this.search = el("input", { type: "search", placeholder: "part of an id", spellcheck: "false",
      autocomplete: "off", oninput: () => this.refresh() });
    this.heads = columns.map((column, i) => el("th", { scope: "col", class: column.kind, title: column.title },
      column.key
        ? el("button", { type: "button", onclick: () => this.sortBy(i) }, column.head)
        : column.head));
    this.body = el("tbody");
    this.status = el("p", { class: "count", role: "status" });
    this.back = el("button", { type: "button", onclick: () => this.turn(-1) }, "← previous");
    this.forth = el("button", { type: "button", onclick: () => this.turn(1) }, "next →");
    place.append(
      el("form", { class: "filters", onsubmit: (event) => event.preventDefault() },
        this.filters.map(({ label, select }) => el("label", {}, label, select)),
        el("label", {}, "id", this.search),
        el("button", { type: "reset", onclick: () => setTimeout(() => this.refresh()) }, "clear")),
      el("div", { class: "scroll" },
        el("table", { class: "rows" }, el("thead", {}, el("tr", {}, this.heads)), this.body)),
      el("div", { class: "pager" }, this.status, this.back, this.forth));
    this.refresh();
  }

  /** Looks for a part of an id, with these values of filters by label and all others cleared. */
  find(text, values) {
    for (const { label, select } of this.filters) select.value = values[label] ?? "";
    this.search.value = text;
    this.refresh();
  }

  sortBy(i) {
    this.direction = this.sort === i ? -this.direction : 1;
    this.sort = i;
    this.refresh();
  }

  turn(pages) {
    this.page += pages;
    this.draw();
  }

  refresh() {
    const set = this.filters.filter(({ select }) => select.value !== "");
    const text = this.search.value.trim().toLowerCase();
    const { key } = this.columns[this.sort];
    this.shown = this.rows
      .filter((row) => set.every(({ has, select }) => has(row, select.value))
        && (text === "" || this.id(row).toLowerCase().includes(text)))
      .map((row) => [key(row), row])
      .sort(([a], [b]) => compare(a, b, this.direction))
      .map(([, row]) => row);
    this.page = 0;
    this.draw();
  }

  /** Shows one page of rows, or all. */
  draw(all = false) {
    const pages = Math.max(1, Math.ceil(this.shown.length / PAGE_ROWS));
    this.page = Math.min(Math.max(this.page, 0), pages - 1);
    const from = all ? 0 : this.page * PAGE_ROWS;
    const rows = all ? this.shown : this.shown.slice(from, from + PAGE_ROWS);
    this.heads.forEach((head, i) => {
      if (i === this.sort) head.setAttribute("aria-sort", this.direction > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    this.body.replaceChildren(...rows.map((row) => el("tr",
      this.open ? { class: "opens", onclick: (event) => this.open(row, event) } : {},
      this.columns.map((column) => el("td", { class: column.kind }, column.cell(row))))));
    const of = this.shown.length === this.rows.length
      ? plural(this.rows.length, this.noun)
      : `${count(this.shown.length)} of ${plural(this.rows.length, this.noun)}`;
    this.status.textContent = pages > 1 && !all
      ? `${count(from + 1)}–${count(from + rows.length)} of ${of}`
      : of;
    this.back.disabled = all || this.page === 0;
    this.forth.disabled = all || this.page === pages - 1;
    this.back.hidden = this.forth.hidden = pages === 1;
  }
}
