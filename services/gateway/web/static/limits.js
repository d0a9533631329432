/** Fields for the limits of a run: each may be lowered as far as allowed, and raised to the operator's maximum. */

import { call } from "./api.js";
import { limitsOf } from "./budget.js";
import { make } from "./dom.js";
import { limitName, limitValue, number } from "./format.js";

const COST = "cost_usd";
const MOST_COST = 1_000_000;

let maxima = null;

/** Return what limits may be raised to; asked for once. */
export async function mostOf() {
  maxima ??= (await call("GET", "/capabilities")).budget.maxima;
  return maxima;
}

export class LimitFields {
  /** `lowest` returns the least value of a limit; `onChange` is called whenever a figure has changed. */
  constructor(run, most, lowest, onChange = () => {}) {
    this.before = run.budget;
    this.inputs = new Map();
    const fields = limitsOf(run).map((name) => this.#field(name, run, lowest(name), Math.max(most[name] ?? (name === COST ? MOST_COST : 0), run.budget[name])));
    this.node = make("div", { class: "grid limits" }, fields);
    this.node.addEventListener("input", onChange);
  }

  /** Return the limits whose figures differ from the run's. */
  changed() {
    const values = [...this.inputs].map(([name, input]) => [name, name === COST ? Number(input.value) : Math.round(Number(input.value))]);
    return Object.fromEntries(values.filter(([name, value]) => value !== this.before[name]));
  }

  /** Put figures into the fields. */
  set(limits) {
    for (const [name, value] of Object.entries(limits)) this.inputs.get(name).value = value;
  }

  /** Return in which limits another run object differs from the one that these fields were made of. */
  differences(run) {
    return [...this.inputs.keys()]
      .filter((name) => run.budget[name] !== this.before[name])
      .map((name) => ({ what: limitName(name), before: number(this.before[name]), after: number(run.budget[name]) }));
  }

  /** Return what is wrong with a figure as a sentence, and mark it; null when all is well. */
  fault() {
    for (const input of this.inputs.values()) input.removeAttribute("aria-invalid");
    for (const [name, input] of this.inputs) {
      if (input.checkValidity()) continue;
      input.setAttribute("aria-invalid", "true");
      input.focus();
      return `${limitName(name)}: ${input.validationMessage}`;
    }
    return null;
  }

  #field(name, run, least, most) {
    const id = `limit-of-${name}`;
    const now = run.budget[name];
    const input = make("input", { type: "number", id, min: name === COST ? 0.0001 : least, max: most, step: name === COST ? "any" : 1, value: now, required: true, "data-path": `budget.${name}`, "aria-describedby": `${id}-hint` });
    this.inputs.set(name, input);
    const used = run.usage[name] > 0 ? `${limitValue(name, run.usage[name])} used; ` : "";
    const hint = make("p", { class: "hint", id: `${id}-hint` }, `${used}${number(least)} to ${number(most)}.`);
    return make("div", { class: "field" }, make("label", { for: id }, name === "elapsed_s" ? "Time in seconds" : limitName(name)), input, hint);
  }
}
