"""What the gateway is configured for, from its settings and limits, and how the services outside answered last."""

from collections.abc import Mapping
from typing import get_args

from services.gateway import rules
from services.gateway.deps import Configured, Deps
from services.gateway.parameters import ReportQuery
from shared.contracts.capabilities import (
    BudgetOffer,
    Capabilities,
    DocumentOffer,
    EngineOffer,
    ServiceOffer,
    WebOffer,
)
from shared.contracts.runs import WebMode
from shared.domain.budget import OPERATOR_MAXIMA, TIERS, told
from shared.domain.engines import MANAGED
from shared.domain.file_kinds import FILE_KINDS
from shared.domain.phases import Phase
from shared.domain.search import PROVIDERS, RERANKERS, ServiceFacts
from shared.ports.services import ServiceState

_BASELINE = ("writer", "verifier")
"""The phases in which the engine `baseline` asks a model."""

MODEL_LACKS = "Set LEADLINE_MODEL, and the key or base URL of its provider."


def capabilities(deps: Deps) -> Capabilities:
    """Return what this installation is configured for."""
    limits, configured = deps.limits, deps.configured
    return Capabilities(
        version=configured.version,
        default_engine=rules.engine_for("auto", has_model=deps.has_model),
        engines=(
            EngineOffer(name="extractive", configured=True),
            EngineOffer(
                name="llm",
                configured=deps.has_model,
                models=dict(configured.models),
                lacks=None if deps.has_model else MODEL_LACKS,
            ),
            EngineOffer(
                name="baseline",
                configured=deps.has_model,
                models={phase: configured.models[phase] for phase in _BASELINE if phase in configured.models},
                lacks=None if deps.has_model else MODEL_LACKS,
            ),
            *(_managed(configured, engine) for engine in MANAGED),
        ),
        web=_web(configured, _states(deps)),
        documents=DocumentOffer(
            media_types=tuple(kind.media_type for kind in FILE_KINDS),
            largest_bytes=limits.max_document_bytes,
            largest_request_bytes=limits.max_upload_bytes,
        ),
        report_formats=get_args(ReportQuery.model_fields["format"].annotation),
        budget=BudgetOffer(tiers={depth: told(tier) for depth, tier in TIERS.items()}, maxima=told(OPERATOR_MAXIMA)),
        event_streams=limits.max_streams,
    )


def _managed(configured: Configured, engine: str) -> EngineOffer:
    agent = configured.managed.get(engine)
    if agent is None:
        return EngineOffer(name=engine, configured=False, lacks=rules.job_lacks(engine))
    return EngineOffer(name=engine, configured=True, models={str(Phase.MANAGED): agent})


def _states(deps: Deps) -> Mapping[str, ServiceState]:
    """Return how the services answered last; what is configured can be told without the database too."""
    try:
        return deps.services.all()
    except deps.outages:
        return {}


def _web(configured: Configured, states: Mapping[str, ServiceState]) -> WebOffer:
    asked = {*configured.search_providers, configured.reranker}
    services = {**PROVIDERS, **RERANKERS}
    return WebOffer(
        search_providers=configured.search_providers,
        reranker=configured.reranker,
        services=tuple(
            _service(name, facts, states.get(name)) if name in asked else _missing(name, facts)
            for name, facts in services.items()
        ),
        modes=get_args(WebMode),
        browser=configured.has_browser,
    )


def _service(name: str, facts: ServiceFacts, state: ServiceState | None) -> ServiceOffer:
    return ServiceOffer(
        name=name,
        label=facts.label,
        configured=True,
        endpoints=facts.endpoints,
        answers=None if state is None else state.failure is None,
        asked_at=None if state is None else state.asked_at,
        failure=None if state is None else state.failure,
    )


def _missing(name: str, facts: ServiceFacts) -> ServiceOffer:
    lacks = f"Set {facts.setting or f'LEADLINE_SEARCH={name}'}."
    return ServiceOffer(name=name, label=facts.label, configured=False, endpoints=facts.endpoints, lacks=lacks)
