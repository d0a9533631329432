"""What the gateway decides without doing anything: who may do what, what counts as said, which names are understood."""

import re
from collections.abc import Collection, Sequence
from datetime import date
from typing import Any
from urllib.parse import urlsplit

from shared.domain.budget import COST
from shared.domain.engines import MANAGED, NO_MODEL, is_managed
from shared.domain.errors import Invalid
from shared.domain.spending import SYNTHESIS_SHARES
from shared.domain.states import Action, RunStatus, is_final
from shared.domain.text import clean

LARGEST_NAME = 255
LARGEST_KEY = 200
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_KEY = re.compile(rf"[\x21-\x7e]{{1,{LARGEST_KEY}}}")
_LOOPBACK = re.compile(r"localhost|([a-z0-9-]+\.)+localhost|127(\.\d{1,3}){3}|::1", re.IGNORECASE)
_APPROVED = frozenset(
    {RunStatus.QUEUED, RunStatus.RESEARCHING, RunStatus.SYNTHESIZING, RunStatus.COMPLETED, RunStatus.BUDGET_EXHAUSTED}
)
WITH_A_MODEL = frozenset({"llm", "baseline"})
"""The engines that ask a model."""

_JOB_KEYS = {"google": "GEMINI_API_KEY", "openai": "OPENAI_API_KEY"}

_DEFAULT_PORTS = {"http": 80, "https": 443}


def engine_for(asked: str, *, has_model: bool, managed: Collection[str] = ()) -> str:
    """Return the engine that answers a request for ``asked``; raise `Invalid` when it lacks what it needs.

    ``managed`` are the engines whose provider has a key here.
    """
    if is_managed(asked) and asked not in managed:
        raise Invalid(f"The engine {asked} is not available: {job_lacks(asked)}", field="engine")
    if asked in WITH_A_MODEL and not has_model:
        raise Invalid(
            f"The engine {asked} needs a model and none is configured: set LEADLINE_MODEL (and the key or base "
            "URL of its provider), or ask for the engine extractive.",
            field="engine",
        )
    if asked == "auto":
        return "llm" if has_model else "extractive"
    return asked


def job_lacks(engine: str) -> str:
    """Return what has to be set before a provider's own job can do the research."""
    return f"Set {_JOB_KEYS[MANAGED[engine]]}, the key of its provider, for the gateway and the planner."


def looks_like_id(text: str) -> bool:
    """Tell whether ``text`` could be an id at all; what cannot is not looked up."""
    return _ID.fullmatch(text) is not None


def check_cost_limit(asked: bool, engine: str | None, unpriced: Sequence[str], field: str) -> None:
    """Raise `Invalid` for a limit on cost that could not be kept: a model's price is not known."""
    if asked and engine not in NO_MODEL and unpriced:
        raise Invalid(
            f"A limit on cost cannot be kept: the price of {', '.join(unpriced)} is not known. Tell it in "
            "LEADLINE_MODEL_PRICES, or leave the limit out.",
            field=field,
        )


def check_job_cost(limit: float | None, most: float | None, field: str) -> None:
    """Raise `Invalid` for a limit on cost that a provider's job may go over: the worst case is set aside for it."""
    if limit is None or most is None:
        return
    least = most / (1 - SYNTHESIS_SHARES[COST])
    if limit < least:
        raise Invalid(
            f"The provider's job may cost up to ${most:,.2f}, and a part of the limit is kept for checking: allow at "
            f"least ${least:,.2f}, or leave the limit out.",
            field=field,
        )


def already_holds(action: Action, status: RunStatus, expected_version: int | None, plan_version: int) -> bool:
    """Tell whether what the action asks for is the case already, so that repeating it is no error."""
    if action is Action.CANCEL:
        return status is RunStatus.CANCELLED
    if action is Action.PAUSE:
        return status is RunStatus.PAUSED
    if action is Action.RESUME:
        return status is not RunStatus.PAUSED and not is_final(status)
    if action is Action.APPROVE_PLAN:
        return status in _APPROVED and expected_version in (None, plan_version)
    return False


def idempotency_key(header: str | None, client_request_id: str | None) -> str | None:
    """Return the key that tells a repeated request from a new one; raise `Invalid` when there are two or it is odd."""
    if header is not None and client_request_id is not None and header != client_request_id:
        raise Invalid(
            "The header Idempotency-Key and the field client_request_id differ: send one of them.",
            field="client_request_id",
        )
    key = client_request_id if header is None else header
    if key is not None and _KEY.fullmatch(key) is None:
        raise Invalid(
            f"An idempotency key is 1 to {LARGEST_KEY} visible ASCII characters without spaces.",
            field="client_request_id" if header is None else "Idempotency-Key",
        )
    return key


def check_objective(objective: str) -> str:
    """Return the objective without surrounding space; raise `Invalid` when nothing is left."""
    kept = objective.strip()
    if not kept:
        raise Invalid("The objective is empty: say in a sentence what is to be found out.", field="objective")
    return kept


def check_as_of(as_of: str | None) -> None:
    """Raise `Invalid` unless ``as_of`` is None or names a year, month or day that the calendar has."""
    if as_of is None:
        return
    year, month, day = [*as_of.split("-"), "01", "01"][:3]
    try:
        date(int(year), int(month), int(day))
    except ValueError:
        raise Invalid(
            f"The calendar has no {as_of}: give a year, a month or a day, such as 2024, 2024-06 or 2024-06-30.",
            field="as_of",
        ) from None


def cleaned(value: Any) -> Any:
    """Return a JSON value with every string and key in it cleaned, so that each can be stored and shown."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [cleaned(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): cleaned(item) for key, item in value.items()}
    return value


def clean_name(sent: str | None) -> str:
    """Return the name of a form's field as it can be shown."""
    return " ".join(clean(sent or "").split())[:LARGEST_NAME] or "(without a name)"


def document_name(sent: str | None, ordinal: int) -> str:
    """Return the name that a file is listed under: a relative path with forward slashes, at most 255 characters.

    The name is a label and never used as a path.
    """
    text = " ".join(clean(sent or "").split()).replace("\\", "/")
    parts = [part for part in text.split("/") if part not in ("", ".", "..")]
    return "/".join(parts)[-LARGEST_NAME:] or f"document-{ordinal}"


def is_loopback(host: str) -> bool:
    """Tell whether a host name or address, without a port, names this machine only."""
    return _LOOPBACK.fullmatch(host.strip("[]")) is not None


def needs_keys(auth: str, host: str) -> bool:
    """Tell whether requests must carry a key: always, never, or unless only this machine can ask."""
    return auth == "keys" or (auth == "auto" and not is_loopback(host))


def host_of(header: str) -> str:
    """Return the host of a Host header without its port."""
    return urlsplit(f"//{header}").hostname or ""


def same_origin(origin: str, scheme: str, host_header: str) -> bool:
    """Tell whether an Origin header names the server that the Host header names.

    The scheme is that of the connection, and only used for its default port: behind a proxy it may differ.
    """
    try:
        theirs, ours = urlsplit(origin), urlsplit(f"//{host_header}")
        their_port = theirs.port or _DEFAULT_PORTS.get(theirs.scheme)
        our_ports = {ours.port} if ours.port else {_DEFAULT_PORTS.get(scheme), _DEFAULT_PORTS.get(theirs.scheme)}
    except ValueError:
        return False
    return theirs.hostname is not None and theirs.hostname == ours.hostname and their_port in our_ports
