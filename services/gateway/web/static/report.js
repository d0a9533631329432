/** The report: statements with their confidence and their citations, conflicts, gaps, and how it was made. */

import { byId, button, fill, foreign, make } from "./dom.js";
import { count, number, percent, where, words } from "./format.js";

const PARTIAL = "This report is partial: research ended before everything that was asked could be covered. Every sentence in it has passed the same check as in a complete one.";
const DOWNLOADS = [
  ["Markdown", "report?format=md", "md"],
  ["HTML", "report?format=html", "html"],
  ["JSON", "report?format=json", "json"],
  ["Bundle", "bundle", "zip"],
];
const FOREIGN_MARK = /\[(\^?\d[\d,;–\- ]{0,12}|\^\w{1,12})\]/g;

/** Put the note marks of a source in angle quotes, so that only our own citations stand in square brackets. */
export function withoutMarks(text) {
  return text.replace(FOREIGN_MARK, "‹$1›");
}

function said(text, tag = "span", attributes = {}) {
  return foreign(withoutMarks(text), tag, attributes);
}

export class ReportView {
  /** `open(sourceId, {evidenceIds, number, opener})` shows a citation; `evidence` the rows that it cites. */
  constructor(runId, open) {
    this.runId = runId;
    this.open = open;
    this.root = byId("report");
    this.link = byId("to-report");
  }

  show(report, evidence, version) {
    this.report = report;
    this.evidence = new Map(evidence.map((item) => [item.evidence_id, item]));
    this.citations = new Map(report.citations.flatMap((citation) => citation.evidence_ids.map((id) => [id, citation])));
    this.contested = new Set(report.contradictions.filter((row) => row.resolution === "unresolved").flatMap((row) => row.evidence_ids));
    fill(
      this.root,
      this.#head(version),
      this.#answer(),
      this.#summary(),
      report.sections.map((section) => this.#section(section)),
      this.#conflicts(),
      this.#gaps(),
      this.#cited(),
      this.#method(),
    );
    this.root.lang = report.language;
    this.root.hidden = false;
    this.link.hidden = false;
  }

  #head(version) {
    const { report } = this;
    const links = DOWNLOADS.map(([label, path, ending]) => make("a", { href: `/api/v1/research-runs/${this.runId}/${path}`, download: `${this.runId}.${ending}` }, label));
    return [
      make("div", { class: "bar apart", lang: "en" }, make("h2", { id: "report-title" }, "Report"), make("p", { class: "bar downloads" }, make("span", { class: "hint" }, version > 1 ? `Version ${version}. Download` : "Download"), links)),
      report.status === "completed" ? null : make("p", { class: "note warn", lang: "en" }, PARTIAL),
      said(report.title, "p", { class: "report-name" }),
    ];
  }

  #answer() {
    const { short_answer: answer, answer_lead: lead = [] } = this.report;
    const told = answer === null ? this.#nearest() : [answer.answer ? said(answer.answer, "p", { class: "words" }) : null, make("p", {}, this.#statements([...lead, answer]))];
    return make("section", { "aria-label": "Short answer", class: "card answer" }, told);
  }

  /** What comes closest where nothing answers. */
  #nearest() {
    const { nearest } = this.report;
    if (nearest.length === 0) return make("p", { lang: "en" }, "Nothing was found that passed the check.");
    return [
      make("p", { lang: "en" }, "Nothing that was read answers the question. What comes nearest, and does not answer it:"),
      make("ul", {}, nearest.map((statement) => make("li", {}, this.#statement(statement)))),
    ];
  }

  #summary() {
    const statements = this.report.executive_summary;
    if (statements.length === 0) return null;
    return make("section", {}, make("h3", { lang: "en" }, "Executive summary"), make("ul", {}, statements.map((statement) => make("li", {}, this.#statement(statement)))));
  }

  #section(section) {
    const blocks = section.blocks.length === 0 ? make("p", { class: "empty", lang: "en" }, "Nothing further was found for this section.") : section.blocks.map((block) => this.#block(block));
    return make("section", {}, said(section.title, "h3"), blocks);
  }

  #block(block) {
    if (block.type === "list") return make("ul", {}, block.items.map((item) => make("li", {}, this.#statements(item))));
    if (block.type === "table") return this.#table(block);
    return make("p", {}, this.#statements(block.statements));
  }

  #table(block) {
    const heads = block.columns.map((column) => said(column, "th", { scope: "col" }));
    const rows = block.rows.map((row) => make("tr", {}, row.map((cell, index) => make("td", { "data-label": block.columns[index] ?? null }, make("span", {}, this.#statements(cell))))));
    return make("table", { class: "stack" }, make("thead", {}, make("tr", {}, heads)), make("tbody", {}, rows));
  }

  #statements(list) {
    return list.flatMap((statement, index) => [index > 0 ? " " : null, this.#statement(statement)]);
  }

  /** A sentence, what a reader has to know of it, and its citations. */
  #statement(statement) {
    const contested = statement.evidence_ids.some((id) => this.contested.has(id));
    const marks = [
      statement.kind === "finding" ? null : make("span", { class: "mark-kind" }, words(statement.kind)),
      make("span", { class: `confidence ${statement.confidence}` }, `${words(statement.confidence)} confidence`),
      contested ? make("a", { class: "contested", href: "#conflicts" }, "Contested") : null,
    ];
    const computed = statement.derived === null ? null : said(` (computed: ${statement.derived.formula})`, "span", { class: "hint" });
    return make("span", { class: "statement", "data-statement": statement.id }, said(statement.text), computed, " ", this.#cites(statement.evidence_ids), " ", make("span", { class: "marks", lang: "en" }, marks));
  }

  /** One button for each citation number of some evidence. */
  #cites(evidenceIds) {
    const byNumber = new Map();
    for (const id of evidenceIds) {
      const citation = this.citations.get(id);
      if (citation === undefined) continue;
      if (!byNumber.has(citation.number)) byNumber.set(citation.number, { citation, ids: [] });
      byNumber.get(citation.number).ids.push(id);
    }
    const ordered = [...byNumber.entries()].sort(([a], [b]) => a - b);
    return ordered.map(([cited, { citation, ids }]) => this.#cite(cited, citation, ids));
  }

  #cite(cited, citation, evidenceIds) {
    const node = button(`[${cited}]`, () => this.open(this.evidence.get(evidenceIds[0])?.source_id ?? citation.source_id, { evidenceIds, number: cited, opener: node }), {
      class: "cite",
      "data-cite": cited,
      "aria-label": `Source ${cited}: open the excerpt`,
    });
    return node;
  }

  #conflicts() {
    const rows = this.report.contradictions;
    if (rows.length === 0) return null;
    return make("section", { id: "conflicts", tabindex: -1 }, make("h3", { lang: "en" }, "Where the sources disagree"), rows.map((row) => this.#conflict(row)));
  }

  #conflict(row) {
    const sides = row.evidence_ids.filter((id) => this.evidence.has(id)).map((id) => make("li", {}, said(this.evidence.get(id).excerpt, "q"), " ", this.#cites([id])));
    return make("div", { class: "note warn conflict" }, said(row.summary, "p"), make("p", { class: "hint", lang: "en" }, row.resolution === "unresolved" ? "Not resolved." : said(row.resolution)), make("ul", {}, sides));
  }

  #gaps() {
    if (this.report.gaps.length === 0) return null;
    const rows = this.report.gaps.map((gap) => make("li", {}, said(gap.description), gap.question_id && make("span", { class: "hint" }, ` ${gap.question_id.toUpperCase()}`)));
    return make("section", { class: "gaps" }, make("h3", { lang: "en" }, "What was not found"), make("ul", {}, rows));
  }

  #cited() {
    if (this.report.citations.length === 0) return null;
    const rows = this.report.citations.map((citation) => {
      const { locator } = citation;
      const name = locator.document_name ?? locator.canonical_url ?? citation.source_id;
      const place = where(locator);
      return make("li", {}, this.#cite(citation.number, citation, citation.evidence_ids), " ", said(place === null ? name : `${name}, ${place}`));
    });
    return make("section", {}, make("h3", { lang: "en" }, "Cited sources"), make("ul", { class: "plain" }, rows));
  }

  #method() {
    const { verification: checked, methodology, source_mix: mix } = this.report;
    const mixed = Object.entries(mix).map(([name, many]) => `${number(many)} ${words(name).toLowerCase()}`).join(", ");
    return make(
      "details",
      { class: "method" },
      make("summary", { lang: "en" }, "How this report was made"),
      make("ul", {}, methodology.map((line) => said(line, "li"))),
      make("p", { lang: "en" }, `Of ${count(checked.statements, "drafted sentence")} ${number(checked.emitted)} passed the check and ${number(checked.dropped)} were left out. Sentence support rate ${percent(checked.sentence_support_rate)}, citation support rate ${percent(checked.citation_support_rate)}.`),
      mixed && make("p", { lang: "en" }, `Cited sources by kind: ${mixed}.`),
    );
  }
}
