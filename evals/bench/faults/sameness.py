"""The normal form of a run: what it found, said and told, without what may differ between two runs of one input.

Left out: ids, times, order, hosts and what tells of attempts. Everything else has to be equal.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, text

_ID = re.compile(r"\b(?:run|stp|src|ev|evd|fch|own|doc|stm)_[0-9a-z]{26}\b")
_HOST = re.compile(r"(?<![a-z0-9])([a-z])\d{3}\.test\b")  # in an encoded address too: %3Aa001.test
_OF_ATTEMPTS = ("step_started", "step_retrying")
_TIMES = frozenset(
    {"at", "created_at", "retrieved_at", "updated_at", "elapsed_ms", "elapsed_s", "retries", "attempt", "attempts"}
)

_NAMES = {
    "run": "select id, 'run' from runs where id = :run",
    "step": "select id, 'step ' || epoch || ' ' || key from steps where run_id = :run",
    "source": "select id, 'source ' || (body->>'canonical_url') from sources where run_id = :run",
    "evidence": (
        "select id, 'evidence ' || (body->>'snapshot_sha256') || ' ' || (body->>'start') || '-' || (body->>'end') "
        "|| ' of ' || source_id from evidence where run_id = :run"
    ),
    "statement": "select id, 'statement ' || section_id || ' ' || ordinal from statements where run_id = :run",
    "fetch": "select id, 'fetch of ' || (body->>'requested_url') from fetches where run_id = :run",
}

_PARTS = {
    "run": "select status, stop_reason, iteration, epoch, plan_version, report_version from runs where id = :run",
    "steps": "select kind, key, iteration, subject, status, result, inputs, error from steps where run_id = :run",
    "sources": "select ordinal, status, source_class, body from sources where run_id = :run",
    "fetches": "select refusal, body from fetches where run_id = :run",
    "evidence": "select question_ids, stance, relevance_bp, body from evidence where run_id = :run",
    "contradictions": "select claim_key, found_in, body from contradictions where run_id = :run",
    "statements": "select section_id, ordinal, draft, verdict from statements where run_id = :run",
    "report": "select version, status, body from reports where run_id = :run",
    "events": "select type, payload from events where run_id = :run",
}


@dataclass(frozen=True, slots=True)
class NormalForm:
    """The rows of each part of a run, each row a JSON text, sorted."""

    parts: Mapping[str, tuple[str, ...]]

    def differences(self, other: "NormalForm") -> dict[str, tuple[list[str], list[str]]]:
        """Return for each part that differs the rows that only this form has, and those that only the other has."""
        found = {}
        for part, rows in self.parts.items():
            ours, theirs = _without(rows, other.parts[part]), _without(other.parts[part], rows)
            if ours or theirs:
                found[part] = (ours, theirs)
        return found


def normal_form(connection: Connection, run_id: str) -> NormalForm:
    """Read a run."""
    names: dict[str, str] = {}
    for query in _NAMES.values():
        names |= {row[0]: row[1] for row in connection.execute(text(query), {"run": run_id})}
    parts = {}
    for part, query in _PARTS.items():
        rows = [dict(row._mapping) for row in connection.execute(text(query), {"run": run_id})]
        if part == "events":
            rows = [row for row in rows if row["type"] not in _OF_ATTEMPTS]
        if part == "sources":
            rows = [{**row, "ordinal": None} for row in rows]
        parts[part] = tuple(sorted(_spelled(row, names) for row in rows))
    return NormalForm(parts)


def _spelled(row: Mapping[str, Any], names: Mapping[str, str]) -> str:
    words = json.dumps(_timeless(row), sort_keys=True, default=str, ensure_ascii=False)
    for _ in range(3):  # names may hold ids
        words = _ID.sub(lambda match: names.get(match[0], f"unknown {match[0][:4]}"), words)
    return _HOST.sub(r"\1.test", words)


def _timeless(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _timeless(inner) for key, inner in value.items() if key not in _TIMES}
    if isinstance(value, list | tuple):
        return [_timeless(inner) for inner in value]
    return value


def _without(rows: tuple[str, ...], others: tuple[str, ...]) -> list[str]:
    left = list(others)
    missing = []
    for row in rows:
        if row in left:
            left.remove(row)
        else:
            missing.append(row)
    return missing
