"""How a run without a plan begins: one that takes documents in, or checks a report again."""

from dataclasses import asdict

from sqlalchemy.orm import Session

from shared.contracts.runs import CreateRun
from shared.db.ledger import database_now
from shared.db.outbox import Outbox
from shared.db.tables import RequestRow, RunRow
from shared.domain.budget import TIERS, Depth


def begin_unplanned(session: Session, run: RunRow, objective: str) -> Outbox:
    """Insert the run and what it is for, and say so; its steps are the caller's to insert."""
    session.add(run)
    session.flush()
    body = CreateRun(objective=objective, depth=Depth.QUICK).model_dump(mode="json")
    session.add(RequestRow(run_id=run.id, body=body, limits=asdict(TIERS[Depth.QUICK])))
    session.flush()
    outbox = Outbox(session, run, database_now(session))
    outbox.event("run_created", kind=run.kind, depth=None, engine=None)
    return outbox
