/** What happened to a run, as sentences, newest first. */

import { byId, foreign, make } from "./dom.js";
import { clock, count, limitName, limitValue, reason, words } from "./format.js";

const SHOWN_AT_FIRST = 200;

const STATUSES = {
  planning: "Planning",
  awaiting_plan_approval: "The plan waits for approval",
  queued: "Waiting for its turn",
  researching: "Researching",
  synthesizing: "Writing the report",
  paused: "Paused",
  completed: "Completed",
  cancelled: "Cancelled",
  failed: "Failed",
  budget_exhausted: "Ended before everything was covered",
};

const CONTROLS = {
  approve_plan: "Plan approved",
  edit_plan: "Plan changed",
  pause: "Asked to pause",
  resume: "Asked to go on",
  refine: "Asked to refine the plan",
  cancel: "Asked to cancel",
  retry: "Asked to try again",
  increase_budget: "Budget increased",
};

/** Event type to [sentence, tone, only among every step]. */
const SENTENCES = {
  run_created: () => ["Created", "", false],
  status_changed: (e) => [status(e), tone(e.to), false],
  plan_ready: (e) => [`Plan ${e.plan_version} is ready`, "good", false],
  plan_changed: (e) => [`Plan ${e.plan_version} was saved`, "", false],
  progress: (e) => [e.message || words(e.phase), "", false],
  step_started: (e) => [`Begun: ${words(e.kind).toLowerCase()}${e.attempt > 1 ? `, attempt ${e.attempt}` : ""}`, "", true],
  step_finished: (e) => [`Done: ${e.summary || words(e.kind).toLowerCase()}`, "", true],
  step_retrying: (e) => [`Will be tried again: ${e.summary || words(e.kind).toLowerCase()}`, "warn", false],
  step_failed: (e) => [`Given up: ${e.summary || words(e.kind).toLowerCase()}`, "warn", false],
  source_updated: (e) => [source(e), e.reason ? "warn" : "", !["blocked", "failed", "unsupported", "duplicate"].includes(e.status)],
  evidence_added: (e) => [`${count(e.count, "piece")} of evidence for ${(e.question_ids ?? []).join(", ").toUpperCase()}`, "good", false],
  contradiction_found: () => ["The sources contradict each other", "warn", false],
  contradiction_resolved: (e) => [`A contradiction was resolved: ${e.resolution}`, "good", false],
  iteration_finished: (e) => [`Iteration ${e.iteration} ended${e.gain ? "" : " without anything new"}`, "", false],
  budget: (e) => [`${limitName(e.limit)}: ${limitValue(e.limit, e.used)} of ${limitValue(e.limit, e.of)}`, "warn", false],
  statement_dropped: (e) => [`A sentence was left out: ${words(e.verdict).toLowerCase()}`, "warn", false],
  report_ready: (e) => [`Report ${e.report_version} is ready`, "good", false],
  control: (e) => [CONTROLS[e.action] ?? words(e.action), "", false],
};

function status(event) {
  const why = FINAL_TONES[event.to] === undefined ? null : reason(event.reason);
  return (STATUSES[event.to] ?? words(event.to)) + (why === null ? "" : `. ${why}`);
}

const FINAL_TONES = { completed: "good", failed: "bad", budget_exhausted: "warn", cancelled: "" };

function tone(to) {
  return FINAL_TONES[to] ?? "";
}

function source(event) {
  const name = event.title || event.domain || event.source_id;
  return `${words(event.status)}: ${name}${event.reason ? ` (${event.reason})` : ""}`;
}

/** Return what an event says: its sentence, its tone, and whether only the list of every step shows it. */
export function told(event) {
  const [text, mood, minor] = (SENTENCES[event.type] ?? ((e) => [words(e.type), "", true]))(event);
  return { text, tone: mood, minor };
}

export class Timeline {
  constructor() {
    this.events = [];
    this.shown = SHOWN_AT_FIRST;
    this.list = byId("timeline");
    this.every = byId("every-step");
    this.more = byId("timeline-more");
    this.every.addEventListener("change", () => this.show());
    this.more.addEventListener("click", () => {
      this.shown = Infinity;
      this.show();
    });
    this.drawing = false;
  }

  /** Add an event; many that come together are drawn together. */
  add(event) {
    const { text, tone: mood, minor } = told(event);
    this.events.push({ seq: event.seq, at: event.at, text, mood, minor });
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      this.show();
    });
  }

  show() {
    const wanted = this.events.filter((event) => this.every.checked || !event.minor);
    const from = Math.max(0, wanted.length - this.shown);
    this.list.replaceChildren(...wanted.slice(from).reverse().map(line));
    this.more.hidden = from === 0;
  }
}

function line(event) {
  const time = make("time", { datetime: event.at }, clock(event.at));
  return make("li", { class: event.mood, "data-seq": event.seq }, time, " ", foreign(event.text));
}
