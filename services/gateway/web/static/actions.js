/** What may be done to a run now, as buttons. */

import { call, Problem } from "./api.js";
import { ask } from "./dialogs.js";
import { button, fill, make } from "./dom.js";
import { LimitFields, mostOf } from "./limits.js";

const LABELS = {
  approve_plan: "Approve plan",
  pause: "Pause",
  resume: "Resume",
  refine: "Refine …",
  retry: "Try again",
  increase_budget: "Increase budget …",
  cancel: "Cancel run …",
};
const FIRST = new Set(["approve_plan", "resume", "retry", "increase_budget"]);
const BACK_TO_PLAN = "The plan is revised and waits for approval again. What has been found stays.";

export class Actions {
  /**
   * `context` has `runId`, `run`, `show(run)`, `refresh()`, `complain(problem, action)`, `beforeApproval()` and
   * `leave(whether)`.
   */
  constructor(root, context) {
    this.root = root;
    this.context = context;
    this.shown = null;
  }

  update(run) {
    const names = run.allowed_actions.filter((name) => name in LABELS);
    const state = names.join(" ");
    if (state === this.shown) return;
    const hadFocus = this.root.contains(document.activeElement);
    this.shown = state;
    const buttons = names.map((name) => button(LABELS[name], () => this.#press(name), { class: FIRST.has(name) ? "primary" : null, "data-action": name }));
    fill(this.root, buttons, button("Delete run …", () => this.#remove(), { class: "quiet", "data-action": "delete" }));
    if (hadFocus) this.root.querySelector("button").focus();
  }

  async #press(name) {
    this.context.complain(null);
    await this.#tried(name, async () => {
      const body = await this.#bodyOf(name);
      if (body !== null) await this.#send(name, body);
    });
  }

  async #send(name, body) {
    this.#enable(false);
    try {
      this.context.show(await call("POST", `/research-runs/${this.context.runId}/actions`, { action: name, ...body }));
    } finally {
      this.#enable(true);
    }
  }

  /** Do what a person asked for; a refusal is told, and the run shown as it is. */
  async #tried(name, work) {
    try {
      await work();
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      this.context.complain(problem, name);
      await this.context.refresh();
    }
  }

  #enable(enabled) {
    for (const node of this.root.querySelectorAll("button")) node.disabled = !enabled;
  }

  /** Return what goes along with an action, null when it is not to be done. */
  async #bodyOf(name) {
    if (name === "approve_plan") return this.#approval();
    if (name === "cancel") return this.#cancellation();
    if (name === "refine") return this.#refinement();
    if (name === "increase_budget") return this.#increase();
    return {};
  }

  async #approval() {
    const ready = await this.context.beforeApproval();
    return ready ? { expected_version: this.context.run.plan_version } : null;
  }

  async #cancellation() {
    const body = make("p", {}, "Work under way ends, and there will be no report. This cannot be undone.");
    return (await ask({ title: "Cancel this run?", body, confirm: "Cancel run", danger: true })) && {};
  }

  #refinement() {
    const instruction = make("textarea", { id: "instruction", rows: 3, maxlength: 4000, required: true, "aria-describedby": "instruction-hint" });
    const body = make("div", { class: "field" }, make("label", { for: "instruction" }, "What is to change"), instruction, make("p", { class: "hint", id: "instruction-hint" }, BACK_TO_PLAN));
    const read = () => {
      if (instruction.value.trim() === "") throw new Error("Say in a sentence what is to change.");
      return { instruction: instruction.value.trim() };
    };
    return ask({ title: "Refine the plan", body, confirm: "Refine", read });
  }

  async #increase() {
    const { run } = this.context;
    const fields = new LimitFields(run, await mostOf(), (name) => run.budget[name]);
    const read = () => {
      const fault = fields.fault();
      if (fault !== null) throw new Error(fault);
      const limits = fields.changed();
      if (Object.keys(limits).length === 0) throw new Error("Raise at least one limit.");
      return { limits };
    };
    return ask({ title: "Increase the budget", body: fields.node, confirm: "Increase and go on", read });
  }

  async #remove() {
    const body = make("p", {}, "The run, its sources, evidence and report are removed for good.");
    if (!(await ask({ title: "Delete this run?", body, confirm: "Delete run", danger: true }))) return;
    await this.#tried("delete", async () => {
      this.context.leave(true);
      try {
        await call("DELETE", `/research-runs/${this.context.runId}`);
        location.assign("/");
      } catch (problem) {
        this.context.leave(false);
        throw problem;
      }
    });
  }
}
