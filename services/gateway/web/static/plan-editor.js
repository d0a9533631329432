/** A plan to change: a form over a draft that knows the version on which it stands. */

import { button, fill, foreign, make } from "./dom.js";
import { count, words } from "./format.js";
import { copyOf, faults, MOST, newQuestion, newSearch, newSection, remarks, same, withoutLostQuestions } from "./plan.js";

const PARTS = {
  questions: { heading: "Questions", one: "question", fresh: newQuestion },
  search_tasks: { heading: "Searches", one: "search", fresh: newSearch },
  writing_plan: { heading: "Sections of the report", one: "section", fresh: newSection },
};

export class PlanEditor {
  /** `endpoints` are where the run may search, `limits` its `LimitFields`; `onChange` is called at every change. */
  constructor(plan, endpoints, limits, onChange) {
    this.limits = limits;
    this.base = copyOf(plan);
    this.draft = copyOf(plan);
    this.endpoints = endpoints;
    this.onChange = onChange;
    this.told = make("p", { class: "sr", role: "status" });
    this.remarks = make("ul", { class: "remarks hint" });
    this.lists = {};
    this.root = make("div", { class: "plan-editor" }, this.#draw());
    this.#remark();
  }

  get isChanged() {
    return !same(this.base, this.draft) || Object.keys(this.limits.changed()).length > 0;
  }

  /** Stand on another plan: `base` is what the server has, `draft` and `limits` what this form shows. */
  rebase(base, draft, limits) {
    this.limits = limits;
    this.base = copyOf(base);
    this.draft = copyOf(draft);
    fill(this.root, this.#draw());
    this.#touched();
  }

  /** Mark what would be refused and return the sentences about it. */
  check() {
    for (const node of this.root.querySelectorAll("[aria-invalid]")) node.removeAttribute("aria-invalid");
    const found = faults(this.draft);
    for (const [path] of found) this.field(path)?.setAttribute("aria-invalid", "true");
    const limit = this.limits.fault();
    if (found.length > 0) this.field(found[0][0])?.focus();
    return [...found.map(([, sentence]) => sentence), ...(limit === null ? [] : [limit])];
  }

  /** Return the field that a path of the API means, such as "questions.0.text". */
  field(path) {
    return this.root.querySelector(`[data-path="${CSS.escape(path)}"]`);
  }

  #draw() {
    const heads = [this.#text("Title", this.draft, "title", "title", { maxlength: 300 }), this.#area("Objective", this.draft, "objective", "objective", { maxlength: 4000, rows: 2 })];
    const limits = make("section", { class: "plan-part", "aria-label": "Limits" }, make("h3", {}, "Limits"), this.limits.node);
    return [heads, Object.keys(PARTS).map((part) => this.#part(part)), limits, this.remarks, this.told];
  }

  #part(part) {
    const { heading } = PARTS[part];
    this.lists[part] = make("section", { class: "plan-part", "aria-label": heading });
    this.#fillPart(part);
    return this.lists[part];
  }

  #fillPart(part) {
    const { heading, one } = PARTS[part];
    const items = this.draft[part];
    const add = button(`Add ${one}`, () => this.#add(part), { "data-focus": `${part}.add`, disabled: items.length >= MOST[part] || (part === "search_tasks" && this.endpoints.length === 0) });
    fill(
      this.lists[part],
      make("h3", {}, heading),
      make("ol", { class: "plan-items" }, items.map((item, index) => this.#item(part, item, index))),
      add,
      items.length >= MOST[part] && make("span", { class: "hint" }, ` ${count(MOST[part], one, part === "search_tasks" ? "searches" : `${one}s`)} at most.`),
    );
  }

  #item(part, item, index) {
    const { one } = PARTS[part];
    const path = `${part}.${index}`;
    const name = part === "questions" ? item.id.toUpperCase() : `${words(one)} ${index + 1}`;
    const tools = make(
      "span",
      { class: "bar tools" },
      button("↑", () => this.#move(part, index, -1), { "aria-label": `Move ${name} up`, title: "Move up", disabled: index === 0, "data-focus": `${path}.up` }),
      button("↓", () => this.#move(part, index, 1), { "aria-label": `Move ${name} down`, title: "Move down", disabled: index === this.draft[part].length - 1, "data-focus": `${path}.down` }),
      button("Remove", () => this.#remove(part, index, name), { class: "quiet", "aria-label": `Remove ${name}`, "data-focus": `${path}.remove` }),
    );
    const fields = { questions: () => this.#question(item, path), search_tasks: () => this.#search(item, path), writing_plan: () => this.#section(item, path) };
    return make("li", { class: "plan-item" }, make("fieldset", {}, make("legend", {}, name), tools, fields[part]()));
  }

  #question(item, path) {
    const primary = this.#check("Needs a primary source", item.needs_primary_source, (checked) => {
      item.needs_primary_source = checked;
    });
    return [
      this.#area("Question", item, "text", `${path}.text`, { maxlength: 2000, rows: 2 }),
      make("div", { class: "bar" }, this.#select("Priority", item, "priority", ["required", "supporting"], `${path}.priority`), primary),
    ];
  }

  #search(item, path) {
    const results = make("input", { type: "number", min: 1, max: 50, value: item.result_count, "data-path": `${path}.result_count` });
    results.addEventListener("input", () => this.#set(item, "result_count", Math.min(50, Math.max(1, Math.round(Number(results.value)) || 1))));
    return [
      this.#text("Search for", item, "query", `${path}.query`, { maxlength: 1000 }),
      make("div", { class: "bar" }, this.#select("In", item, "endpoint", this.endpoints, `${path}.endpoint`), make("label", { class: "inline" }, "Results ", results)),
      this.#questions(item, path),
    ];
  }

  #section(item, path) {
    return [
      this.#text("Heading", item, "title", `${path}.title`, { maxlength: 300 }),
      this.#area("Guidance", item, "guidance", `${path}.guidance`, { rows: 2 }),
      this.#questions(item, path),
    ];
  }

  #questions(item, path) {
    const boxes = this.draft.questions.map(({ id, text }) =>
      this.#check(id.toUpperCase(), item.question_ids.includes(id), (checked) => {
        const chosen = new Set(item.question_ids);
        if (checked) chosen.add(id);
        else chosen.delete(id);
        item.question_ids = this.draft.questions.map((q) => q.id).filter((q) => chosen.has(q));
      }, { title: text }),
    );
    return make("div", { class: "bar", role: "group", "aria-label": "Questions that it serves", tabindex: -1, "data-path": `${path}.question_ids` }, make("span", { class: "hint" }, "For"), boxes);
  }

  #text(label, item, name, path, attributes) {
    return this.#labelled(label, make("input", { type: "text", value: item[name], autocomplete: "off", "data-path": path, ...attributes }), item, name);
  }

  #area(label, item, name, path, attributes) {
    return this.#labelled(label, make("textarea", { "data-path": path, ...attributes }, item[name]), item, name);
  }

  #labelled(label, field, item, name) {
    field.setAttribute("dir", "auto");
    field.addEventListener("input", () => this.#set(item, name, field.value));
    return make("label", { class: "field" }, make("span", { class: "label" }, label), field);
  }

  #select(label, item, name, values, path) {
    const options = [...new Set([...values, item[name]])].map((value) => make("option", { value, selected: value === item[name] }, words(value)));
    const field = make("select", { "data-path": path }, options);
    field.addEventListener("change", () => this.#set(item, name, field.value));
    return make("label", { class: "inline" }, `${label} `, field);
  }

  #check(label, checked, set, attributes = {}) {
    const box = make("input", { type: "checkbox" });
    box.checked = checked;
    box.addEventListener("change", () => {
      set(box.checked);
      this.#touched();
    });
    return make("label", { class: "choice", ...attributes }, box, make("span", {}, label));
  }

  #set(item, name, value) {
    item[name] = value;
    this.#touched();
  }

  #add(part) {
    this.draft[part].push(PARTS[part].fresh(this.draft, this.endpoints));
    this.#rearranged(part, `${words(PARTS[part].one)} added.`);
    this.lists[part].querySelector("li:last-child textarea, li:last-child input[type=text]").focus();
  }

  #remove(part, index, name) {
    this.draft[part].splice(index, 1);
    this.#rearranged(part, `${name} removed.`);
    const left = this.draft[part].length;
    this.#focus(left === 0 ? `${part}.add` : `${part}.${Math.min(index, left - 1)}.remove`);
  }

  #move(part, index, by) {
    const items = this.draft[part];
    [items[index], items[index + by]] = [items[index + by], items[index]];
    const to = index + by;
    this.#rearranged(part, `Moved to place ${to + 1} of ${items.length}.`);
    const wanted = `${part}.${to}.${by < 0 ? "up" : "down"}`;
    const other = `${part}.${to}.${by < 0 ? "down" : "up"}`;
    this.#focus(this.root.querySelector(`[data-focus="${wanted}"]`).disabled ? other : wanted);
  }

  #focus(name) {
    this.root.querySelector(`[data-focus="${name}"]`).focus();
  }

  #rearranged(part, message) {
    if (part === "questions") {
      withoutLostQuestions(this.draft);
      for (const other of Object.keys(PARTS)) this.#fillPart(other);
    } else {
      this.#fillPart(part);
    }
    this.told.textContent = message;
    this.#touched();
  }

  #touched() {
    this.#remark();
    this.onChange();
  }

  #remark() {
    fill(this.remarks, remarks(this.draft, this.endpoints.length > 0).map((sentence) => foreign(sentence, "li")));
  }
}
