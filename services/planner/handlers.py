"""What the planner does with a step: plan, decide."""

from dataclasses import dataclass

from services.planner.contradictions import find_contradictions
from services.planner.engines import PlannerEngine, engine_of
from services.planner.engines.brief import Brief
from services.planner.engines.extractive import RESULTS
from services.planner.rules import action_of, independence, judge_proposals
from shared.contracts.evidence import Contradiction, Source
from shared.domain.errors import Permanent
from shared.ports.ledger import Lease, Outcome
from shared.ports.materials import Materials, Snapshots


@dataclass(frozen=True, slots=True)
class Deps:
    """What the planner's handlers are given."""

    materials: Materials
    snapshots: Snapshots
    engines: dict[str, PlannerEngine]


def plan(deps: Deps, lease: Lease) -> Outcome:
    """Propose a plan for the run's request."""
    facts = deps.materials.facts(lease.run_id)
    made = engine_of(deps.engines, facts.engine).plan(facts)
    count = len(made.questions)
    return Outcome(summary=f"Planned {count} question{'s' * (count != 1)}.", plan=made)


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
    brief = Brief(facts.plan, view.knowledge.covered, evidence, waiting, queries)
    proposals = engine_of(deps.engines, facts.engine).decide(brief)
    ids = frozenset(q.id for q in facts.plan.questions)
    judged = judge_proposals(proposals, ids, queries, view.limits.searches - view.usage.searches)
    actions = [action_of(p, "documents", RESULTS) for p in judged.accepted]
    return Outcome(
        summary=_summary(len(actions), contradictions),
        result={"actions": actions, "rejected": [{"query": r.query, "rule": r.rule} for r in judged.rejected]},
        sources=moved,
        contradictions=_settled(contradictions, waiting, bool(actions)),
    )


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
