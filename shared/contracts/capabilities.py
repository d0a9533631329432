"""What an installation is configured for. It tells what is set up, and does not promise that it answers."""

from datetime import datetime

from pydantic import Field

from shared.contracts.base import Contract
from shared.contracts.runs import WebMode


class EngineOffer(Contract):
    """An engine; ``models`` names the model of each phase, ``lacks`` what has to be set before it can answer."""

    name: str
    configured: bool
    models: dict[str, str] = Field(default_factory=dict)
    lacks: str | None = None


class ServiceOffer(Contract):
    """A search provider or reranker; ``lacks`` names the setting that it needs before it can be asked.

    ``answers`` tells whether the last call at it, made at ``asked_at``, was answered, and ``failure`` the code of the
    error if not; all None as long as no run has asked it.
    """

    name: str
    label: str
    configured: bool
    endpoints: tuple[str, ...] = ()
    lacks: str | None = None
    answers: bool | None = None
    asked_at: datetime | None = None
    failure: str | None = None


class WebOffer(Contract):
    """How runs may use the web; without a search provider they read only the addresses that they are given.

    ``search_providers`` are the configured ones in the order in which they are asked, ``reranker`` ranks what they find
    (None: Leadline does), ``services`` are all that there are.
    Without a browser a page that needs JavaScript ends as a source that cannot be read.
    """

    search_providers: tuple[str, ...]
    reranker: str | None = None
    services: tuple[ServiceOffer, ...] = ()
    modes: tuple[WebMode, ...]
    browser: bool = False


class DocumentOffer(Contract):
    """What may be sent as a document; sizes in bytes."""

    media_types: tuple[str, ...]
    largest_bytes: int
    largest_request_bytes: int


class BudgetOffer(Contract):
    """The limits of each tier, and what a request may raise each to; times in seconds, texts in characters."""

    tiers: dict[str, dict[str, int | float]]
    maxima: dict[str, int | float]


class Capabilities(Contract):
    """The answer to ``GET /capabilities``; ``default_engine`` is what `auto` stands for."""

    version: str
    default_engine: str
    engines: tuple[EngineOffer, ...]
    web: WebOffer
    documents: DocumentOffer
    report_formats: tuple[str, ...]
    budget: BudgetOffer
    event_streams: int
