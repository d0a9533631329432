"""What a person may do to runs and documents; each call is one transaction."""

from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from shared.db.document_controls import PostgresDocumentControls
from shared.db.engine import Transactions
from shared.db.recheck_controls import PostgresRecheckControls
from shared.db.run_controls import PostgresRunControls
from shared.db.run_creation import PostgresRunCreation
from shared.db.tables import OwnerRow
from shared.domain.ids import OwnerId


class PostgresControls(PostgresRunCreation, PostgresRunControls, PostgresRecheckControls, PostgresDocumentControls):
    """See `shared.ports.gateway.Controls`."""

    def __init__(
        self,
        transactions: Transactions,
        *,
        web_search: bool = False,
        max_running_runs: int = 4,
        straggler_wait_s: int | None = None,
    ) -> None:
        """Take ``web_search`` as whether a provider for searches is configured, the wait as that of every new run."""
        self._transactions, self._web_search, self._straggler_wait_s = transactions, web_search, straggler_wait_s
        self._max_running_runs = max_running_runs


def ensure_owner(session: Session, owner_id: OwnerId) -> None:
    """Insert the owner unless it exists."""
    session.execute(insert(OwnerRow).values(id=owner_id).on_conflict_do_nothing())
