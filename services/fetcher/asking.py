"""One provider asked for the query of a step: politely, each call at most once, every call in the fetch log.

What a call gave is kept as a receipt: a step that is put off, or whose worker died, goes on with the next call.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from services.fetcher.deps import Deps, SearchSeat
from services.fetcher.net.messages import Fetched, FetchRequest
from services.fetcher.search.contract import Hit, SearchQuery
from services.fetcher.visits import BUSY, MAX_REST_S, SiteVisit
from shared.contracts.evidence import Fetch
from shared.domain.errors import Permanent, RateLimited, StepError, Transient
from shared.domain.ids import digest_id, sha256_hex
from shared.domain.urls import parse_url
from shared.ports.ledger import Lease
from shared.ports.sites import Visitor

MAX_TRIES = 3
"""How often one provider is asked in vain."""

LONGEST_TURN_S = 60.0
"""A provider whose turn is further off rests, as it asked: the search goes on without it if another one answers."""

PATIENCE_S = 24.0
"""No call begins later than this in a try of a step: the slowest one still ends before the step's own deadline."""

GOES_ON_S = 0.2
"""After how long a step goes on whose calls took too long for one try."""


class Watch:
    """How long a try of a step has been making calls."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._end = time.monotonic() + patience_s

    def check(self) -> None:
        """Raise `RateLimited` when no further call may begin; what the calls before gave is kept."""
        if time.monotonic() > self._end:
            raise RateLimited(BUSY, "The services asked before took long; the search goes on.", GOES_ON_S)


@dataclass(frozen=True, slots=True)
class Call:
    """A call at a service outside: its row in the fetch log, and what it gave or why it gave nothing."""

    row: Fetch
    answer: Mapping[str, Any] | None = None
    error: StepError | None = None


class Caller:
    """Makes the calls of one service within a step; ``name`` is that of the service, with its own slot.

    As a context it frees the slot in the end: what a call gave is kept before anybody else may ask.
    """

    def __init__(self, deps: Deps, lease: Lease, name: str, watch: Watch) -> None:
        self._deps, self._lease, self._name, self._watch = deps, lease, name, watch
        self._visit: SiteVisit | None = None

    def __enter__(self) -> Self:
        """Begin with no slot in hand."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free the slot of the last call."""
        if self._visit is not None:
            self._visit.free()
            self._visit = None

    @property
    def slot(self) -> str:
        """Return the slot that all workers share."""
        return f"search:{self._name}"

    def gate(self, delay_s: float, is_known: Callable[[], bool]) -> SiteVisit:
        """Return the gate of a call: the service's slot, with its own delay if that is longer than ours.

        It is passed unless another try of the step has kept the call's answer meanwhile. Raises `RateLimited` when it
        is too late for a call in this try.
        """
        self._watch.check()
        web = replace(self._deps.web, delay_s=max(self._deps.web.delay_s, delay_s))
        visitor = Visitor(self._lease.step_id, self._lease.token)
        self._visit = SiteVisit(web, visitor, self.slot, is_known)
        return self._visit

    def find(self, *what: str | int) -> Mapping[str, Any] | None:
        """Return what a receipt keeps."""
        return self._deps.receipts.find(self._lease, self._key(what))

    def keep(self, answer: Mapping[str, Any], *what: str | int) -> None:
        """Keep something as a receipt."""
        self._deps.receipts.keep(self._lease, self._key(what), "search", answer)

    def row(self, number: int) -> "Row":
        """Begin the fetch log's row of a call; no other one of this step to this service may have its number."""
        fetch_id = digest_id("fch", self._lease.step_id, str(self._lease.epoch), self._name, str(number))
        return Row(fetch_id, self._deps.materials.now())

    def note(self, error: StepError | None) -> None:
        """Tell all workers what became of a call; nobody is to ask a service that wants to be left alone."""
        if isinstance(error, RateLimited):
            if error.code == BUSY:
                return
            self._deps.web.slots.penalise(self.slot, min(error.after_s, MAX_REST_S))
        self._deps.states.note(self._name, error.code if error is not None else None)

    def _key(self, what: tuple[str | int, ...]) -> str:
        return sha256_hex(json.dumps([self._name, *what]).encode())


class Row:
    """Writes the fetch log's row of one call; a key stands in headers, which are no part of it."""

    def __init__(self, fetch_id: str, at: datetime) -> None:
        self._id, self._at, self._began = fetch_id, at, time.monotonic()

    def of(self, request: FetchRequest, fetched: Fetched | None, detail: str, refusal: str | None = None) -> Fetch:
        """Return the row; ``fetched`` is None when no answer came. It has no content that could be cited."""
        return Fetch(
            fetch_id=self._id,
            source_id=None,
            requested_url=str(request.url),
            final_url=str(fetched.url) if fetched is not None else None,
            status=fetched.status if fetched is not None else None,
            mime=((fetched.content_type or "").partition(";")[0].strip().lower() or None) if fetched else None,
            bytes=len(fetched.body) if fetched is not None and fetched.ok else None,
            tier="api",
            refusal=refusal,
            detail=detail,
            elapsed_ms=round((time.monotonic() - self._began) * 1000),
            at=self._at,
        )


@dataclass(frozen=True, slots=True)
class Asked:
    """What became of asking one provider: its hits, its calls for the fetch log, and the error that ended it."""

    provider: str
    hits: tuple[Hit, ...] = ()
    words: str = ""
    rows: tuple[Fetch, ...] = ()
    error: StepError | None = None


class Asking:
    """One provider and the query of a step."""

    def __init__(self, caller: Caller, seat: SearchSeat) -> None:
        self._caller, self._seat = caller, seat

    def page(self, query: SearchQuery) -> Asked:
        """Return what one page of results gave. While the provider is busy the error says so, and nothing is lost."""
        provider = self._seat.provider
        words, rows = provider.words(query), tuple(self._failures())
        request, stage = provider.request(query), 0
        while True:
            kept = self._caller.find("call", query.page, stage)
            if kept is None:
                if rows and (over := self._given_up()) is not None:
                    return Asked(provider.name, (), words, rows, over)
                with self._caller:
                    call = self._call(request, query, stage)
                    if (waits := self._waits(call.error)) is not None:
                        return Asked(provider.name, (), words, rows, waits)
                    if call.error is not None:
                        return Asked(provider.name, (), words, (*rows, call.row), self._failed(call))
                    kept = {"row": call.row.model_dump(mode="json"), **(call.answer or {})}
                    self._caller.keep(kept, "call", query.page, stage)
            rows = (*rows, Fetch.model_validate(kept["row"]))
            if "hits" in kept:
                return Asked(provider.name, hits_of(kept["hits"]), words, rows)
            request, stage = replace(request, url=parse_url(kept["next"])), stage + 1

    def _call(self, request: FetchRequest, query: SearchQuery, stage: int) -> Call:
        provider = self._seat.provider
        failures = len(list(self._failures()))
        row, fetched = self._caller.row(self._number(query, stage, failures)), None

        def is_known() -> bool:
            answers = (("call", query.page, stage), ("failed", failures + 1))
            return any(self._caller.find(*what) is not None for what in answers)

        try:
            fetched = self._seat.fetch(request, self._caller.gate(provider.delay_s, is_known))
            found = provider.read(fetched, query)
        except StepError as error:
            told = self._unreachable(error) if fetched is None else error
            self._caller.note(told)
            return Call(row.of(request, fetched, told.detail, told.code), error=told)
        self._caller.note(None)
        if isinstance(found, tuple):
            detail = f"{provider.label} found {len(found)} for “{provider.words(query)}”."
            return Call(row.of(request, fetched, detail), {"hits": [asdict(hit) for hit in found]})
        return Call(row.of(request, fetched, f"{provider.label} tells what to ask next."), {"next": str(found)})

    def _waits(self, error: StepError | None) -> StepError | None:
        """Return the error of a call whose turn has not come; None when the call was made."""
        if not isinstance(error, RateLimited) or error.code != BUSY:
            return None
        if error.after_s <= LONGEST_TURN_S:
            return error
        detail = f"{self._seat.provider.label} asked to be left alone for another {error.after_s:.0f} s."
        return RateLimited("search_resting", detail, error.after_s)

    def _unreachable(self, error: StepError) -> StepError:
        """Return the error of a provider that gave no answer, with what to do about it."""
        if isinstance(error, Transient):
            return Transient("search_unreachable", f"{error.detail} {self._seat.provider.advice}")
        return error

    @staticmethod
    def _number(query: SearchQuery, stage: int, failures: int) -> int:
        """Return a number that no other call of this step has: each one succeeds or adds to the failures."""
        return query.page * 1000 + stage * 100 + failures

    def _failures(self) -> Iterator[Fetch]:
        number = 1
        while (kept := self._caller.find("failed", number)) is not None:
            yield Fetch.model_validate(kept["row"])
            number += 1

    def _failed(self, call: Call) -> StepError:
        """Keep a call that failed; return its error, which is a final one after the last try."""
        if call.error is None:
            raise AssertionError("the call failed")
        number = len(list(self._failures())) + 1
        final = not isinstance(call.error, Transient | RateLimited)
        self._caller.keep({"row": call.row.model_dump(mode="json"), "final": final}, "failed", number)
        return self._given_up() or call.error

    def _given_up(self) -> StepError | None:
        """Return the error of a provider that is not asked again in this step."""
        rows = list(self._failures())
        last = self._caller.find("failed", len(rows))
        if last is None or not (last["final"] or len(rows) >= MAX_TRIES):
            return None
        row = Fetch.model_validate(last["row"])
        return Permanent(row.refusal or "search_failed", row.detail or "The provider gave no answer.")


def hits_of(kept: list[dict[str, Any]]) -> tuple[Hit, ...]:
    """Read hits as a receipt keeps them, those of earlier versions too."""
    return tuple(
        Hit(
            h["url"],
            h["title"],
            h["snippet"],
            h.get("published_at", h.get("published")),
            h.get("author"),
            h.get("publisher"),
            h.get("kind", "page"),
        )
        for h in kept
    )
