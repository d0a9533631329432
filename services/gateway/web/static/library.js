/** Choosing documents of the library. */

import { call } from "./api.js";
import { byId, fill, foreign, make } from "./dom.js";
import { count, number } from "./format.js";

const PAGE = 200;

export class Library {
  constructor() {
    this.documents = new Map();
    this.chosen = new Set();
    this.cursor = null;
    this.loaded = false;
    this.list = document.querySelector(".library-list");
    this.filter = byId("library-filter");
    this.more = byId("library-more");
    this.filter.addEventListener("input", () => this.#show());
    this.more.addEventListener("click", () => this.load());
  }

  /** Fetch the next page of the library. */
  async load() {
    const query = this.cursor === null ? "" : `&cursor=${encodeURIComponent(this.cursor)}`;
    const page = await call("GET", `/documents?limit=${PAGE}${query}`);
    for (const document of page.documents) this.documents.set(document.document_id, document);
    this.cursor = page.next_cursor;
    this.loaded = true;
    this.more.hidden = this.cursor === null;
    this.#show();
  }

  /** Put documents that have just been read on top, chosen where they can be. */
  add(documents) {
    this.documents = new Map([...documents.map((d) => [d.document_id, d]), ...this.documents]);
    for (const document of documents) {
      this.documents.set(document.document_id, document);
      if (document.status === "ready") this.chosen.add(document.document_id);
    }
    this.#show();
  }

  #show() {
    const wanted = this.filter.value.trim().toLocaleLowerCase();
    const fits = (d) => `${d.name} ${d.title ?? ""}`.toLocaleLowerCase().includes(wanted);
    fill(this.list, [...this.documents.values()].filter(fits).map((d) => this.#row(d)));
    this.#count();
  }

  #row(document) {
    const id = document.document_id;
    const box = make("input", { type: "checkbox", value: id, disabled: document.status !== "ready" });
    box.checked = this.chosen.has(id);
    box.addEventListener("change", () => {
      if (box.checked) this.chosen.add(id);
      else this.chosen.delete(id);
      this.#count();
    });
    const note = document.status === "ready" ? null : make("span", { class: "hint" }, ` (${document.reason ?? document.status})`);
    return make("li", {}, make("label", { class: "choice" }, box, make("span", {}, foreign(document.name), note)));
  }

  #count() {
    const all = this.cursor === null ? count(this.documents.size, "document") : `${number(this.documents.size)} and more documents`;
    byId("library-count").textContent = `${number(this.chosen.size)} chosen of ${all}.`;
  }
}
