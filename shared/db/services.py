"""What became of the last call at each search provider and reranker, over Postgres."""

from collections.abc import Mapping

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert

from shared.db.engine import Transactions
from shared.db.tables import ServiceRow
from shared.ports.services import ServiceState


class PostgresServiceStates:
    """See `shared.ports.services.ServiceStates`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def note(self, name: str, failure: str | None) -> None:
        """Take that a service was asked now."""
        values = {"failure": failure, "asked_at": func.clock_timestamp()}
        row = insert(ServiceRow).values(name=name, **values)
        noted = row.on_conflict_do_update(index_elements=["name"], set_=values)
        self._transactions.run(lambda session: session.execute(noted))

    def all(self) -> Mapping[str, ServiceState]:
        """Return the services that were ever asked, by name."""
        rows = self._transactions.run(lambda session: list(session.scalars(select(ServiceRow))))
        return {row.name: ServiceState(row.asked_at, row.failure) for row in rows}
