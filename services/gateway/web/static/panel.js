/** The side panel: a source, what was found in it, and its text with the excerpts marked. */

import { call, Problem, text as textOf } from "./api.js";
import { button, byId, fill, foreign, make, outsideLink } from "./dom.js";
import { allStand, FURTHER, lineEnd, lineStart, places, stretch } from "./excerpt.js";
import { dateTime, number, where, words } from "./format.js";

const BESIDE = "(min-width: 75rem)";
const TEXTS_KEPT = 8;

export class Panel {
  constructor(runId) {
    this.runId = runId;
    this.dialog = byId("panel");
    this.texts = new Map();
    this.opener = null;
    this.asked = 0;
    this.dialog.addEventListener("close", () => this.opener?.focus());
    this.dialog.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.defaultPrevented) this.dialog.close();
    });
  }

  /** Open a source; only the evidence with these ids is marked, all of it without ids. */
  async open(sourceId, { evidenceIds = null, number: cited = null, opener = document.activeElement } = {}) {
    this.asked += 1;
    const turn = this.asked;
    this.opener = opener;
    this.#frame(cited, "Loading …", make("p", { class: "hint" }, "Loading …"));
    try {
      const source = await call("GET", `/research-runs/${this.runId}/sources/${sourceId}`);
      const text = source.snapshot_sha256 === null ? null : await this.#text(source);
      if (turn === this.asked) this.#show(source, text, evidenceIds, cited);
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      if (turn === this.asked) this.#frame(cited, "It cannot be shown", foreign(problem.message, "p", { class: "note bad" }));
    }
  }

  async #text(source) {
    const known = this.texts.get(source.source_id);
    if (known !== undefined) return known;
    const text = await textOf(`/research-runs/${this.runId}/sources/${source.source_id}/snapshot`);
    if (this.texts.size >= TEXTS_KEPT) this.texts.delete(this.texts.keys().next().value);
    this.texts.set(source.source_id, text);
    return text;
  }

  #frame(cited, title, ...content) {
    const close = button("Close", () => this.dialog.close(), { class: "quiet", "data-close": true });
    const heading = make("h2", { id: "panel-title", tabindex: -1 }, cited !== null && make("span", { class: "cite-number" }, `[${cited}] `), foreign(title));
    fill(this.dialog, make("div", { class: "bar apart panel-head" }, heading, close), make("div", { class: "panel-body" }, content));
    if (!this.dialog.open) {
      // Beside the page where there is room, over it where there is none.
      if (matchMedia(BESIDE).matches) this.dialog.show();
      else this.dialog.showModal();
      this.opener?.scrollIntoView({ block: "nearest" });
    }
    heading.focus();
  }

  #show(source, text, evidenceIds, cited) {
    const marked = source.evidence.filter((item) => evidenceIds === null || evidenceIds.includes(item.evidence_id));
    this.#frame(cited, source.title || source.url, facts(source), this.#found(source, marked), text === null ? noText(source) : new Snapshot(text, marked).root);
    this.dialog.querySelector("mark")?.scrollIntoView({ block: "center" });
  }

  #found(source, marked) {
    if (source.evidence.length === 0) return make("p", { class: "hint" }, "Nothing was found in it.");
    const all = marked.length < source.evidence.length;
    const more = all && button(`Mark all ${number(source.evidence.length)} excerpts`, () => this.open(source.source_id, { opener: this.opener }), { class: "quiet" });
    return make("section", { "aria-label": "Excerpts" }, make("ul", { class: "excerpts" }, marked.map(excerpt)), more);
  }
}

function excerpt(item) {
  const notes = [item.question_ids.join(", ").toUpperCase(), item.stance, where(item.locator), item.in_scope ? null : "outside the present plan"].filter(Boolean);
  return make("li", {}, foreign(item.excerpt, "q"), " ", foreign(notes.join(" · "), "span", { class: "hint" }));
}

function facts(source) {
  const rows = [
    ["Status", words(source.status) + (source.reason ? `: ${source.reason}` : "")],
    ["Address", source.kind === "web" ? outsideLink(source.final_url ?? source.url) : null],
    ["Publisher", source.publisher],
    ["Author", source.author],
    ["Published", source.published_at],
    ["Read", source.retrieved_at && dateTime(source.retrieved_at)],
    ["Class", words(source.source_class)],
  ].filter(([, value]) => value);
  return make("dl", { class: "source-facts" }, rows.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, typeof value === "string" ? foreign(value) : value))));
}

function noText(source) {
  return make("p", { class: "empty" }, `There is no text of it: it is ${words(source.status).toLowerCase()}.`);
}

/** The text of a source around what is marked in it, and more of it when asked. */
class Snapshot {
  constructor(text, evidence) {
    this.text = text;
    this.found = places(text, evidence);
    ({ from: this.from, to: this.to } = stretch(text, this.found));
    this.warning = allStand(text, evidence) ? null : make("p", { class: "note bad" }, "An excerpt does not stand where it should: check the bundle with leadline verify.");
    this.before = button("Show earlier text", () => this.#extend(-1), { class: "quiet" });
    this.after = button("Show later text", () => this.#extend(1), { class: "quiet" });
    this.box = make("div", { class: "snapshot", dir: "auto", tabindex: 0, role: "region", "aria-label": "Text of the source" });
    this.root = make("section", { "aria-label": "Text" }, this.warning, this.before, this.box, this.after);
    this.#draw();
  }

  #extend(direction) {
    if (direction < 0) this.from = lineStart(this.text, this.from - FURTHER);
    else this.to = lineEnd(this.text, this.to + FURTHER);
    this.#draw();
  }

  #draw() {
    const parts = [];
    let at = this.from;
    for (const { start, end } of this.found) {
      if (start < this.from || end > this.to) continue;
      parts.push(this.text.slice(at, start), make("mark", {}, this.text.slice(start, end)));
      at = end;
    }
    fill(this.box, parts, this.text.slice(at, this.to));
    this.before.hidden = this.from === 0;
    this.after.hidden = this.to === this.text.length;
  }
}
