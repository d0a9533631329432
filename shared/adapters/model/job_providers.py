"""Which providers of research jobs there are, and each as it is used: loaded with its first call."""

import threading
from collections.abc import Callable
from typing import Protocol

from shared.adapters.model.endpoint import Endpoint
from shared.domain.managed import credential_of
from shared.ports.managed import JobRequest, JobSeen


class _Calls(Protocol):
    def submit(self, request: JobRequest) -> JobSeen: ...

    def look(self, handle: str) -> JobSeen: ...

    def cancel(self, handle: str) -> JobSeen: ...

    def close(self) -> None: ...


def _google(endpoint: Endpoint, agent: str) -> _Calls:
    from shared.adapters.model.jobs import HttpJobs  # the HTTP client takes a while to load
    from shared.adapters.model.jobs_google import WIRE

    return HttpJobs("google", endpoint, agent, WIRE)


def _openai(endpoint: Endpoint, agent: str) -> _Calls:
    from shared.adapters.model.jobs import HttpJobs  # the HTTP client takes a while to load
    from shared.adapters.model.jobs_openai import WIRE

    return HttpJobs("openai", endpoint, agent, WIRE)


JOB_PROVIDERS: dict[str, Callable[[Endpoint, str], _Calls]] = {"google": _google, "openai": _openai}
"""The providers that have research jobs, by name."""


class JobsOnDemand:
    """See `shared.ports.managed.JobProvider`; processes that submit no job never load what it takes."""

    def __init__(self, name: str, endpoint: Endpoint, agent: str) -> None:
        self._name, self._endpoint, self._agent = name, endpoint, agent
        self._open = JOB_PROVIDERS[name]
        self._lock = threading.Lock()
        self._calls: _Calls | None = None

    @property
    def name(self) -> str:
        """The provider's name."""
        return self._name

    @property
    def agent(self) -> str:
        """What does the research there."""
        return self._agent

    @property
    def credential(self) -> str:
        """What stands for the key that is used."""
        return credential_of(self._name, self._endpoint.base_url, (self._endpoint.key or "").strip())

    @property
    def key_name(self) -> str:
        """The setting that its key comes from."""
        return self._endpoint.key_name

    def submit(self, request: JobRequest) -> JobSeen:
        """Start a job."""
        return self._opened().submit(request)

    def look(self, handle: str) -> JobSeen:
        """Return how a job stands, and its report once it has one."""
        return self._opened().look(handle)

    def cancel(self, handle: str) -> JobSeen:
        """Ask that a job ends."""
        return self._opened().cancel(handle)

    def close(self) -> None:
        """Close what was opened."""
        with self._lock:
            calls, self._calls = self._calls, None
        if calls is not None:
            calls.close()

    def _opened(self) -> _Calls:
        with self._lock:
            if self._calls is None:
                self._calls = self._open(self._endpoint, self._agent)
            return self._calls
