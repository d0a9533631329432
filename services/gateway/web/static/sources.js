/** The sources of a run as a table. */

import { byId, button, fill, foreign, make } from "./dom.js";
import { count, number, words } from "./format.js";

const ROWS_AT_FIRST = 100;
const FILTERS = {
  all: ["All", () => true],
  read: ["Read", (source) => source.snapshot_sha256 !== null],
  evidence: ["With evidence", (source, pieces) => pieces > 0],
  not: ["Not usable", (source) => ["blocked", "failed", "unsupported", "duplicate"].includes(source.status)],
};

export class Sources {
  /** `open(sourceId, button)` shows a source. */
  constructor(open) {
    this.open = open;
    this.sources = [];
    this.pieces = new Map();
    this.most = ROWS_AT_FIRST;
    this.state = null;
    this.select = make("select", { id: "source-filter", onchange: () => this.show() }, Object.entries(FILTERS).map(([value, [label]]) => make("option", { value }, label)));
    this.summary = make("p", { class: "hint" });
    this.body = make("tbody");
    const heads = ["Status", "Title", "Class", "Domain", "Evidence", "Remarks"].map((head) => make("th", { scope: "col" }, head));
    this.table = make("table", { class: "stack" }, make("thead", {}, make("tr", {}, heads)), this.body);
    this.more = button("Show all", () => {
      this.most = Infinity;
      this.show();
    }, { class: "quiet" });
    this.empty = make("p", { class: "empty" });
    const filter = make("p", { class: "bar" }, make("label", { for: "source-filter" }, "Show"), this.select);
    fill(byId("sources-body"), make("div", { class: "bar apart" }, this.summary, filter), this.table, this.empty, this.more);
    this.show();
  }

  update(sources, evidence) {
    const state = JSON.stringify([sources.map((s) => [s.source_id, s.status, s.title, s.reason, s.duplicate_of, s.source_class]), evidence.length]);
    if (state === this.state) return;
    this.state = state;
    this.sources = sources;
    this.pieces = new Map();
    for (const item of evidence) this.pieces.set(item.source_id, (this.pieces.get(item.source_id) ?? 0) + 1);
    this.show();
  }

  show() {
    const focused = document.activeElement?.closest?.("tr")?.dataset.source;
    const fits = FILTERS[this.select.value][1];
    const wanted = this.sources.filter((source) => fits(source, this.pieces.get(source.source_id) ?? 0));
    fill(this.body, wanted.slice(0, this.most).map((source) => this.#row(source)));
    const read = this.sources.filter((source) => source.snapshot_sha256 !== null).length;
    this.summary.textContent = this.sources.length === 0 ? "" : `${count(this.sources.length, "source")} found, ${number(read)} read.`;
    this.table.hidden = wanted.length === 0;
    this.empty.hidden = wanted.length > 0;
    this.empty.textContent = this.sources.length === 0 ? "There are no sources yet." : "No source is like that.";
    this.more.hidden = wanted.length <= this.most;
    this.more.textContent = `Show all ${number(wanted.length)}`;
    if (focused !== undefined) this.body.querySelector(`[data-source="${CSS.escape(focused)}"] button`)?.focus();
  }

  #row(source) {
    const title = source.title || source.url;
    const opener = button(title, () => this.open(source.source_id, opener), { class: "link", dir: "auto" });
    const pieces = this.pieces.get(source.source_id) ?? 0;
    return make(
      "tr",
      { "data-source": source.source_id, "data-status": source.status },
      make("td", { "data-label": "Status" }, make("span", { class: `badge ${source.status}` }, words(source.status))),
      make("th", { scope: "row", "data-label": "Title" }, opener),
      make("td", { "data-label": "Class" }, words(source.source_class)),
      make("td", { "data-label": "Domain" }, source.kind === "document" ? "Document" : foreign(source.domain ?? "unknown")),
      make("td", { "data-label": "Evidence", class: "figure" }, number(pieces)),
      make("td", { "data-label": "Remarks" }, make("span", {}, this.#remarks(source))),
    );
  }

  #remarks(source) {
    const original = this.sources.find((other) => other.source_id === source.duplicate_of);
    const copy = source.duplicate_of === null ? null : [make("span", {}, "Copy of "), foreign(original?.title ?? source.duplicate_of)];
    return [source.reason && foreign(source.reason), source.reason && copy && "; ", copy];
  }
}
