/**
 * The events of a run, each once and in order, whatever happens to the connection.
 *
 * They come over an event stream that resumes by itself. A gap is filled from the list of events; where no stream can
 * be had, the list is asked every two seconds. A page that nobody sees holds no stream.
 */

import { call, Problem } from "./api.js";
import { FINAL } from "./format.js";

export const TYPES = [
  "run_created", "status_changed", "plan_ready", "plan_changed", "progress", "step_started", "step_finished",
  "step_retrying", "step_failed", "source_updated", "evidence_added", "contradiction_found", "contradiction_resolved",
  "iteration_finished", "budget", "statement_dropped", "report_ready", "control",
];

const PAGE = 1000;
const POLL_MS = 2000;
const FAILURES_BEFORE_POLLING = 2;
const POLLS_BEFORE_STREAM = 15;
const NOT_FOUND = 404;

export class Follower {
  /** `onEvent` gets each event; `onState` "live", "polling", "lost" or "ended". */
  constructor(runId, { onEvent, onState }) {
    this.path = `/research-runs/${runId}/events`;
    this.onEvent = onEvent;
    this.onState = onState;
    this.last = 0;
    this.known = 0;
    this.ending = false;
    this.over = false;
    this.source = null;
    this.timer = null;
    this.failures = 0;
    this.polls = 0;
    this.unreachable = false;
    this.reading = null;
    document.addEventListener("visibilitychange", () => this.#seen());
  }

  /** Hand over what has happened so far, then follow what comes. */
  async start() {
    this.over = false;
    if (await this.#caughtUp()) this.#open();
    else this.#poll();
  }

  /** Follow again a run that had ended and was reopened. */
  resume() {
    if (this.over) this.start();
  }

  #seen() {
    if (this.over) return;
    if (document.hidden) this.#close();
    else if (this.source === null) this.start();
  }

  #open() {
    if (this.over || document.hidden) return;
    this.#close();
    const source = new EventSource(`/api/v1${this.path}?after=${this.last}`);
    this.source = source;
    source.addEventListener("open", () => {
      this.failures = 0;
      this.onState("live");
    });
    for (const type of TYPES) source.addEventListener(type, (message) => this.#take(JSON.parse(message.data)));
    source.addEventListener("end", () => this.#finish());
    source.addEventListener("resync", () => this.#open());
    source.addEventListener("error", () => this.#failed(source));
  }

  #close() {
    clearTimeout(this.timer);
    this.source?.close();
    this.source = null;
  }

  #failed(source) {
    if (source !== this.source) return;
    this.failures += 1;
    const gone = source.readyState === EventSource.CLOSED;
    if (gone || this.failures >= FAILURES_BEFORE_POLLING) this.#poll();
    else this.onState("lost");
  }

  /** Take an event from the stream; one that does not follow on the last leads to the list. */
  #take(event) {
    this.known = Math.max(this.known, event.seq);
    if (event.seq === this.last + 1 && this.reading === null) this.#give(event);
    else if (event.seq > this.last) this.#caughtUp().then((done) => done || this.#poll());
  }

  #give(event) {
    this.last = event.seq;
    if (event.type === "status_changed") this.ending = FINAL.has(event.to);
    this.onEvent(event);
  }

  /** Read the list from the last event on and tell whether that worked; calls at once share one reading. */
  #caughtUp() {
    this.reading ??= this.#pages().finally(() => {
      this.reading = null;
    });
    return this.reading;
  }

  async #pages() {
    let quiet = 0;
    try {
      for (;;) {
        const { events } = await call("GET", `${this.path}?after=${this.last}&limit=${PAGE}`);
        for (const event of events) this.#give(event);
        quiet = events.length === 0 ? quiet + 1 : 0;
        const missing = this.last < this.known && quiet < 2; // it came over the stream meanwhile
        if (events.length < PAGE && !missing) break;
      }
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      if (problem.status === NOT_FOUND) this.#finish();
      return false;
    }
    if (this.ending) this.#finish();
    return true;
  }

  async #poll() {
    this.#close();
    const done = await this.#caughtUp();
    if (this.over || document.hidden) return;
    this.onState(done ? "polling" : "lost");
    this.polls += 1;
    const isBack = done && this.unreachable;
    this.unreachable = !done;
    const streamAgain = isBack || this.polls % POLLS_BEFORE_STREAM === 0;
    this.timer = setTimeout(() => (streamAgain ? this.#open() : this.#poll()), POLL_MS);
  }

  #finish() {
    this.over = true;
    this.#close();
    this.onState("ended");
  }
}
