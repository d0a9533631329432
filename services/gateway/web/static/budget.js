/** How much of each limit is used: a bar with its figures. */

import { make } from "./dom.js";
import { limitName, limitValue } from "./format.js";

const ALWAYS = ["iterations", "searches", "fetches", "elapsed_s"];
const WITH_A_MODEL = ["model_calls", "verification_calls", "input_tokens", "output_tokens", "cost_usd"];
const TIGHT = 0.8;

/** Return the limits to show: those of models only where one is or was used. */
export function limitsOf(run) {
  const models = run.engine === "extractive" && !WITH_A_MODEL.some((name) => run.usage[name] > 0) ? [] : WITH_A_MODEL;
  return [...ALWAYS, ...models].filter((name) => run.budget[name] > 0);
}

export class BudgetBars {
  constructor(root) {
    this.root = root;
    this.bars = new Map();
  }

  update(run) {
    for (const name of limitsOf(run)) {
      if (!this.bars.has(name)) this.#add(name);
      this.#set(this.bars.get(name), name, run.usage[name] ?? 0, run.budget[name]);
    }
  }

  #add(name) {
    const label = make("span", { id: `limit-${name}` }, limitName(name));
    const figures = make("span", { class: "figure" });
    const fill = make("span", { class: "fill" });
    const bar = make("span", { class: "meter", role: "meter", "aria-labelledby": `limit-${name}`, "aria-valuemin": 0 }, fill);
    this.root.append(make("div", { class: "limit", "data-limit": name }, make("p", { class: "bar apart" }, label, figures), bar));
    this.bars.set(name, { bar, fill, figures });
  }

  #set({ bar, fill, figures }, name, used, most) {
    const share = Math.min(1, used / most);
    const text = `${limitValue(name, used)} of ${limitValue(name, most)}`;
    figures.textContent = text;
    fill.style.inlineSize = `${(share * 100).toFixed(1)}%`;
    bar.classList.toggle("tight", share >= TIGHT);
    bar.setAttribute("aria-valuemax", String(most));
    bar.setAttribute("aria-valuenow", String(Math.min(used, most)));
    bar.setAttribute("aria-valuetext", text);
  }
}
