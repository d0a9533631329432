"""Creating runs: idempotency keys, one open run per session, sources that exist."""

from dataclasses import asdict, dataclass, replace

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from shared.contracts.candidates import page_candidate
from shared.contracts.runs import CreateRun, SourcePolicy
from shared.db.engine import Transactions, new_id
from shared.db.ledger import database_now
from shared.db.outbox import Outbox
from shared.db.progress import progress
from shared.db.recording import record_found
from shared.db.run_controls import OPEN_SESSION_INDEX, owned
from shared.db.tables import DocumentRow, IdempotencyRow, RequestRow, RunRow
from shared.domain.budget import limits_for
from shared.domain.errors import Conflict, Invalid, KeyReused
from shared.domain.ids import OwnerId, RunId, sha256_hex
from shared.domain.selection import GIVEN
from shared.domain.states import RunKind, RunStatus
from shared.domain.urls import parse_url
from shared.ports.ledger import Committed, FoundSource


@dataclass(frozen=True, slots=True)
class _NewRun:
    run_id: RunId
    owner_id: OwnerId
    request: CreateRun
    engine: str
    key_sha256: str | None
    body_sha256: str


class PostgresRunCreation:
    """The part of `shared.ports.gateway.Controls` that makes runs."""

    _transactions: Transactions
    _web_search: bool
    _straggler_wait_s: int | None

    def create_run(
        self, owner_id: OwnerId, request: CreateRun, key: str | None, engine: str
    ) -> tuple[RunId, Committed]:
        """Create a run, or return the one that this idempotency key made."""
        limits = limits_for(request.depth, {k: v for k, v in request.budget.model_dump().items() if v is not None})
        if self._straggler_wait_s is not None:
            limits = replace(limits, straggler_wait_s=self._straggler_wait_s)
        key_sha256 = sha256_hex(key.encode()) if key is not None else None
        body_sha256 = sha256_hex(request.model_dump_json().encode())
        request = request.model_copy(update={"source_policy": request.source_policy.settled()})
        new = _NewRun(RunId(new_id("run")), owner_id, request, engine, key_sha256, body_sha256)

        def work(session: Session) -> tuple[RunId, Committed]:
            known = _known_run(session, new)
            if known is not None:
                return known, Committed()
            _check_sources(session, owner_id, request.source_policy, self._web_search)
            run = _insert_run(session, new)
            session.add(RequestRow(run_id=run.id, body=request.model_dump(mode="json"), limits=asdict(limits)))
            session.flush()
            outbox = Outbox(session, run, database_now(session))
            outbox.event("run_created", kind=RunKind.RESEARCH, depth=request.depth, engine=engine)
            record_found(session, run, _given(new), outbox)
            progress(session, run, outbox)
            return new.run_id, outbox.committed()

        try:
            return self._transactions.run(work)
        except IntegrityError as error:
            if OPEN_SESSION_INDEX in str(error.orig):
                raise Conflict(
                    f"The session {request.session_id} has an open run: wait until it ends, or cancel it.",
                    field="session_id",
                ) from error
            return self._transactions.run(work)  # another request with this key won the race: find its run


def _known_run(session: Session, new: _NewRun) -> RunId | None:
    """Return the run that this request made before: under its key, or in a commit whose answer was lost."""
    if owned(session, new.owner_id, new.run_id) is not None:
        return new.run_id
    if new.key_sha256 is None:
        return None
    row = session.get(IdempotencyRow, (new.owner_id, new.key_sha256))
    if row is None:
        return None
    if row.body_sha256 != new.body_sha256:
        raise KeyReused
    return RunId(row.run_id)


def _insert_run(session: Session, new: _NewRun) -> RunRow:
    run = RunRow(
        id=new.run_id,
        owner_id=new.owner_id,
        kind=RunKind.RESEARCH,
        status=RunStatus.CREATED,
        session_id=new.request.session_id,
        engine=new.engine,
        auto_approve=new.request.auto_approve,
    )
    session.add(run)
    session.flush()
    if new.key_sha256 is not None:
        session.add(
            IdempotencyRow(
                owner_id=new.owner_id, key_sha256=new.key_sha256, body_sha256=new.body_sha256, run_id=new.run_id
            )
        )
        session.flush()
    return run


def _given(new: _NewRun) -> tuple[FoundSource, ...]:
    """Return the addresses that came with the request as candidates, in their order."""
    pages = [page_candidate(new.run_id, parse_url(url)) for url in new.request.source_policy.urls]
    return tuple(FoundSource(page, GIVEN, rank) for rank, page in enumerate(pages))


def _check_sources(session: Session, owner_id: OwnerId, policy: SourcePolicy, web_search: bool) -> None:
    """Raise `Invalid` unless every source that the policy names can be used and there is at least one."""
    _check_web(policy, web_search)
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
    "configured (SEARXNG_URL)."
)


def _check_web(policy: SourcePolicy, web_search: bool) -> None:
    if policy.web_mode != "none" and not web_search:
        alone = not policy.uses_documents and not policy.urls
        asked = "The web cannot be searched: no search provider is configured (set SEARXNG_URL)."
        raise Invalid(_NO_SOURCES if alone else asked, field="source_policy" if alone else "source_policy.web.mode")
    if policy.web_mode in ("only_domains", "prefer_domains") and not policy.web.domains:
        raise Invalid(f"The mode {policy.web_mode} needs domains.", field="source_policy.web.domains")
    for url in policy.urls:
        host = parse_url(url).host
        if not policy.allows_host(host, given=host):
            raise Invalid(f"{url} lies on a domain that the policy excludes.", field="source_policy.urls")
