"""The tries of one page, kept as receipts: what was fetched is not fetched again, what failed is counted and told."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from shared.contracts.evidence import Fetch
from shared.domain.errors import NotAllowed, Permanent, RateLimited, StepError, Transient
from shared.domain.ids import sha256_hex
from shared.domain.urls import Url, parse_url
from shared.ports.ledger import Lease, Receipts

MAX_TRIES = 3
"""How often one page is asked for in all."""

LONGEST_REST_S = 600.0
"""A site that asks for a longer rest is not waited for."""

DEFAULT_REST_S = 10.0
"""How long to wait after a 429 that does not say, before the first further try; doubled before the second."""

Again = Literal["no", "soon", "later"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try: its row in the fetch log, whether another one may work, and after how many seconds if that is known."""

    fetch: Fetch
    again: Again = "no"
    after_s: float | None = None
    content_type: str | None = None
    final: str | None = None
    """What becomes of the source if this is the last try: blocked, failed or unsupported; None when it was read."""


class Attempts:
    """The tries of a page within one step and epoch."""

    def __init__(self, receipts: Receipts, lease: Lease, url: str) -> None:
        self._receipts, self._lease, self._url = receipts, lease, url
        self._tries = self._hops = 0
        """How many tries and addresses are known here."""

    def kept(self) -> tuple[Attempt, ...]:
        """Return the tries so far."""
        found: list[Attempt] = []
        while (answer := self._receipts.find(self._lease, self._key("try", len(found) + 1))) is not None:
            found.append(_attempt_of(answer))
        self._tries = len(found)
        return tuple(found)

    def keep(self, number: int, attempt: Attempt) -> None:
        """Keep a try under its number, which counts from 1."""
        self._receipts.keep(self._lease, self._key("try", number), "fetch", _answer_of(attempt))

    def hops(self) -> tuple[Url, ...]:
        """Return the addresses that redirects were followed to so far, the first one included; none at the start."""
        found: tuple[Url, ...] = ()
        while (answer := self._receipts.find(self._lease, self._key("hop", len(found) or 1))) is not None:
            found = tuple(parse_url(url) for url in answer["hops"])
        self._hops = len(found)
        return found

    def keep_hops(self, hops: tuple[Url, ...]) -> None:
        """Keep where the redirects have led to: the last address is the one to ask next."""
        answer = {"hops": [str(url) for url in hops]}
        self._receipts.keep(self._lease, self._key("hop", len(hops) - 1), "redirect", answer)
        self._hops = len(hops)

    def have_grown(self) -> bool:
        """Tell whether more is kept than is known here: by a worker that was slow and has lost the step since."""
        next_ones = (("try", self._tries + 1), ("hop", self._hops or 1))
        return any(self._receipts.find(self._lease, self._key(*what)) is not None for what in next_ones)

    def _key(self, what: str, number: int) -> str:
        return sha256_hex(json.dumps([what, self._url, number]).encode())


def error_after(tries: int, attempt: Attempt) -> StepError | None:
    """Return the error that puts the step off for another try; None when this was the last one."""
    if attempt.again == "no" or tries >= MAX_TRIES:
        return None
    detail = attempt.fetch.detail or "The page could not be had."
    code = attempt.fetch.refusal or f"http_{attempt.fetch.status}"
    if attempt.again == "soon":
        return Transient(code, detail)
    after_s = attempt.after_s if attempt.after_s is not None else DEFAULT_REST_S * 2.0 ** (tries - 1)
    return RateLimited(code, detail, after_s) if after_s <= LONGEST_REST_S else None


def judge_status(status: int, rest_s: float | None) -> tuple[Again, str]:
    """Return whether an HTTP error may go away, and what becomes of the source when it does not."""
    if status == 429 or (status == 503 and rest_s is not None):
        return "later", "failed"
    if status in (408, 425) or status >= 500:
        return "soon", "failed"
    return "no", "blocked" if status in (401, 402, 403, 407, 451) else "failed"


def judge_error(error: StepError) -> tuple[Again, str]:
    """Return the same for a fetch that gave no answer."""
    if isinstance(error, NotAllowed):
        return "no", "blocked"
    if isinstance(error, Permanent) and error.code == "unsupported_type":
        return "no", "unsupported"
    return "soon" if isinstance(error, Transient) else "no", "failed"


def _answer_of(attempt: Attempt) -> dict[str, Any]:
    return {
        "fetch": attempt.fetch.model_dump(mode="json"),
        "again": attempt.again,
        "after_s": attempt.after_s,
        "content_type": attempt.content_type,
        "final": attempt.final,
    }


def _attempt_of(answer: Mapping[str, Any]) -> Attempt:
    return Attempt(
        fetch=Fetch.model_validate(answer["fetch"]),
        again=answer["again"],
        after_s=answer["after_s"],
        content_type=answer["content_type"],
        final=answer["final"],
    )
