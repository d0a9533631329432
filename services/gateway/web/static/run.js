/** The page of a run: keeps what is shown in step with what happens. */

import { Actions } from "./actions.js";
import { call, Problem } from "./api.js";
import { BudgetBars } from "./budget.js";
import { byId, fill, make, say, throttled } from "./dom.js";
import { count, dateTime, FINAL, number, reason, words } from "./format.js";
import { Panel } from "./panel.js";
import { PlanPanel } from "./plan-panel.js";
import { ReportView } from "./report.js";
import { Sources } from "./sources.js";
import { Follower } from "./stream.js";
import { told, Timeline } from "./timeline.js";

const RUN_EVERY_MS = 500;
const SOURCES_EVERY_MS = 2000;
const CLOCK_EVERY_MS = 5000;
const STREAM_STATES = { live: "Live", polling: "Every 2 s", lost: "Connecting …", ended: "" };
const ACTIVE = new Set(["created", "planning", "queued", "researching", "synthesizing"]);
const TOUCHES_SOURCES = new Set(["source_updated", "evidence_added", "report_ready", "status_changed"]);

const { run: runId, endpoints } = byId("run").dataset;
const base = `/research-runs/${runId}`;

const context = {
  runId,
  endpoints: endpoints.split(" ").filter(Boolean),
  run: null,
  show,
  refresh: () => refresh().catch(quietly),
  /** Say what was refused; null takes it back. */
  complain(problem, action) {
    say(byId("run-problem"), null);
    if (problem === null) return;
    const stale = problem.isStale && action === "approve_plan";
    say(byId("run-problem"), stale ? `${problem.message} What is shown below is the newest version.` : problem.message);
    byId("run-problem").focus();
  },
  /** Look after the run no more, for it is about to be gone; or do so again. */
  leave(whether) {
    leaving = whether;
  },
  /** Save what is unsaved in the plan, so that what is approved is what is seen. */
  beforeApproval: () => plan.save(),
};

const panel = new Panel(runId);
const plan = new PlanPanel(context);
const actions = new Actions(byId("actions"), context);
const bars = new BudgetBars(byId("budget"));
const timeline = new Timeline();
const sources = new Sources((sourceId, opener) => panel.open(sourceId, { opener }));
const report = new ReportView(runId, (sourceId, options) => panel.open(sourceId, options));
let shownReport = 0;
let caughtUp = false;
/** Whether something happened while the page was open; only then is it worth a word. */
let witnessed = false;
let leaving = false;

const follower = new Follower(runId, {
  onEvent(event) {
    timeline.add(event);
    if (!caughtUp) return;
    witnessed = true;
    const { text, minor } = told(event);
    if (!minor) byId("now").textContent = text;
    refreshSoon();
    if (TOUCHES_SOURCES.has(event.type)) sourcesSoon();
  },
  onState(state) {
    byId("stream-state").textContent = STREAM_STATES[state];
    byId("run").dataset.stream = state;
    if (state === "ended") {
      refreshSoon();
      sourcesSoon();
    }
  },
});

/** Show a run object, unless a newer one is shown already. */
function show(run) {
  if (context.run !== null && run.last_seq < context.run.last_seq) return;
  const reopened = context.run !== null && FINAL.has(context.run.status) && !FINAL.has(run.status);
  context.run = run;
  byId("run").dataset.status = run.status;
  fill(byId("status"), make("span", { class: `badge ${run.status}` }, words(run.status)));
  document.title = `${words(run.status)} · ${run.objective.slice(0, 60)} · Leadline`;
  say(byId("why"), why(run));
  actions.update(run);
  plan.update(run);
  bars.update(run);
  showCounts(run);
  if (run.report_version > shownReport) loadReport(run.report_version).catch(quietly);
  if (reopened) follower.resume();
}

function why(run) {
  if (run.status === "awaiting_plan_approval") return "Read the plan below. Research begins once it is approved.";
  if (run.status === "queued") return "It starts as soon as there is room among the running ones.";
  return [reason(run.stop_reason), run.last_error].filter(Boolean).join(" ") || null;
}

/** A job at a provider: where it stands, and that it is being cancelled until the provider has confirmed it. */
function jobOf(job) {
  const open = job.state === "running" || job.state === "submitting";
  return `${job.provider}: ${job.state}${open && job.cancel_run_id ? ", being cancelled" : ""}`;
}

function showCounts(run) {
  const { counts, usage } = run;
  const rows = [
    ["Sources", number(counts.sources)],
    ["Evidence", number(counts.evidence)],
    ["Questions covered", `${number(counts.questions_covered)} of ${number(counts.questions_required)}`],
    ["Contradictions", number(counts.contradictions)],
    ["Retries", number(usage.retries)],
    ["Research job", run.provider_job && jobOf(run.provider_job)],
    ["Its name there", run.provider_job?.handle],
    ["Started", run.started_at && dateTime(run.started_at)],
    ["Ended", run.completed_at && dateTime(run.completed_at)],
    ["Cost", usage.cost_usd !== null && usage.cost_usd !== undefined && `$${usage.cost_usd.toFixed(2)}`],
  ].filter(([, value]) => value);
  fill(byId("counts"), rows.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

async function refresh() {
  show(await call("GET", base));
}

async function loadSources() {
  const [{ sources: rows }, { evidence }] = await Promise.all([call("GET", `${base}/sources`), call("GET", `${base}/evidence`)]);
  sources.update(rows, evidence);
}

async function loadReport(version) {
  shownReport = version;
  try {
    const [data, { evidence }] = await Promise.all([call("GET", `${base}/report`), call("GET", `${base}/evidence`)]);
    report.show(data, evidence, version);
    if (witnessed) byId("now").textContent = `The report is ready: ${count(data.citations.length, "citation")}.`;
  } catch (problem) {
    shownReport = version - 1;
    throw problem;
  }
}

/** Leave what went wrong in passing to the next look; what a person asked for is told where it was asked. */
function quietly(problem) {
  if (!(problem instanceof Problem)) throw problem;
  console.info(problem.message);
}

const refreshSoon = throttled(RUN_EVERY_MS, () => leaving || refresh().catch(quietly));
const sourcesSoon = throttled(SOURCES_EVERY_MS, () => leaving || loadSources().catch(quietly));

async function begin() {
  try {
    await Promise.all([refresh(), loadSources()]);
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    context.complain(problem);
  }
  await follower.start();
  caughtUp = true;
  setInterval(() => {
    if (!document.hidden && (context.run === null || ACTIVE.has(context.run.status))) refreshSoon();
  }, CLOCK_EVERY_MS);
}

begin();
