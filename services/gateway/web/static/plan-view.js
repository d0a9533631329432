/** A plan to read. */

import { foreign, make } from "./dom.js";
import { count } from "./format.js";

function ids(item) {
  return item.question_ids.length === 0 ? null : make("span", { class: "hint" }, ` ${item.question_ids.join(", ").toUpperCase()}`);
}

function question(item) {
  const notes = [item.priority === "required" ? null : "supporting", item.needs_primary_source ? "needs a primary source" : null].filter(Boolean);
  return make(
    "li",
    {},
    make("span", { class: "id-mark" }, item.id.toUpperCase()),
    " ",
    foreign(item.text),
    notes.length > 0 && make("span", { class: "hint" }, ` (${notes.join(", ")})`),
    item.rationale && foreign(item.rationale, "p", { class: "hint" }),
  );
}

function search(item) {
  return make("li", {}, foreign(item.query), make("span", { class: "hint" }, ` in ${item.endpoint}, ${count(item.result_count, "result")}`), ids(item));
}

function section(item) {
  return make("li", {}, foreign(item.title), ids(item), item.guidance && foreign(item.guidance, "p", { class: "hint" }));
}

function lines(heading, texts) {
  const kept = texts.filter(Boolean);
  return kept.length === 0 ? null : [make("h3", {}, heading), make("ul", {}, kept.map((text) => foreign(text, "li")))];
}

function scopeOf({ included, excluded, timeframe, geographies }) {
  return [
    ...included,
    ...excluded.map((text) => `Left out: ${text}`),
    timeframe && `Time: ${timeframe}`,
    geographies.length > 0 && `Places: ${geographies.join(", ")}`,
  ];
}

export function planView(plan) {
  return make(
    "div",
    { class: "plan-view" },
    foreign(plan.title, "p", { class: "plan-name" }),
    make("h3", {}, "Questions"),
    make("ol", { class: "plain" }, plan.questions.map(question)),
    make("h3", {}, "Searches"),
    make("ol", {}, plan.search_tasks.map(search)),
    make("h3", {}, "Sections of the report"),
    make("ol", {}, plan.writing_plan.map(section)),
    lines("Scope", scopeOf(plan.scope)),
    lines("Assumptions", plan.assumptions),
    lines("Done when", plan.completion_criteria),
  );
}
