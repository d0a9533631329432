"""What the gateway is given: the ports it works through, and its limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from shared.domain.ids import LOCAL_OWNER, OwnerId
from shared.ports.gateway import Controls, ReadModel
from shared.ports.keys import Keys
from shared.ports.observer import NO_FIGURES, UNOBSERVED, Exposition, Observer
from shared.ports.services import NO_STATES, ServiceStates
from shared.ports.watch import Signals, Watch


@dataclass(frozen=True, slots=True)
class Limits:
    """How much the gateway takes in and serves at once; sizes in bytes, times in seconds."""

    max_json_bytes: int = 64 * 1024
    max_document_bytes: int = 20_000_000
    max_uploads_at_once: int = 4
    """Requests with files that are held in memory at the same time."""
    max_streams: int = 56
    ping_s: float = 15.0
    poll_s: float = 2.0
    stream_age_s: float = 3600.0
    queued_events: int = 256
    """Events that may wait for one slow client before it is dropped."""

    @property
    def max_upload_bytes(self) -> int:
        """The largest body of one request with files."""
        return 2 * self.max_document_bytes + 1_000_000


@dataclass(frozen=True, slots=True)
class Configured:
    """What the operator has set up, to be told to whoever asks what there is."""

    version: str = "0"
    models: Mapping[str, str] = field(default_factory=dict)
    """The model of each phase; empty without one."""
    unpriced: tuple[str, ...] = ()
    """Those of the models whose price is not known."""
    managed: Mapping[str, str] = field(default_factory=dict)
    """What does the research of each managed engine whose provider has a key."""
    job_costs: Mapping[str, float] = field(default_factory=dict)
    """The most that a job of each managed engine may cost in US dollars, where its price is known."""

    def unpriced_of(self, engine: str) -> tuple[str, ...]:
        """Return what an engine asks that has no known price."""
        job = (self.managed[engine],) if engine in self.managed and engine not in self.job_costs else ()
        return (*job, *self.unpriced)

    search_providers: tuple[str, ...] = ()
    reranker: str | None = None
    has_browser: bool = False
    """Whether pages that need JavaScript are read in a browser."""


@dataclass(frozen=True, slots=True)
class Deps:
    """The gateway's ports; ``outages`` are the errors by which they say that the database cannot be reached."""

    controls: Controls
    reads: ReadModel
    signals: Signals
    watch: Watch
    limits: Limits = Limits()
    local_owner: OwnerId = LOCAL_OWNER
    keys: Keys | None = None
    """Whose key is whose; None: everybody is the local owner."""
    configured: Configured = Configured()
    services: ServiceStates = NO_STATES
    """How the search providers and the reranker answered last."""
    has_model: bool = False
    """Whether a model is configured, so that the engine `llm` can answer."""
    loopback_only: bool = True
    """Whether the gateway listens on a loopback address, and therefore answers to loopback host names only."""
    outages: tuple[type[Exception], ...] = ()
    observer: Observer = UNOBSERVED
    exposition: Exposition = NO_FIGURES
