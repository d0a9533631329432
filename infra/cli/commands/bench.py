"""`leadline bench`: the project's own measurements, run as programs of their own; only in a checkout of the source."""

import argparse
import subprocess
import sys

from infra.cli.console import Console
from infra.cli.exits import CliError
from infra.standalone.plan import PROJECT
from shared.config.settings import environment

PROGRAMS = {"faults": "evals.bench.faults", "mutants": "evals.bench.mutants"}
"""Measurements and the modules that make them."""


def run(args: argparse.Namespace, console: Console) -> int:
    """Run a measurement with the options behind its name; its exit code is ours."""
    del console
    module = PROGRAMS[args.measurement]
    if not (PROJECT / module.replace(".", "/")).exists():
        raise CliError(f"`leadline bench {args.measurement}` needs a checkout of the source, which this is not.")
    surroundings = {**environment(), "PYTHONPATH": str(PROJECT)}
    rest = [word for word in args.rest if word != "--"]
    return subprocess.run([sys.executable, "-m", module, *rest], cwd=PROJECT, env=surroundings, check=False).returncode
