"""Pure rules of the planner: what may be searched next, which sources are copies, which evidence does not agree."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shared.contracts.evidence import Source
from shared.contracts.plan import Endpoint
from shared.contracts.runs import SourcePolicy
from shared.domain.dedupe import Signature, clusters
from shared.domain.questions import fingerprint, holds_address, is_repeat

MAX_ACTIONS = 3
"""Actions that one decision may take."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A search that an engine proposes, and why."""

    query: str
    question_ids: tuple[str, ...]
    reason: str
    endpoint: str = "documents"


@dataclass(frozen=True, slots=True)
class Rejected:
    """A proposal that was not followed, and the rule that says so."""

    query: str
    rule: str


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of an engine's proposals."""

    accepted: tuple[Proposal, ...]
    rejected: tuple[Rejected, ...]


def endpoints_of(policy: SourcePolicy) -> tuple[Endpoint, ...]:
    """Return where a run with this policy may search: nowhere when it reads given addresses alone."""
    return policy.endpoints


def spread(proposals: Iterable[Proposal], endpoints: Sequence[str]) -> tuple[Proposal, ...]:
    """Return each proposal once for every place where the run may search."""
    return tuple(replace(proposal, endpoint=endpoint) for proposal in proposals for endpoint in endpoints)


def judge_proposals(
    proposals: Iterable[Proposal], question_ids: frozenset[str], earlier: Sequence[str], searches_left: int
) -> Judged:
    """Accept at most three proposals that name known questions, are affordable and repeat no earlier query.

    The same query may be asked in two places at once.
    """
    before = [fingerprint(query) for query in earlier]
    asked: dict[str, list[frozenset[str]]] = {}
    accepted: list[Proposal] = []
    rejected: list[Rejected] = []
    for proposal in proposals:
        rule = None
        if not set(proposal.question_ids) <= question_ids:
            rule = "unknown_question"
        elif holds_address(proposal.query):
            rule = "holds_an_address"
        elif is_repeat(proposal.query, before + asked.get(proposal.endpoint, [])):
            rule = "repeats_a_query"
        elif len(accepted) >= min(MAX_ACTIONS, searches_left):
            rule = "not_affordable_now"
        if rule is not None:
            rejected.append(Rejected(proposal.query, rule))
            continue
        asked.setdefault(proposal.endpoint, []).append(fingerprint(proposal.query))
        accepted.append(proposal)
    return Judged(tuple(accepted), tuple(rejected))


def action_of(proposal: Proposal, results: int) -> dict[str, Any]:
    """Return the action as a decision's result holds it."""
    return {
        "action": "search",
        "query": proposal.query,
        "question_ids": list(proposal.question_ids),
        "endpoint": proposal.endpoint,
        "results": results,
        "reason": proposal.reason,
    }


def independence(sources: Sequence[Source], signatures: Mapping[str, Signature]) -> tuple[Source, ...]:
    """Return the sources whose independence cluster changed: copies of one text share a cluster.

    ``signatures`` maps snapshot sha256 to its sketch. Sources of one publisher or site join later, when the report is
    outlined: until then two of them that do not agree are still two sides of a contradiction.
    """
    known = {
        s.source_id: signatures[s.snapshot_sha256]
        for s in sources
        if s.snapshot_sha256 and s.snapshot_sha256 in signatures
    }
    cluster = clusters(known)
    return tuple(
        s.model_copy(update={"independence_cluster": cluster[s.source_id]})
        for s in sources
        if s.source_id in cluster and s.independence_cluster != cluster[s.source_id]
    )
