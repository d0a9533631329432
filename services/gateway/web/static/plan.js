/** Plans as values: what changed between two, and how two changes of one plan go together. Nothing here draws. */

export const MOST = { questions: 7, search_tasks: 7, writing_plan: 20 };
export const PARTS = ["questions", "search_tasks", "writing_plan"];
const NAMES = { questions: "Question", search_tasks: "Search", writing_plan: "Section" };
const SCALARS = { title: "Title", objective: "Objective" };

export function copyOf(plan) {
  return structuredClone(plan);
}

export function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Return the next free id, such as "q4". */
export function nextId(items, prefix) {
  return `${prefix}${Math.max(0, ...items.map((item) => Number(item.id.slice(1)))) + 1}`;
}

export function newQuestion(plan) {
  return { id: nextId(plan.questions, "q"), text: "", priority: "required", rationale: "", preferred_source_classes: [], needs_primary_source: false };
}

export function newSearch(plan, endpoints) {
  const endpoint = plan.search_tasks.at(-1)?.endpoint ?? endpoints[0];
  return { question_ids: plan.questions.slice(0, 1).map((question) => question.id), query: "", endpoint, result_count: 10 };
}

export function newSection(plan) {
  return { id: nextId(plan.writing_plan, "s"), title: "", question_ids: [], guidance: "" };
}

/** Take out references to questions that the plan does not hold. */
export function withoutLostQuestions(plan) {
  const ids = new Set(plan.questions.map((question) => question.id));
  for (const item of [...plan.search_tasks, ...plan.writing_plan]) {
    item.question_ids = item.question_ids.filter((id) => ids.has(id));
  }
  return plan;
}

/** Return what would be refused, as [path, sentence]; the path is that of the API. */
export function faults(plan) {
  const found = [];
  if (plan.title.trim() === "") found.push(["title", "The plan needs a title."]);
  if (plan.objective.trim() === "") found.push(["objective", "The plan needs an objective."]);
  for (const part of PARTS) {
    // A run that reads given addresses alone searches nowhere; the server knows which that is.
    if (plan[part].length === 0 && part !== "search_tasks") found.push([part, `The plan needs at least one ${NAMES[part].toLowerCase()}.`]);
    plan[part].forEach((item, index) => found.push(...faultsOf(part, item, index)));
  }
  return found;
}

function faultsOf(part, item, index) {
  const field = { questions: "text", search_tasks: "query", writing_plan: "title" }[part];
  const name = `${NAMES[part]} ${index + 1}`;
  const found = [];
  if (item[field].trim() === "") found.push([`${part}.${index}.${field}`, `${name} is empty: fill it in, or remove it.`]);
  if (part === "search_tasks" && item.question_ids.length === 0) {
    found.push([`${part}.${index}.question_ids`, `${name} belongs to no question: choose at least one, or remove it.`]);
  }
  return found;
}

/** Return what is odd but allowed, as sentences; a run may plan no search at all. */
export function remarks(plan, searches = true) {
  const searched = new Set(plan.search_tasks.flatMap((task) => task.question_ids));
  const written = new Set(plan.writing_plan.flatMap((section) => section.question_ids));
  return plan.questions.flatMap(({ id }) => [
    ...(searched.has(id) || !searches ? [] : [`No search is planned for ${id.toUpperCase()}.`]),
    ...(written.has(id) ? [] : [`No section answers ${id.toUpperCase()}.`]),
  ]);
}

function keyOf(part, item) {
  return part === "search_tasks" ? item.query : item.id;
}

function labelOf(part, item) {
  return part === "search_tasks" ? item.query : item.text ?? item.title;
}

/** Return what changed from one plan to another, as {what, before, after}; one of the two is null where nothing was. */
export function differences(before, after) {
  const found = [];
  for (const [field, name] of Object.entries(SCALARS)) {
    if (before[field] !== after[field]) found.push({ what: name, before: before[field], after: after[field] });
  }
  for (const part of PARTS) found.push(...differencesIn(part, before[part], after[part]));
  return found;
}

function differencesIn(part, before, after) {
  const old = new Map(before.map((item) => [keyOf(part, item), item]));
  const fresh = new Map(after.map((item) => [keyOf(part, item), item]));
  const found = [];
  for (const [key, item] of old) {
    if (!fresh.has(key)) found.push({ what: `${NAMES[part]} removed`, before: labelOf(part, item), after: null });
  }
  for (const [key, item] of fresh) {
    const was = old.get(key);
    if (was === undefined) found.push({ what: `${NAMES[part]} added`, before: null, after: labelOf(part, item) });
    else if (!same(was, item)) found.push(changed(part, was, item));
  }
  const kept = (items) => items.map((item) => keyOf(part, item)).filter((key) => old.has(key) && fresh.has(key));
  if (!same(kept(before), kept(after))) found.push({ what: `${NAMES[part]}s in another order`, before: null, after: null });
  return found;
}

function changed(part, was, item) {
  const [before, after] = [labelOf(part, was), labelOf(part, item)];
  if (before !== after) return { what: `${NAMES[part]} changed`, before, after };
  return { what: `${NAMES[part]} changed`, before: details(was), after: details(item) };
}

/** Return an item as one line, for changes that its text does not show. */
function details(item) {
  return Object.entries(item)
    .filter(([, value]) => value !== "" && !(Array.isArray(value) && value.length === 0))
    .map(([name, value]) => `${name.replaceAll("_", " ")}: ${value}`)
    .join(", ");
}

/**
 * Put my changes of a plan on top of those that somebody else made of the same one. A part that I changed is mine as a
 * whole, every other part is theirs.
 */
export function merged(base, mine, theirs) {
  const result = copyOf(theirs);
  for (const part of [...Object.keys(SCALARS), ...PARTS]) {
    if (!same(base[part], mine[part])) result[part] = copyOf(mine[part]);
  }
  return withoutLostQuestions(result);
}
