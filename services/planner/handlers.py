"""What the planner does with a step: plan, decide."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.planner import jobs
from services.planner.brief import NOTHING_COUNTED, Brief
from services.planner.contradictions import find_contradictions
from services.planner.engines import PlannerEngine, engine_of
from services.planner.engines.extractive import RESULTS
from services.planner.rules import Rejected, action_of, endpoints_of, independence, judge_proposals
from shared.contracts.evidence import Contradiction, Evidence, Source
from shared.domain.chains import all_names
from shared.domain.engines import NO_MODEL
from shared.domain.errors import Permanent
from shared.domain.passages import stats_of_texts
from shared.domain.rank import CorpusStats
from shared.domain.states import StepKind
from shared.domain.text import content_terms
from shared.domain.view import RunView
from shared.ports.ledger import Lease, Outcome
from shared.ports.managed import Managed
from shared.ports.materials import DocumentIndex, Materials, RunFacts, Snapshots, each_snapshot
from shared.ports.model import ModelOf


@dataclass(frozen=True, slots=True)
class Deps:
    """What the planner's handlers are given."""

    materials: Materials
    snapshots: Snapshots
    index: DocumentIndex
    model_of: ModelOf
    managed: Managed | None = None
    """What jobs at providers need; None where there are none."""


def managed(deps: Deps, lease: Lease) -> Outcome:
    """Have a provider's own job research, and take its report in sentences."""
    return jobs.research(_job_deps(deps), lease)


def cancel_job(deps: Deps, lease: Lease) -> Outcome:
    """Have a job at a provider ended that nobody waits for any more."""
    return jobs.cancel_job(_job_deps(deps), lease)


def _job_deps(deps: Deps) -> jobs.JobDeps:
    if deps.managed is None:
        raise Permanent("no_jobs", "This worker is not set up for research jobs at providers.")
    return jobs.JobDeps(deps.materials, deps.managed)


def plan(deps: Deps, lease: Lease) -> Outcome:
    """Propose a plan for the run's request."""
    facts = deps.materials.facts(lease.run_id)
    made = _engine(deps, lease, facts).plan(facts)
    count = len(made.questions)
    return Outcome(summary=f"Planned {count} question{'s' * (count != 1)}.", plan=made)


def revise_plan(deps: Deps, lease: Lease) -> Outcome:
    """Change the plan as a person asked for; it goes back to approval as a new version."""
    facts = deps.materials.facts(lease.run_id)
    revised = _engine(deps, lease, facts).revise(facts, str(lease.inputs["instruction"]))
    return Outcome(summary=f"Revised the plan: {len(revised.questions)} questions.", plan=revised)


def decide(deps: Deps, lease: Lease) -> Outcome:
    """Compare what was found, and propose what to search for next or to finish."""
    facts = deps.materials.facts(lease.run_id)
    if facts.plan is None:
        raise Permanent("no_plan", "The run has no plan to decide about.")
    view = deps.materials.view(lease.run_id)
    moved = _independence(deps, lease)
    sources = {s.source_id: s for s in deps.materials.sources(lease.run_id)} | {s.source_id: s for s in moved}
    evidence = tuple(e for e in deps.materials.evidence(lease.run_id) if e.in_scope)
    contradictions = find_contradictions(facts.plan, evidence, sources)
    followed = {c.claim_key for c in view.contradictions if c.followed_up}
    waiting = tuple(c for c in contradictions if c.claim_key not in followed)
    queries = deps.materials.queries(lease.run_id)
    left = view.limits.searches - view.usage.searches
    brief = Brief(
        plan=facts.plan,
        covered=view.knowledge.covered,
        evidence=evidence,
        contradictions=waiting,
        queries=queries,
        sources=sources,
        rejected=_rejected_before(view),
        endpoints=endpoints_of(facts.request.source_policy),
        searches_left=left,
        stats=_stats(deps, lease, facts, evidence),
        as_of=facts.request.as_of or facts.created_at.date().isoformat(),
    )
    proposals = _engine(deps, lease, facts).decide(brief) if brief.endpoints else ()
    judged = judge_proposals(proposals, frozenset(q.id for q in facts.plan.questions), queries, left)
    actions = [action_of(p, RESULTS) for p in judged.accepted]
    return Outcome(
        summary=_summary(len(actions), contradictions),
        result={"actions": actions, "rejected": [{"query": r.query, "rule": r.rule} for r in judged.rejected]},
        sources=moved,
        contradictions=_settled(contradictions, waiting, bool(actions)),
    )


def _stats(deps: Deps, lease: Lease, facts: RunFacts, evidence: Sequence[Evidence]) -> CorpusStats:
    """Count the terms of the questions and of the names in the evidence over the documents that the run may search.

    A run that searches no documents is counted over the texts that it has read. Where a model decides, nothing is.
    """
    if facts.engine not in NO_MODEL:
        return NOTHING_COUNTED
    if not facts.request.source_policy.uses_documents:
        sources = deps.materials.sources(lease.run_id)
        read = each_snapshot(deps.snapshots, lease.owner_id, (s.snapshot_sha256 for s in sources))
        return stats_of_texts(((s.text, s.segments) for s in read), facts.limits.source_chars)
    questions = facts.plan.questions if facts.plan is not None else ()
    texts = [*(q.text for q in questions), *(name for e in evidence for name in all_names(e.excerpt))]
    policy = facts.request.source_policy
    terms = {term for text in texts for term in content_terms(text)}
    return deps.index.stats(lease.owner_id, terms, None if policy.documents_all else policy.document_ids)


def _engine(deps: Deps, lease: Lease, facts: RunFacts) -> PlannerEngine:
    return engine_of(facts.engine, deps.model_of(lease))


def _rejected_before(view: RunView) -> tuple[Rejected, ...]:
    """Return the proposals of earlier decisions that were not followed, oldest first, each query once."""
    rows = [row for step in view.of_kind(StepKind.DECIDE) for row in step.result.get("rejected", ())]
    return tuple({row["query"]: Rejected(row["query"], row["rule"]) for row in rows}.values())


def _independence(deps: Deps, lease: Lease) -> tuple[Source, ...]:
    sources = [s for s in deps.materials.sources(lease.run_id) if s.snapshot_sha256 is not None]
    hashes = {s.snapshot_sha256 for s in sources if s.snapshot_sha256 is not None}
    snapshots = deps.snapshots.get_many(lease.owner_id, hashes)
    return independence(sources, {sha: snapshot.signature for sha, snapshot in snapshots.items()})


def _settled(
    found: tuple[Contradiction, ...], waiting: tuple[Contradiction, ...], searching: bool
) -> tuple[Contradiction, ...]:
    """Mark as followed up what an earlier search has looked into, or what no new search could."""
    keys = {c.claim_key for c in waiting} if searching else set()
    return tuple(c if c.claim_key in keys else c.model_copy(update={"followed_up": True}) for c in found)


def _summary(actions: int, contradictions: tuple[Contradiction, ...]) -> str:
    conflict = f" {len(contradictions)} contradiction(s) among the evidence." if contradictions else ""
    if not actions:
        return f"Nothing is left to search for.{conflict}"
    return f"{actions} more search{'es' * (actions != 1)} to make.{conflict}"
