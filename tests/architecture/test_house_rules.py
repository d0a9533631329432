"""House rules that no linter knows: every kind has a handler and a queue, every event a type, every setting a row."""

import ast
import importlib
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import AliasChoices

from services.extractor.tasks import TASKS as EXTRACTOR
from services.fetcher.tasks import BROWSER_TASKS
from services.fetcher.tasks import TASKS as FETCHER
from services.planner.tasks import TASKS as PLANNER
from services.synthesizer.tasks import TASKS as SYNTHESIZER
from shared.config.settings import Settings
from shared.contracts.events import EVENT_TYPES
from shared.domain.kinds import KINDS, kinds_of
from shared.domain.states import CLAIMABLE, StepKind

ROOT = Path(__file__).parents[2]
CODE = [p for top in ("services", "shared", "infra") for p in sorted((ROOT / top).rglob("*.py"))]


def test_every_kind_of_step_has_its_place() -> None:
    """Each kind has a queue, a status in which it may run, and exactly the service of its queue handles it."""
    assert set(KINDS) == set(StepKind)
    assert {kind for by_status in CLAIMABLE.values() for kinds in by_status.values() for kind in kinds} == set(StepKind)
    tables = {"planner": PLANNER, "fetcher": FETCHER, "extractor": EXTRACTOR, "synthesizer": SYNTHESIZER}
    for queue, table in tables.items():
        assert set(table) == kinds_of(queue)
    assert set(BROWSER_TASKS) == kinds_of("fetcher.browser")


def test_every_event_that_is_sent_has_a_type() -> None:
    """The types named in the code are those of the contract."""
    named = set()
    for path in CODE:
        named |= set(re.findall(r"(?:\.event\(|NewEvent\(type=)\s*\"(\w+)\"", path.read_text()))
    assert named <= set(EVENT_TYPES)
    assert named >= {"status_changed", "step_started", "report_ready", "statement_dropped"}


def test_every_setting_is_in_the_readme() -> None:
    """The documented table and the settings are the same list."""
    table = set(re.findall(r"^\| `([A-Z][A-Z_]+)` \|", (ROOT / "README.md").read_text(), re.M))
    fields = Settings.model_fields.items()
    assert table == {_first(field.validation_alias) or f"LEADLINE_{name.upper()}" for name, field in fields}


def _first(alias: object) -> object:
    return alias.choices[0] if isinstance(alias, AliasChoices) else alias


def _calls(path: Path) -> Iterator[tuple[str, int, list[str]]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            yield name, node.lineno, [k.arg or "" for k in node.keywords]


@pytest.mark.parametrize("path", CODE, ids=lambda p: str(p.relative_to(ROOT)))
def test_celery_is_only_a_messenger(path: Path) -> None:
    """No countdown, eta, canvas or Celery retry anywhere: time and retries live in the ledger."""
    for name, line, keywords in _calls(path):
        assert not {"countdown", "eta"} & set(keywords), f"{path}:{line}"
        assert name not in ("chord", "apply_async", "autoretry_for"), f"{path}:{line}"


def test_importing_a_worker_opens_nothing() -> None:
    """A worker's modules can be imported without a setting, a thread or a connection."""
    before = threading.active_count()
    for service in ("planner", "fetcher", "extractor", "synthesizer"):
        importlib.import_module(f"services.{service}.worker")
    assert threading.active_count() == before


def test_the_project_speaks_only_of_itself() -> None:
    """No file names a machine path, a registry host or how the project is made."""
    forbidden = re.compile(r"/work/|/root/|pypi\.org|files\.pythonhosted|\bChatGPT\b|\bClaude\b(?!-)|as an AI\b", re.I)
    tracked = [p for p in ROOT.rglob("*") if p.is_file() and not _ignored(p)]
    found = [f"{p.relative_to(ROOT)}: {m.group()}" for p in tracked if (m := forbidden.search(_text(p)))]
    assert found == []


def _ignored(path: Path) -> bool:
    parts = set(path.relative_to(ROOT).parts)
    hidden = {".git", ".venv", "weights", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis"}
    return bool(parts & hidden) or ".import_linter_cache" in parts or path == Path(__file__)


def _text(path: Path) -> str:
    data = path.read_bytes()
    return "" if b"\0" in data else data.decode("utf-8", "replace")
