"""Source policies against what there is: documents of the owner, a web to search, addresses that may be read."""

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from shared.contracts.candidates import page_candidate
from shared.contracts.plan import Plan
from shared.contracts.runs import CreateRun, SourcePolicy
from shared.db.outbox import Outbox
from shared.db.recording import record_found
from shared.db.tables import CandidacyRow, DocumentRow, RequestRow, RunRow
from shared.domain.engines import is_managed
from shared.domain.errors import Invalid
from shared.domain.ids import OwnerId, RunId
from shared.domain.selection import GIVEN
from shared.domain.urls import parse_url
from shared.ports.ledger import FoundSource


def check_searches(plan: Plan, policy: SourcePolicy, engine: str) -> None:
    """Raise `Invalid` for a plan that searches where the policy forbids it, or nowhere although it may.

    Where a provider's own job searches, the plan makes none.
    """
    if is_managed(engine):
        if plan.search_tasks:
            detail = f"The engine {engine} searches by itself: leave the plan's searches out."
            raise Invalid(detail, field="plan.search_tasks")
        return
    wrong = next((t.endpoint for t in plan.search_tasks if not policy.allows_endpoint(t.endpoint)), None)
    if wrong is not None:
        raise Invalid(f"The run's source policy does not allow searches at {wrong}.", field="plan.search_tasks")
    if policy.endpoints and not plan.search_tasks:
        raise Invalid("The plan makes no search: give it one at least.", field="plan.search_tasks")


def load_policy(session: Session, run_id: str) -> SourcePolicy:
    """Return the policy of a run."""
    return _request(session, run_id).source_policy


def replace_policy(session: Session, run: RunRow, policy: SourcePolicy, outbox: Outbox) -> None:
    """Give a run that waits for approval another policy; addresses that it names no more are no candidates any more."""
    request = _request(session, run.id).model_copy(update={"source_policy": policy})
    session.execute(update(RequestRow).where(RequestRow.run_id == run.id).values(body=request.model_dump(mode="json")))
    session.execute(
        delete(CandidacyRow).where(
            CandidacyRow.run_id == run.id, CandidacyRow.epoch == run.epoch, CandidacyRow.search_key == GIVEN
        )
    )
    record_found(session, run, given_pages(RunId(run.id), policy), outbox)


def _request(session: Session, run_id: str) -> CreateRun:
    body = session.execute(select(RequestRow.body).where(RequestRow.run_id == run_id)).scalar_one()
    return CreateRun.model_validate(body)


def given_pages(run_id: RunId, policy: SourcePolicy) -> tuple[FoundSource, ...]:
    """Return the addresses that a policy names as candidates, in their order."""
    pages = [page_candidate(run_id, parse_url(url)) for url in policy.urls]
    return tuple(FoundSource(page, GIVEN, rank) for rank, page in enumerate(pages))


def check_sources(session: Session, owner_id: OwnerId, policy: SourcePolicy, engine: str, web_search: bool) -> None:
    """Raise `Invalid` unless every source that the policy names can be used and there is at least one."""
    if is_managed(engine):
        _check_managed(policy, engine)
    _check_web(policy, web_search or is_managed(engine))
    if policy.document_ids:
        known = set(
            session.scalars(
                select(DocumentRow.id).where(DocumentRow.owner_id == owner_id, DocumentRow.id.in_(policy.document_ids))
            )
        )
        missing = [i for i in policy.document_ids if i not in known]
        if missing:
            raise Invalid(f"There is no document {missing[0]}.", field="source_policy.document_ids")
    elif policy.documents_all:
        if session.scalar(select(DocumentRow.id).where(DocumentRow.owner_id == owner_id).limit(1)) is None:
            raise Invalid("There are no documents yet: upload some first.", field="source_policy.documents_all")
    elif policy.web_mode == "none" and not policy.urls:
        raise Invalid(_NO_SOURCES, field="source_policy")


_NO_SOURCES = (
    "The run has no sources: name documents (or set documents_all), give urls, or allow the web with a search provider "
    "configured (SEARXNG_URL, a key such as TAVILY_API_KEY, or LEADLINE_SEARCH=wikipedia)."
)


def _check_managed(policy: SourcePolicy, engine: str) -> None:
    """Raise `Invalid` for sources that a provider's own job cannot use: it searches the web and reads nothing else."""
    alone = f"The engine {engine} searches the web by itself"
    if policy.uses_documents:
        raise Invalid(f"{alone} and cannot read documents: leave them out.", field="source_policy.document_ids")
    if policy.urls:
        raise Invalid(f"{alone} and takes no addresses: leave them out.", field="source_policy.urls")
    if policy.web_mode == "none":
        raise Invalid(f"{alone}: allow the web.", field="source_policy.web.mode")


def _check_web(policy: SourcePolicy, web_search: bool) -> None:
    if policy.web_mode != "none" and not web_search:
        alone = not policy.uses_documents and not policy.urls
        asked = "The web cannot be searched: no search provider is configured (set SEARXNG_URL or another)."
        raise Invalid(_NO_SOURCES if alone else asked, field="source_policy" if alone else "source_policy.web.mode")
    if policy.web_mode in ("only_domains", "prefer_domains") and not policy.web.domains:
        raise Invalid(f"The mode {policy.web_mode} needs domains.", field="source_policy.web.domains")
    for url in policy.urls:
        host = parse_url(url).host
        if not policy.allows_host(host, given=host):
            raise Invalid(f"{url} lies on a domain that the policy excludes.", field="source_policy.urls")
