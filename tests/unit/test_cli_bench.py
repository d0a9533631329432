"""`leadline bench`: what runs, and what is said where it cannot run."""

from pathlib import Path

import pytest

from infra.cli.commands import bench
from infra.cli.console import Console
from infra.cli.exits import CliError
from infra.cli.options import parser


def test_every_measurement_is_there() -> None:
    """In a checkout each of them is a package that can be run."""
    for module in bench.PROGRAMS.values():
        assert (bench.PROJECT / module.replace(".", "/") / "__main__.py").is_file()


def test_options_belong_to_the_measurement() -> None:
    """What follows the name of a measurement is handed on."""
    asked = parser().parse_args(["bench", "faults", "--runs", "3", "--json", "-"])
    assert (asked.measurement, asked.rest) == ("faults", ["--runs", "3", "--json", "-"])


def test_without_the_source_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An installation without the evaluations ends with a sentence."""
    monkeypatch.setattr(bench, "PROJECT", tmp_path)
    asked = parser().parse_args(["bench", "faults"])
    with pytest.raises(CliError, match="checkout of the source"):
        bench.run(asked, Console())
