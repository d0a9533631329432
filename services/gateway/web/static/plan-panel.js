/** The plan of a run on its page: to read, to change, and what to do when somebody else changed it meanwhile. */

import { call, Problem } from "./api.js";
import { button, byId, fill, foreign, make } from "./dom.js";
import { words } from "./format.js";
import { LimitFields, mostOf } from "./limits.js";
import { differences, merged } from "./plan.js";
import { PlanEditor } from "./plan-editor.js";
import { planView } from "./plan-view.js";

export class PlanPanel {
  /** `context` has `runId`, `run`, `endpoints`, `show(run)` and `complain(problem)`. */
  constructor(context) {
    this.context = context;
    this.body = byId("plan-body");
    this.tools = byId("plan-tools");
    this.editor = null;
    this.version = 0;
    this.editable = null;
    this.saving = false;
    this.faults = make("div", { class: "note bad", role: "alert", tabindex: -1, hidden: true });
    this.conflict = make("div", { class: "note warn", role: "alert", tabindex: -1, hidden: true });
    this.saveButton = button("Save plan", () => this.save(), { class: "primary", "data-plan": "save" });
    this.stopButton = button("Leave without saving", () => this.#stop(), { "data-plan": "stop" });
    window.addEventListener("beforeunload", (event) => {
      if (this.editor?.isChanged) event.preventDefault();
    });
  }

  update(run) {
    const editable = run.allowed_actions.includes("edit_plan");
    if (this.saving || (run.plan_version === this.version && editable === this.editable)) return;
    if (this.editor?.isChanged && editable) this.#clash(run);
    else if (this.editor?.isChanged) this.#closed(run);
    else this.#read(run, editable);
  }

  /** Save what is unsaved; return whether the plan that the server has is the one that is shown. */
  async save() {
    const { editor } = this;
    if (editor === null) return true;
    if (!this.conflict.hidden) {
      this.conflict.focus();
      return false;
    }
    this.#complain(null);
    const wrong = editor.check();
    if (wrong.length > 0) {
      this.#complain(wrong, false);
      return false;
    }
    if (editor.isChanged && !(await this.#send())) return false;
    this.editor = null;
    this.#read(this.context.run, this.context.run.allowed_actions.includes("edit_plan"));
    return true;
  }

  async #send() {
    const change = { expected_version: this.version, plan: this.editor.draft, budget: this.editor.limits.changed() };
    this.saving = true;
    this.saveButton.disabled = true;
    try {
      const run = await call("PATCH", `/research-runs/${this.context.runId}/plan`, change);
      this.version = run.plan_version;
      this.saving = false;
      this.context.show(run);
      return true;
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      if (problem.isStale) this.#clash(await call("GET", `/research-runs/${this.context.runId}`));
      else this.#refused(problem);
      return false;
    } finally {
      this.saving = false;
      this.saveButton.disabled = false;
    }
  }

  #refused(problem) {
    const field = problem.field === null ? null : this.editor.field(problem.field.replace(/^plan\./, ""));
    this.#complain([problem.message], field === null);
    field?.setAttribute("aria-invalid", "true");
    field?.focus();
  }

  #read(run, editable) {
    const hadFocus = this.tools.contains(document.activeElement) || this.body.contains(document.activeElement);
    this.editor = null;
    this.version = run.plan_version;
    this.editable = editable;
    fill(this.tools, run.plan && make("span", { class: "hint" }, `Version ${run.plan_version}`), editable && button("Edit plan", () => this.#begin(), { "data-plan": "edit" }));
    fill(this.body, shown(run.plan, editable));
    if (hadFocus) this.tools.querySelector("button")?.focus();
  }

  async #begin() {
    try {
      await this.#edit();
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      this.context.complain(problem);
    }
  }

  async #edit() {
    this.most = await mostOf();
    const { run, endpoints } = this.context;
    this.editor = new PlanEditor(run.plan, endpoints, this.#limits(run), () => this.#label());
    this.#complain(null);
    this.conflict.hidden = true;
    this.saveButton.hidden = false;
    fill(this.tools, make("span", { class: "hint" }, `Version ${this.version}`));
    fill(this.body, this.conflict, this.editor.root, make("div", { class: "sticky" }, this.faults, make("p", { class: "bar" }, this.saveButton, this.stopButton)));
    this.#label();
    this.editor.field("title").focus();
  }

  #limits(run) {
    return new LimitFields(run, this.most, () => 1, () => this.#label());
  }

  #label() {
    const changed = this.editor?.isChanged;
    this.saveButton.textContent = changed ? "Save plan" : "Done";
    this.stopButton.hidden = !changed;
  }

  #stop() {
    this.#read(this.context.run, this.context.run.allowed_actions.includes("edit_plan"));
  }

  #complain(sentences, focus = true) {
    fill(this.faults, make("ul", {}, (sentences ?? []).map((sentence) => foreign(sentence, "li"))));
    this.faults.hidden = sentences === null;
    if (sentences !== null && focus) this.faults.focus();
  }

  /** Show what somebody else changed; the edits stay in the form whatever is chosen. */
  #clash(run) {
    this.#complain(null);
    const theirs = [...differences(this.editor.base, run.plan), ...this.editor.limits.differences(run)];
    const keep = button(`Keep my edits, on top of version ${run.plan_version}`, () => this.#settle(run, true), { class: "primary", "data-plan": "keep" });
    const take = button(`Drop my edits and load version ${run.plan_version}`, () => this.#settle(run, false), { "data-plan": "take" });
    fill(
      this.conflict,
      make("p", {}, make("strong", {}, `The plan was changed meanwhile: it is at version ${run.plan_version}, your edits stand on version ${this.version}.`)),
      theirs.length === 0 ? make("p", {}, "Nothing that this form shows differs.") : make("ul", { class: "changes" }, theirs.map(change)),
      make("p", { class: "hint" }, "A part of the plan that you edited stays as you have it; the others are taken from the newer version."),
      make("p", { class: "bar" }, keep, take),
    );
    this.conflict.hidden = false;
    this.saveButton.hidden = true;
    this.conflict.focus();
  }

  /** The run went on meanwhile: leave the edits where they can be copied from. */
  #closed(run) {
    this.editable = false;
    fill(
      this.conflict,
      make("p", {}, make("strong", {}, `The run went on and its plan cannot be changed now (${words(run.status).toLowerCase()}).`), " Your edits are still in the form below, to be copied from."),
      make("p", { class: "bar" }, button("Leave the form", () => this.#stop(), { "data-plan": "leave" })),
    );
    this.conflict.hidden = false;
    this.saveButton.hidden = true;
    this.conflict.focus();
  }

  #settle(run, keepMine) {
    const { base, draft } = this.editor;
    const limits = this.#limits(run);
    if (keepMine) limits.set(this.editor.limits.changed());
    this.version = run.plan_version;
    this.editor.rebase(run.plan, keepMine ? merged(base, draft, run.plan) : run.plan, limits);
    this.conflict.hidden = true;
    this.saveButton.hidden = false;
    fill(this.tools, make("span", { class: "hint" }, `Version ${run.plan_version}`));
    this.context.show(run);
    this.saveButton.focus();
  }
}

/** A plan that waits for approval lies open; later it is there for whoever looks for it. */
function shown(plan, open) {
  if (plan === null) return make("p", { class: "empty" }, "The plan is being made.");
  return open ? planView(plan) : make("details", {}, make("summary", {}, plan.title), planView(plan));
}

function change({ what, before, after }) {
  return make("li", {}, `${what}`, (before !== null || after !== null) && ": ", before !== null && foreign(before, "del"), before !== null && after !== null && " ", after !== null && foreign(after, "ins"));
}
