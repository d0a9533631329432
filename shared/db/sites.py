"""Slots of sites and the cache of robots.txt over Postgres, on the database's clock, so that all workers agree.

A slot is held until its visitor releases it, or for a time that no fetch outlasts. It is free earlier when its holder
is known to be dead. That its step's lease has run out or has passed to another try is not enough: a worker that is
frozen past its lease still has its connection to the site. Its process must be gone too (see `shared.db.presence`), and
nothing else may have ended its session: with a restart of the server since, the slot is held for its full time. What a
dead holder may have sent, it sent by now at the latest, so the delay counts from now. A frozen holder keeps the slot
for its full time, and sends nothing after it: a fetch looks at its deadline, which is nearer, right before it sends.
"""

from datetime import datetime, timedelta

from sqlalchemy import delete, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from shared.db.engine import Transactions
from shared.db.ledger import database_now
from shared.db.presence import Presence
from shared.db.tables import RobotsRow, SiteRow, SiteWaitRow
from shared.domain.ids import sha256_hex
from shared.ports.sites import Busy, RobotsEntry, Taken, Visitor

PATIENCE_S = 1.5
"""A start that is no further off is waited for in place: a step that is put off comes back after a second at best."""

EARLY_S = 0.8
"""How long before its place a step comes back, at most: the way from the ledger to a worker takes a part of a second,
and a slot that is free is then waited for in place."""

SOONEST_S = 0.1
"""A step that is there before its place is not sent away for less than this."""

MARGIN_S = 0.02
"""Added to every delay, so that jitter on the way does not bring two requests closer together than the delay."""

LATE_S = 0.5
"""A step that is this late for its place in the line no longer keeps others from taking the slot."""

FORGOTTEN_S = 60.0
"""A place in the line that nobody came for is given up after this long."""


RESTART_S = PATIENCE_S + 0.5
"""A slot is taken so long before its start at the most: a server that started earlier has kept its holder's session."""

_IS_DEAD = text(
    "select not exists (select from steps where id = :step and lease_token = :token and status = 'running' "
    "and leased_until > clock_timestamp()) and pg_postmaster_start_time() < :since "
    "and pg_try_advisory_xact_lock_shared(:key)"
)


class PostgresSites:
    """See `shared.ports.sites.SiteSlots`. Without a ``presence`` the slots of a dead holder are held for their time."""

    def __init__(self, transactions: Transactions, presence: Presence | None = None) -> None:
        self._transactions, self._presence = transactions, presence

    def take(self, site: str, visitor: Visitor, *, delay_s: float, hold_s: float) -> Taken | Busy:
        """Take the slot when it is free soon enough and nobody is about to come for it; else line up for it."""
        holder = _spelt(visitor, self._presence.key() if self._presence is not None else None)

        def work(session: Session) -> Taken | Busy:
            row = _locked(session, site)
            now = database_now(session)
            if _is_holder(row, visitor) and row.held_since is not None:
                return Taken(max((row.held_since - now).total_seconds(), 0.0))  # the answer of an earlier try was lost
            if _is_held(row, now) and _is_dead(session, row):
                row.holder = row.held_since = row.held_until = None
                row.next_start = max(row.next_start, now + _seconds(delay_s))
            line = _line(session, site, now)
            mine = line.pop(visitor.step_id, None)
            start = max(now, row.next_start)
            soon = start - now <= timedelta(seconds=PATIENCE_S)
            expected = mine is not None or not _is_due(line, now, start + _seconds(delay_s))
            if soon and expected and not _is_held(row, now):
                _occupy(session, row, visitor, start, (delay_s, hold_s))
                row.holder = holder
                return Taken((start - now).total_seconds())
            if mine is None:
                mine = _place(row, line, now, max(delay_s, row.last_hold_s))
            elif mine <= now:  # its turn has come and the slot is not free: it is the next one
                mine = max(row.next_start, now + timedelta(seconds=SOONEST_S))
            _line_up(session, site, visitor.step_id, mine)
            return Busy(_back_in_s((mine - now).total_seconds(), delay_s))

        return self._transactions.run(work)

    def release(self, site: str, visitor: Visitor, *, delay_s: float, since_sent_s: float | None) -> None:
        """Free the slot, if it is still ours; the delay counts from the moment at which the request was sent."""

        def work(session: Session) -> None:
            row = _locked(session, site)
            if not _is_holder(row, visitor):
                return
            now = database_now(session)
            if row.held_since is not None:
                row.last_hold_s = max((now - row.held_since).total_seconds(), 0.0)
            if since_sent_s is not None:
                row.next_start = max(row.next_start, now - timedelta(seconds=since_sent_s) + _seconds(delay_s))
            row.holder = row.held_since = row.held_until = None

        self._transactions.run(work)

    def penalise(self, site: str, seconds: float) -> None:
        """Let nobody start at the site for so many seconds."""

        def work(session: Session) -> None:
            row = _locked(session, site)
            row.next_start = max(row.next_start, database_now(session) + timedelta(seconds=seconds))

        self._transactions.run(work)


def _locked(session: Session, site: str) -> SiteRow:
    session.execute(insert(SiteRow).values(key=site, last_hold_s=0.0).on_conflict_do_nothing())
    wanted = select(SiteRow).where(SiteRow.key == site).with_for_update()
    return session.execute(wanted.execution_options(populate_existing=True)).scalar_one()


def _line(session: Session, site: str, now: datetime) -> dict[str, datetime]:
    """Return who waits for the site and when each comes back, without those who never did."""
    forgotten = now - timedelta(seconds=FORGOTTEN_S)
    session.execute(delete(SiteWaitRow).where(SiteWaitRow.key == site, SiteWaitRow.at < forgotten))
    rows = session.execute(select(SiteWaitRow.step_id, SiteWaitRow.at).where(SiteWaitRow.key == site)).all()
    return dict(rows)


def _is_held(row: SiteRow, now: datetime) -> bool:
    return row.holder is not None and row.held_until is not None and row.held_until > now


def _spelt(visitor: Visitor, key: int | None) -> str:
    """Return how a holder is written down: the token, and what tells whether it is dead, where that can be told."""
    return visitor.token if key is None else f"{visitor.token} {visitor.step_id} {key}"


def _is_holder(row: SiteRow, visitor: Visitor) -> bool:
    return row.holder is not None and row.holder.partition(" ")[0] == visitor.token


def _is_dead(session: Session, row: SiteRow) -> bool:
    """Tell whether the holder's try is over and its process gone."""
    token, _, rest = (row.holder or "").partition(" ")
    step_id, _, key = rest.partition(" ")
    if not key or row.held_since is None:
        return False
    since = row.held_since - timedelta(seconds=RESTART_S)
    return bool(session.scalar(_IS_DEAD, {"step": step_id, "token": token, "since": since, "key": int(key)}))


def _is_due(line: dict[str, datetime], now: datetime, until: datetime) -> bool:
    """Tell whether somebody else in the line is to start before ``until``."""
    late = now - timedelta(seconds=LATE_S)
    return any(late < at < until for at in line.values())


def _occupy(session: Session, row: SiteRow, visitor: Visitor, start: datetime, seconds: tuple[float, float]) -> None:
    delay_s, hold_s = seconds
    row.held_since, row.held_until = start, start + timedelta(seconds=hold_s)
    row.next_start = start + _seconds(delay_s)
    session.execute(delete(SiteWaitRow).where(SiteWaitRow.key == row.key, SiteWaitRow.step_id == visitor.step_id))


def _place(row: SiteRow, line: dict[str, datetime], now: datetime, distance_s: float) -> datetime:
    """Return when the last in the line may come: a distance behind whoever comes before, and after the next start."""
    distance = timedelta(seconds=distance_s)
    ahead = [at for at in line.values() if at > now]
    first = max(row.next_start, now + distance if row.holder is not None else now)
    return max(first, max(ahead) + distance) if ahead else first


def _back_in_s(place_s: float, delay_s: float) -> float:
    """Return when a step is to come back for its place: early enough not to be late, and never at once again."""
    early_s = min(EARLY_S, delay_s * 0.8)
    return place_s - early_s if place_s > early_s + SOONEST_S else place_s


def _line_up(session: Session, site: str, step_id: str, at: datetime) -> None:
    place = insert(SiteWaitRow).values(key=site, step_id=step_id, at=at)
    session.execute(place.on_conflict_do_update(index_elements=["key", "step_id"], set_={"at": at}))


def _seconds(delay_s: float) -> timedelta:
    return timedelta(seconds=delay_s + MARGIN_S if delay_s > 0 else 0.0)


class PostgresRobots:
    """See `shared.ports.sites.RobotsCache`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def find(self, origin: str) -> RobotsEntry | None:
        """Return the last answer, fresh or not."""
        wanted = select(RobotsRow).where(RobotsRow.origin_sha256 == sha256_hex(origin.encode()))

        def work(session: Session) -> RobotsEntry | None:
            row = session.scalar(wanted)
            if row is None:
                return None
            fresh_s = (row.expires_at - database_now(session)).total_seconds()
            return RobotsEntry(row.status, row.body, fresh_s, row.failures)

        return self._transactions.run(work)

    def keep(self, origin: str, entry: RobotsEntry) -> None:
        """Keep an answer in place of the last one."""
        values = {
            "status": entry.status,
            "body": entry.body,
            "failures": entry.failures,
            "fetched_at": func.clock_timestamp(),
            "expires_at": func.clock_timestamp() + timedelta(seconds=entry.fresh_s),
        }
        row = insert(RobotsRow).values(origin_sha256=sha256_hex(origin.encode()), origin=origin, **values)
        kept = row.on_conflict_do_update(index_elements=["origin_sha256"], set_=values)
        self._transactions.run(lambda session: session.execute(kept))
