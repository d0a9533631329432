"""What must hold after a loop, from SQL and from the sites' own logs; each check returns what breaks it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, text

from evals.bench.faults.world import World, number_of, search_of
from shared.guards.sites import site_key
from tests.support.site import Visit, gaps, overlaps

ARRIVAL_S = 0.05
"""How much later than another a request may be noticed by its site, on a machine where everything dies and starts anew:
that is no fault of who has sent it. Two at once are never excused."""

CLOCK_S = 0.005
"""How far the site's clock and the database's, both of one machine, may seem apart."""

_DUPLICATES = {
    "fetch rows": "select step_id || ' ' || id from fetches group by step_id, id having count(*) > 1",
    "fetches of a step beyond its receipts": (
        "select f.step_id from fetches f where f.body->>'tier' <> 'api' group by f.step_id having count(*) > "
        "(select count(*) from receipts r where r.step_id = f.step_id and r.kind = 'fetch')"
    ),
    "search calls of a step beyond its receipts": (
        "select f.step_id from fetches f where f.body->>'tier' = 'api' group by f.step_id having count(*) > "
        "(select count(*) from receipts r where r.step_id = f.step_id and r.kind = 'search')"
    ),
    "evidence": "select run_id || ' ' || sha256 from evidence group by run_id, sha256 having count(*) > 1",
    "sources": "select run_id || ' ' || url_sha256 from sources group by run_id, url_sha256 having count(*) > 1",
    "statements": (
        "select run_id || ' ' || section_id || ' ' || ordinal from statements "
        "group by run_id, epoch, section_id, ordinal having count(*) > 1"
    ),
    "reports": "select run_id from reports group by run_id having count(*) > 1",
    "final statuses": (
        "select run_id from events where type = 'status_changed' and payload->>'to' in "
        "('completed', 'failed', 'cancelled', 'budget_exhausted') group by run_id having count(*) > 1"
    ),
    "events of one piece of evidence": (
        "select e.run_id from events e where e.type = 'evidence_added' group by e.run_id having "
        "sum((e.payload->>'count')::int) <> (select count(*) from evidence v where v.run_id = e.run_id)"
    ),
}


def duplicate_effects(connection: Connection) -> list[str]:
    """Return the effects that are in the ledger more than once."""
    return [f"{what}: {row[0]}" for what, sql in _DUPLICATES.items() for row in connection.execute(text(sql))]


@dataclass(frozen=True, slots=True)
class _Call:
    """A call that has a receipt: when that was kept, and how often the step was tried."""

    kept: float
    tries: int


def repeated_calls(connection: Connection, world: World) -> list[str]:
    """Return calls that a site saw although their receipt was there before, and such that nothing accounts for."""
    pages, searches = _page_receipts(connection), _search_receipts(connection)
    found = []
    seen: dict[str, list[Visit]] = defaultdict(list)
    for visit in world.site.visits():
        if visit.path == "/robots.txt":
            continue
        asked = search_of(visit.path) if visit.host == world.engine.host else None
        seen[" ".join(asked) if asked else world.site.url(visit.host, visit.path)].append(visit)
    for key, visits in seen.items():
        call = pages.get(key) or searches.get(key)
        if call is None:
            found.append(f"{key}: asked {len(visits)} times, and there is no receipt of it")
            continue
        late = [v for v in visits if v.wall > call.kept + CLOCK_S]
        found += [f"{key}: asked {v.wall - call.kept:.2f} s after its receipt was kept" for v in late]
        if len(visits) > call.tries:
            found.append(f"{key}: asked {len(visits)} times in {call.tries} attempts")
    return found


def _page_receipts(connection: Connection) -> dict[str, _Call]:
    rows = connection.execute(
        text(
            "select r.answer->'fetch'->>'requested_url', min(extract(epoch from r.created_at)), max(s.attempts) "
            "from receipts r join steps s on s.id = r.step_id where r.kind = 'fetch' group by 1"
        )
    )
    return {url: _Call(float(kept), tries) for url, kept, tries in rows}


def _search_receipts(connection: Connection) -> dict[str, _Call]:
    rows = connection.execute(
        text(
            "select q.body->'source_policy'->'web'->'domains'->>0, s.inputs->>'query', "
            "min(extract(epoch from r.created_at)), max(s.attempts) from receipts r join steps s on s.id = r.step_id "
            "join run_requests q on q.run_id = s.run_id where r.kind = 'search' and r.answer ? 'hits' group by 1, 2"
        )
    )
    return {f"{number_of(domain)} {query}": _Call(float(kept), tries) for domain, query, kept, tries in rows}


def impolite(visits: Iterable[Visit], delay_s: float) -> list[str]:
    """Return what a site's log shows against it: requests that overlap, that come too soon, pages before robots.txt."""
    by_site: dict[str, list[Visit]] = defaultdict(list)
    for visit in visits:
        by_site[site_key(visit.host)].append(visit)
    found = []
    for site, of_site in by_site.items():
        if overlaps(of_site):
            found.append(f"{site}: {overlaps(of_site)} requests while another was under way")
        close = [gap for gap in gaps(of_site) if gap < delay_s - ARRIVAL_S]
        if close:
            found.append(f"{site}: {len(close)} requests sooner than the delay, after {min(close):.3f} s at the least")
        first = min(of_site, key=lambda v: v.start)
        if not first.path.startswith(("/robots.txt", "/search")):
            found.append(f"{site}: {first.path} was asked for before robots.txt")
    return found


def unfinished(statuses: Mapping[str, tuple[str, str | None]]) -> list[str]:
    """Return the runs that did not complete, with what is known of them."""
    return [f"{run}: {status} ({why})" for run, (status, why) in statuses.items() if status != "completed"]
