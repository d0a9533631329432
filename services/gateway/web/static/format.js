/** Values as people read them. */

const NUMBER = new Intl.NumberFormat("en");
const DATE_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

export const FINAL = new Set(["completed", "cancelled", "failed", "budget_exhausted"]);

const LIMITS = {
  iterations: "Iterations",
  searches: "Searches",
  fetches: "Sources fetched",
  elapsed_s: "Time",
  model_calls: "Model calls",
  verification_calls: "Verification calls",
  input_tokens: "Input tokens",
  output_tokens: "Output tokens",
  cost_usd: "Cost",
  parallel_reads: "Reads at once",
  parallel_searches: "Searches at once",
  source_chars: "Characters read of a source",
  run_chars: "Characters read in all",
};

const REASONS = {
  finished: "Every required question has evidence.",
  no_new_information: "Further research brought nothing new.",
  only_duplicates: "Only what had been done already was left to do.",
  provider_failures: "Search or model failed too often.",
  no_evidence: "Nothing was found that passed the check.",
  cancelled: "It was cancelled.",
};

/** "budget_exhausted" as "Budget exhausted". */
export function words(name) {
  const text = String(name).replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function number(value) {
  return NUMBER.format(value);
}

/** "1 source", "2 sources". */
export function count(value, one, many = `${one}s`) {
  return `${number(value)} ${value === 1 ? one : many}`;
}

/** Bytes in powers of ten. */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} kB`;
  return `${(bytes / 1_000_000).toFixed(1).replace(/\.0$/, "")} MB`;
}

/** Seconds as "45 s", "3 min 20 s", "1 h 5 min". */
export function span(seconds) {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return whole % 60 === 0 ? `${whole / 60} min` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

export function dateTime(text) {
  return DATE_TIME.format(new Date(text));
}

export function clock(text) {
  return CLOCK.format(new Date(text));
}

export function percent(rate) {
  return `${(rate * 100).toFixed(1).replace(/\.0$/, "")} %`;
}

export function limitName(name) {
  return LIMITS[name] ?? words(name);
}

export function limitValue(name, value) {
  if (name === "cost_usd") return `$${value.toFixed(value < 0.1 ? 4 : 2)}`;
  return name === "elapsed_s" ? span(value) : number(value);
}

/** Why a run stopped, as a sentence. */
export function reason(stop) {
  if (stop === null || stop === undefined) return null;
  if (stop.startsWith("budget:")) return `The limit was reached: ${limitName(stop.slice(7)).toLowerCase()}.`;
  if (stop.startsWith("failed:")) return `It failed: ${words(stop.slice(7)).toLowerCase()}.`;
  return REASONS[stop] ?? `${words(stop)}.`;
}

/** Where in its source an excerpt stands, in words; null where nothing is known. */
export function where(locator) {
  if (locator.page !== null && locator.page !== undefined) return `page ${locator.page}`;
  const part = locator.part_kind && `${locator.part_kind} ${locator.part ? `“${locator.part}”` : locator.part_number}`;
  const named = [part, locator.cells && `cells ${locator.cells}`].filter(Boolean).join(", ");
  return named || (locator.heading ? `section “${locator.heading}”` : null);
}

/** Put the times that the server wrote in UTC into the reader's own time zone. */
export function localizeTimes(root) {
  for (const node of root.querySelectorAll("time[datetime]")) {
    node.title = node.textContent;
    node.textContent = dateTime(node.dateTime);
  }
}
