"""Templates to pages: everything that is put into one is escaped, and the browser is told to run our files alone."""

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from flask import Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from services.gateway.doors import CONTENT_SECURITY_POLICY
from services.gateway.pages.assets import assets

TEMPLATES = Path(__file__).parents[1] / "web" / "templates"
PAGE_POLICY = f"{CONTENT_SECURITY_POLICY}; require-trusted-types-for 'script'; trusted-types 'none'"
"""On pages a script cannot turn text into markup either: the browser refuses it (W3C Trusted Types)."""


def page(template: str, code: int = 200, **context: Any) -> Response:
    """Return a page made from a template, with this HTTP status."""
    text = _environment().get_template(template).render(assets=assets().base, **context)
    headers = {"Content-Security-Policy": PAGE_POLICY}
    return Response(text, status=code, content_type="text/html; charset=utf-8", headers=headers)


def words(name: str) -> str:
    """Return a name of the program as people write it: "budget_exhausted" as "Budget exhausted"."""
    text = name.replace("_", " ")
    return text[:1].upper() + text[1:]


def moment(value: datetime) -> str:
    """Return a time for people, in UTC; scripts put it into the reader's own time zone."""
    return f"{value.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def size(count: int) -> str:
    """Return a number of bytes for people, in powers of ten: "1.4 MB"."""
    if count < 1000:
        return f"{count} B"
    if count < 1_000_000:
        return f"{count / 1000:.0f} kB"
    return f"{count / 1_000_000:.1f}".removesuffix(".0") + " MB"


def minutes(seconds: int) -> str:
    """Return a span of time for people, in whole minutes from two minutes on."""
    return f"{seconds // 60} min" if seconds >= 120 else f"{seconds} s"


def listed(items: Iterable[str]) -> str:
    """Return items as an attribute that a script splits at spaces."""
    return " ".join(items)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    environment.filters.update(words=words, moment=moment, size=size, minutes=minutes, listed=listed)
    return environment
