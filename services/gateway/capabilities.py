"""What the gateway is configured for, from its settings and limits; nothing is asked whether it answers."""

from dataclasses import asdict
from typing import get_args

from services.gateway import rules
from services.gateway.deps import Deps
from services.gateway.parameters import ReportQuery
from shared.contracts.capabilities import BudgetOffer, Capabilities, DocumentOffer, EngineOffer, WebOffer
from shared.contracts.runs import WebMode
from shared.domain.budget import OPERATOR_MAXIMA, TIERS

READABLE = ("application/pdf", "text/html", "text/markdown", "text/plain")
"""The media types that documents are read as."""

MODEL_LACKS = "Set LEADLINE_MODEL, and OPENAI_BASE_URL or OPENAI_API_KEY."
SUFFIXES = (".pdf", ".html", ".htm", ".xhtml", ".md", ".markdown", ".txt", ".text", ".log", ".csv")
"""The endings of names that a file chooser shows first; the bytes decide, whatever a file is called."""


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
        ),
        web=WebOffer(search_providers=configured.search_providers, modes=get_args(WebMode)),
        documents=DocumentOffer(
            media_types=READABLE,
            largest_bytes=limits.max_document_bytes,
            largest_request_bytes=limits.max_upload_bytes,
        ),
        report_formats=get_args(ReportQuery.model_fields["format"].annotation),
        budget=BudgetOffer(
            tiers={depth: asdict(tier) for depth, tier in TIERS.items()}, maxima=asdict(OPERATOR_MAXIMA)
        ),
        event_streams=limits.max_streams,
    )
