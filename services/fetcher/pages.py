"""Pages of the web as sources: policy, politeness and robots.txt first, then the fetch, every try in the fetch log."""

import time
from collections.abc import Callable
from datetime import datetime
from http import HTTPStatus
from typing import Any, Literal

from services.fetcher.attempts import Attempt, Attempts, error_after, judge_error, judge_status
from services.fetcher.deps import Deps
from services.fetcher.net.messages import Fetched, FetchRequest
from services.fetcher.times import retry_after_s
from services.fetcher.visits import MAX_REST_S, PageVisit, Permit
from shared.contracts.evidence import Fetch, Source
from shared.contracts.runs import SourcePolicy
from shared.domain.errors import RateLimited, StepError
from shared.domain.ids import digest_id
from shared.domain.urls import Url, canonical_url, parse_url
from shared.guards.sites import site_key
from shared.ports.ledger import Lease, Outcome
from shared.ports.sites import Visitor

Tier = Literal["static", "browser"]
UNREAD_TYPES = ("image/", "video/", "audio/", "font/")
"""Media types that hold no text: their bodies are not taken."""


def read_page(deps: Deps, lease: Lease, source: Source) -> Outcome:
    """Fetch a page, or put the step off until it may be; what was fetched by an earlier try is not fetched again."""
    attempts = Attempts(deps.receipts, lease, source.url)
    with page_visit(deps, lease, source, attempts) as visit:
        done = try_once(attempts, lambda number: _attempt(deps, lease, source, (attempts, visit), number))
    return outcome_of(lease, source, done)


def page_visit(deps: Deps, lease: Lease, source: Source, attempts: Attempts) -> PageVisit:
    """Return the gate of a source's page, which is passed until another try of the step has kept an answer."""
    policy = deps.materials.facts(lease.run_id).request.source_policy
    visitor, permit = Visitor(lease.step_id, lease.token), permit_for(policy, source)
    return PageVisit(deps.web, visitor, permit, attempts.keep_hops, attempts.have_grown)


def try_once(attempts: Attempts, attempt: Callable[[int], Attempt]) -> tuple[Attempt, ...]:
    """Return all tries of a page once the last one is made; raise the error that puts the step off for another."""
    done = attempts.kept()
    if not done or error_after(len(done), done[-1]) is not None:
        done = (*done, attempt(len(done) + 1))
        attempts.keep(len(done), done[-1])
        error = error_after(len(done), done[-1])
        if error is not None:
            error.log = tuple(attempt.fetch for attempt in done)
            raise error
    return done


def permit_for(policy: SourcePolicy, source: Source) -> Permit:
    """Return what may be read on the way to a source: an address that came with the request opens its own host."""
    given = source.canonical_url in {canonical_url(url) for url in policy.urls}
    return Permit(policy, source.domain if given else None)


def _attempt(deps: Deps, lease: Lease, source: Source, known: tuple[Attempts, PageVisit], number: int) -> Attempt:
    """Try once. A site that is busy raises `RateLimited` and is no try."""
    attempts, visit = known
    hops = attempts.hops() or (parse_url(source.url),)
    request = FetchRequest(hops[-1], hops[:-1], unwanted=UNREAD_TYPES)
    row = LogRow(deps, lease, source, number)
    try:
        fetched = deps.web.fetch(request, visit)
    except RateLimited:
        raise
    except StepError as error:
        again, final = judge_error(error)
        return Attempt(row.failed(visit.hops or request.earlier, visit.robots, error), again, final=final)
    if fetched.ok:
        sha256 = deps.blobs.put(lease.owner_id, fetched.body)
        return Attempt(row.answered(fetched, visit.robots, sha256), content_type=fetched.content_type)
    rest_s = retry_after_s(fetched.headers)
    if rest_s:
        deps.web.slots.penalise(site_key(fetched.url.host), min(rest_s, MAX_REST_S))
    again, final = judge_status(fetched.status, rest_s)
    return Attempt(row.answered(fetched, visit.robots, None), again, rest_s, final=final)


class LogRow:
    """Writes the fetch log's row of one try."""

    def __init__(self, deps: Deps, lease: Lease, source: Source, number: int, tier: Tier = "static") -> None:
        self._source, self._tier = source, tier
        self._id = digest_id("fch", lease.step_id, str(lease.epoch), str(number))
        self._at: datetime = deps.materials.now()
        self._began = time.monotonic()

    def answered(self, fetched: Fetched, robots: str | None, sha256: str | None) -> Fetch:
        """Return the row of an answer; ``sha256`` is that of a body which was taken."""
        told = None if fetched.ok else f"The site answered {fetched.status}{_phrase(fetched.status)}."
        return self._fetch(
            fetched.hops,
            status=fetched.status,
            mime=(fetched.content_type or "").partition(";")[0].strip().lower() or None,
            bytes=len(fetched.body) if fetched.ok else None,
            content_sha256=sha256,
            robots=robots,
            detail=told,
        )

    def failed(self, hops: tuple[Url, ...], robots: str | None, error: StepError) -> Fetch:
        """Return the row of a try that gave no answer."""
        return self._fetch(hops, robots=robots, refusal=error.code, detail=error.detail)

    def _fetch(self, hops: tuple[Url, ...], **facts: Any) -> Fetch:
        return Fetch(
            fetch_id=self._id,
            source_id=self._source.source_id,
            requested_url=self._source.url,
            redirects=tuple(str(url) for url in hops[1:]),
            final_url=str(hops[-1]) if hops else None,
            tier=self._tier,
            elapsed_ms=round((time.monotonic() - self._began) * 1000),
            at=self._at,
            **facts,
        )


def _phrase(status: int) -> str:
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""


def outcome_of(lease: Lease, source: Source, done: tuple[Attempt, ...]) -> Outcome:
    """Return what all tries of a page together come to."""
    last = done[-1]
    fetch = last.fetch
    rows = tuple(attempt.fetch for attempt in done)
    if fetch.content_sha256 is None or fetch.final_url is None:
        lost = {"status": last.final or "failed", "reason": fetch.detail, "final_url": fetch.final_url}
        gone = source.model_copy(update=lost)
        return Outcome(summary=f"{source.url} was not read: {fetch.detail}", fetches=rows, sources=(gone,))
    final = parse_url(fetch.final_url)
    changes = {
        "status": "fetched",
        "final_url": fetch.final_url,
        "canonical_url": canonical_url(final),
        "domain": final.host,
        "mime": fetch.mime,
        "retrieved_at": fetch.at,
        "content_sha256": fetch.content_sha256,
    }
    following = {
        "source_id": source.source_id,
        "content_sha256": fetch.content_sha256,
        "name": source.title or fetch.final_url,
        "query": lease.inputs["query"],
        "content_type": last.content_type,
        "url": fetch.final_url,
        "tier": fetch.tier,
        "bytes": fetch.bytes,
    }
    return Outcome(
        summary=f"Fetched {fetch.final_url}: {fetch.bytes:,} bytes.",
        result={"next": following},
        fetches=rows,
        sources=(source.model_copy(update=changes),),
    )
