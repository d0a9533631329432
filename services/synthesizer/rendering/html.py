"""A report as one HTML file: no script, nothing loaded from elsewhere, a policy that forbids both."""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from services.synthesizer.rendering.parts import (
    EMPTY_SECTION,
    NEAREST,
    NOTHING_FOUND,
    PARTIAL,
    excerpt_cards,
    mix_line,
    parts_of,
    sides_of,
    source_line,
    verification_line,
    without_marks,
)
from shared.contracts.evidence import Evidence, Source
from shared.contracts.report import Report

_TEMPLATES = Path(__file__).parent / "templates"


def render_html(report: Report, evidence: Sequence[Evidence], sources: Sequence[Source]) -> str:
    """Return the report as a self-contained HTML document."""
    parts = parts_of(report, evidence, sources)
    style = _style()
    return (
        _environment()
        .get_template("report.html")
        .render(
            report=report,
            parts=parts,
            sides_of=sides_of,
            sources=[(source_line(c, parts), excerpt_cards(c, parts)) for c in report.citations],
            style=Markup(style),  # noqa: S704 (our own file)
            policy=_policy(style),
            partial_note=PARTIAL,
            nothing_found=NOTHING_FOUND,
            nearest_note=NEAREST,
            empty_section=EMPTY_SECTION,
            verification=verification_line(report),
            mix=mix_line(report),
        )
    )


def _policy(style: str) -> str:
    """Return the content security policy: nothing but this very style sheet."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@cache
def _style() -> str:
    return (_TEMPLATES / "report.css").read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    environment.filters["plain"] = without_marks
    return environment
