"""What providers share: who they are, how they are asked, and how the troubles that HTTP can tell are read."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlencode

from services.fetcher.net.messages import Fetched, FetchLimits, FetchRequest
from services.fetcher.search.answers import NotJson, json_object, told
from services.fetcher.search.contract import LIMITS, Account, QueryLimits, SearchQuery
from services.fetcher.search.fitting import fitted
from services.fetcher.search.troubles import Troubles
from services.fetcher.times import retry_after_s
from shared.domain.errors import StepError
from shared.domain.search import PROVIDERS, RERANKERS, ServiceFacts
from shared.domain.urls import Url, parse_url, within

ERROR_BYTES = 16_384


class Service:
    """A service asked over HTTP: builds requests, and reads what the status of an answer says."""

    name: str
    limits: ClassVar[FetchLimits] = LIMITS
    messages: ClassVar[tuple[tuple[str | int, ...], ...]] = (("error",), ("message",), ("detail",))
    """Where in an error's body the service says what is wrong."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._base_url = account.base_url.rstrip("/")
        self.troubles = Troubles(self.facts, self.where, account)

    @property
    def facts(self) -> ServiceFacts:
        """Return what is known of the service before it is asked."""
        return PROVIDERS[self.name] if self.name in PROVIDERS else RERANKERS[self.name]

    @property
    def label(self) -> str:
        """Return the name for people."""
        return self.facts.label

    @property
    def where(self) -> str:
        """Return the name with the address if the operator named one."""
        return self.label if self._base_url == self.facts.base_url else f"{self.label} at {self._base_url}"

    @property
    def advice(self) -> str:
        """Say what to do when the service cannot be reached."""
        return f"See whether {self._base_url} can be reached from here, or leave {self.label} out."

    def get(self, path: str, asked: Mapping[str, str | int], **headers: str) -> FetchRequest:
        """Return a GET of this path with these parameters."""
        url = parse_url(f"{self._base_url}{path}?{urlencode(asked)}")
        return FetchRequest(
            url,
            accept="application/json",
            limits=self.limits,
            headers=tuple(headers.items()),
            error_bytes=ERROR_BYTES,
        )

    def post(self, path: str, asked: Mapping[str, Any], headers: Mapping[str, str]) -> FetchRequest:
        """Return a POST of this object."""
        return FetchRequest(
            parse_url(f"{self._base_url}{path}"),
            accept="application/json",
            limits=self.limits,
            headers=(("Content-Type", "application/json"), *headers.items()),
            body=json.dumps(asked, ensure_ascii=False).encode("utf-8", "replace"),
            error_bytes=ERROR_BYTES,
        )

    def object_in(self, fetched: Fetched) -> Mapping[str, Any]:
        """Return the JSON object of an answer; raise the `StepError` that any other answer stands for."""
        self.check(fetched)
        try:
            return json_object(fetched.body)
        except NotJson:
            raise self.troubles.strange("no JSON object") from None

    def without_results(self, fetched: Fetched) -> StepError:
        """Return the error of an answer of success that has no results in it: what the service says, if it does."""
        message = told(fetched, *self.messages)
        if not message:
            return self.troubles.strange("no results")
        return self.troubles.refused(self.troubles.said(fetched.status, message))

    def check(self, fetched: Fetched) -> None:
        """Raise the `StepError` that the status stands for, unless it is one of success."""
        if fetched.ok and fetched.status != 202:
            return
        raise self.error_of(fetched.status, retry_after_s(fetched.headers), told(fetched, *self.messages))

    def error_of(self, status: int, after_s: float | None, message: str) -> StepError:
        """Return the error that a status stands for; ``message`` is what the service says about it."""
        return self.troubles.of_status(status, after_s, message)


class SearchApi(Service):
    """A provider's part that all share; see `services.fetcher.search.contract.Provider`."""

    query_limits: ClassVar[QueryLimits] = QueryLimits(400)
    delay_s: ClassVar[float] = 0.0
    pages: ClassVar[int] = 10
    hosts: ClassVar[tuple[str, ...]] = ()
    """The domains on which all hits lie; none when they may lie anywhere."""

    @property
    def endpoint(self) -> Url:
        """The address at which the provider is asked."""
        return parse_url(self._base_url)

    def covers(self, query: SearchQuery) -> bool:
        """Tell whether any of the provider's own domains is wanted."""
        if not self.hosts:
            return True
        if all(within(host, query.excluded) for host in self.hosts):
            return False
        wanted = query.domains
        return not wanted or any(within(h, wanted) or within(d, self.hosts) for h in self.hosts for d in wanted)

    def words(self, query: SearchQuery) -> str:
        """Return the query as far as it fits."""
        return fitted(query.text, self.query_limits)
