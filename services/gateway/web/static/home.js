/** The page of runs: the form for a new one, and what the listed ones are doing. */

import { call, freshKey, Problem } from "./api.js";
import { byId, fill, make, say } from "./dom.js";
import { count, span, words, FINAL } from "./format.js";
import { Library } from "./library.js";
import { Uploader } from "./uploads.js";

const LOOK_EVERY_MS = 4000;

const form = byId("new-run");
const library = new Library();
const uploader = new Uploader(form.querySelector(".uploader"), (documents) => {
  form.elements.documents.value = "chosen";
  library.add(documents);
  showSources();
});
/** The body that was sent last and its key: the same question sent again after a failure makes no second run. */
let sent = { body: null, key: null };

function lines(name) {
  return form.elements[name].value.split("\n").map((line) => line.trim()).filter(Boolean);
}

/** Return the field's text, undefined when it is empty, so that it is left out. */
function value(name) {
  return form.elements[name].value.trim() || undefined;
}

function sourcePolicy() {
  const documents = form.elements.documents.value;
  const mode = value("web_mode");
  const domains = mode === "only_domains" || mode === "prefer_domains" ? lines("domains") : [];
  return {
    documents_all: documents === "all",
    document_ids: documents === "chosen" ? [...library.chosen] : [],
    web: { mode, domains, excluded_domains: lines("excluded_domains") },
    published: { from: value("published_from"), to: value("published_to") },
    urls: lines("urls"),
  };
}

function request() {
  return {
    objective: form.elements.objective.value.trim(),
    depth: form.elements.depth.value,
    engine: form.elements.engine.value,
    as_of: value("as_of"),
    auto_approve: form.elements.auto_approve.checked,
    source_policy: sourcePolicy(),
  };
}

/** Where the form shows what the API calls by these names. */
const FIELDS = {
  objective: "objective",
  as_of: "as-of",
  engine: "engine",
  "source_policy.urls": "urls",
  "source_policy.web.mode": "web-mode",
  "source_policy.web.domains": "domains",
  "source_policy.web.excluded_domains": "excluded-domains",
  "source_policy.published.from": "published-from",
  "source_policy.published.to": "published-to",
};

function fieldOf(name) {
  const known = Object.keys(FIELDS).find((field) => name === field || name?.startsWith(`${field}.`));
  return known === undefined ? null : byId(FIELDS[known]);
}

function complain(message, fieldName) {
  const box = byId("new-run-problem");
  say(box, message);
  const field = fieldOf(fieldName);
  if (field === null) {
    box.focus();
    return;
  }
  field.closest("details")?.setAttribute("open", "");
  field.setAttribute("aria-invalid", "true");
  field.focus();
}

function fault(body) {
  if (body.objective === "") return ["Write what is to be found out.", "objective"];
  if (uploader.busy) return ["Wait until the files have been read.", null];
  if (form.elements.documents.value === "chosen" && body.source_policy.document_ids.length === 0) {
    return ["Choose at least one document, or another source.", null];
  }
  return null;
}

async function start() {
  for (const field of form.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  say(byId("new-run-problem"), null);
  const body = request();
  const wrong = fault(body);
  if (wrong !== null) {
    complain(...wrong);
    return;
  }
  const text = JSON.stringify(body);
  if (sent.body !== text) sent = { body: text, key: freshKey() };
  byId("start").disabled = true;
  byId("start-state").textContent = "Starting …";
  try {
    const run = await call("POST", "/research-runs", body, { "Idempotency-Key": sent.key });
    location.assign(`/runs/${run.run_id}`);
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    byId("start").disabled = false;
    byId("start-state").textContent = "";
    complain(problem.message, problem.field);
  }
}

/** Show the parts of the form that the choices made so far ask for. */
function showSources() {
  const choosing = form.elements.documents.value === "chosen";
  byId("library").hidden = !choosing;
  if (choosing && !library.loaded) library.load().catch((problem) => complain(problem.message, null));
  byId("web-domains").hidden = !["only_domains", "prefer_domains"].includes(form.elements.web_mode.value);
}

/** Look after the runs of the list that have not ended. */
async function refreshRuns() {
  const open = [...document.querySelectorAll("[data-run]:not([data-final])")];
  if (document.hidden || open.length === 0) return;
  await Promise.all(
    open.map(async (card) => {
      const run = await call("GET", `/research-runs/${card.dataset.run}`);
      const { usage } = run;
      fill(card.querySelector("[data-badge]"), make("span", { class: `badge ${run.status}` }, words(run.status)));
      const parts = [count(usage.iterations, "iteration"), count(usage.fetches, "fetch", "fetches"), span(usage.elapsed_s)];
      card.querySelector("[data-usage]").textContent = parts.join(", ");
      if (FINAL.has(run.status)) card.dataset.final = "";
    }),
  );
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  start();
});
form.addEventListener("change", showSources);
form.elements.objective.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) start();
});
// The button is off until now, so that a question is never sent as a plain form; going back finds it off again.
window.addEventListener("pageshow", () => {
  byId("start").disabled = false;
  byId("start-state").textContent = "";
  showSources();
});
setInterval(() => refreshRuns().catch((problem) => console.info(problem.message)), LOOK_EVERY_MS);
