"""Creating runs: idempotency keys, one open run per session, sources that exist."""

from dataclasses import asdict, dataclass, replace

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from shared.contracts.runs import CreateRun
from shared.db.engine import Transactions, new_id
from shared.db.ledger import database_now
from shared.db.outbox import Outbox
from shared.db.progress import progress
from shared.db.recording import record_found
from shared.db.run_controls import OPEN_SESSION_INDEX, owned
from shared.db.source_policies import check_sources, given_pages
from shared.db.tables import IdempotencyRow, RequestRow, RunRow
from shared.domain.budget import limits_for
from shared.domain.errors import Conflict, KeyReused
from shared.domain.ids import OwnerId, RunId, sha256_hex
from shared.domain.states import RunKind, RunStatus
from shared.ports.ledger import Committed


@dataclass(frozen=True, slots=True)
class _NewRun:
    run_id: RunId
    owner_id: OwnerId
    request: CreateRun
    engine: str
    key_sha256: str | None
    body_sha256: str
    key_id: str | None


class PostgresRunCreation:
    """The part of `shared.ports.gateway.Controls` that makes runs."""

    _transactions: Transactions
    _web_search: bool
    _straggler_wait_s: int | None

    def create_run(
        self, owner_id: OwnerId, request: CreateRun, key: str | None, engine: str, key_id: str | None = None
    ) -> tuple[RunId, Committed]:
        """Create a run, or return the one that this idempotency key made."""
        limits = limits_for(request.depth, {k: v for k, v in request.budget.model_dump().items() if v is not None})
        if self._straggler_wait_s is not None:
            limits = replace(limits, straggler_wait_s=self._straggler_wait_s)
        key_sha256 = sha256_hex(key.encode()) if key is not None else None
        body_sha256 = sha256_hex(request.model_dump_json().encode())
        request = request.model_copy(update={"source_policy": request.source_policy.settled()})
        new = _NewRun(RunId(new_id("run")), owner_id, request, engine, key_sha256, body_sha256, key_id)

        def work(session: Session) -> tuple[RunId, Committed]:
            known = _known_run(session, new)
            if known is not None:
                return known, Committed()
            check_sources(session, owner_id, request.source_policy, engine, self._web_search)
            run = _insert_run(session, new)
            session.add(RequestRow(run_id=run.id, body=request.model_dump(mode="json"), limits=asdict(limits)))
            session.flush()
            outbox = Outbox(session, run, database_now(session))
            outbox.event("run_created", kind=RunKind.RESEARCH, depth=request.depth, engine=engine)
            record_found(session, run, given_pages(new.run_id, request.source_policy), outbox)
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
        key_id=new.key_id,
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
