"""`leadline runs`, `show`, `watch`, `approve` and the other actions: what there is to know and to say about runs."""

import argparse
import json
import re

from infra.cli import checks
from infra.cli.console import Console
from infra.cli.exits import CliError, code_of
from infra.cli.progress import sentence
from infra.cli.setup import gateway
from infra.cli.text import run_lines, run_table
from shared.contracts.runs import ControlRequest, Run

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def list_runs(args: argparse.Namespace, console: Console) -> int:
    """List runs, newest first."""
    with gateway(console) as client:
        runs = list(client.runs(limit=args.limit))
    if args.json:
        console.print(json.dumps([run.model_dump(mode="json") for run in runs], ensure_ascii=False, indent=2))
    elif not runs:
        console.say("There are no runs yet: `leadline ask` starts one.")
    else:
        for line in run_table(runs):
            console.print(line)
    return 0


def show(args: argparse.Namespace, console: Console) -> int:
    """Show one run."""
    run_id = checks.run_id(args.run)
    with gateway(console) as client:
        run = client.run(run_id)
    _print(run, args.json, console)
    return 0


def watch(args: argparse.Namespace, console: Console) -> int:
    """Print the events of a run as they happen; the exit code says how it ended."""
    run_id = checks.run_id(args.run)
    with gateway(console) as client:
        for event in client.events(run_id):
            if args.json:
                console.print(json.dumps(event.as_data(), ensure_ascii=False))
            else:
                console.print(f"{event.seq:>5}  {event.at:%H:%M:%S}  {event.type:<22}  {sentence(event)}".rstrip())
        run = client.run(run_id)
    return code_of(run.status, run.stop_reason)


def approve(args: argparse.Namespace, console: Console) -> int:
    """Approve the plan."""
    return _act(args, ControlRequest(action="approve_plan", expected_version=args.version), console)


def control(args: argparse.Namespace, console: Console) -> int:
    """Pause, resume, cancel or retry a run: the command's own name is the action."""
    return _act(args, ControlRequest(action=args.action), console)


def refine(args: argparse.Namespace, console: Console) -> int:
    """Send a run back to its plan with an instruction."""
    return _act(args, ControlRequest(action="refine", instruction=args.instruction), console)


def increase_budget(args: argparse.Namespace, console: Console) -> int:
    """Raise limits of a run that stopped at one, and let it go on."""
    limits: dict[str, int | float] = {}
    for given in args.limits:
        name, _, value = given.partition("=")
        if _NUMBER.fullmatch(value) is None:
            raise CliError(f"A limit is given as NAME=NUMBER, such as searches=20, not as {given!r}.")
        limits[name] = float(value) if "." in value else int(value)
    return _act(args, ControlRequest(action="increase_budget", limits=limits), console)


def _act(args: argparse.Namespace, request: ControlRequest, console: Console) -> int:
    run_id = checks.run_id(args.run)
    with gateway(console) as client:
        run = client.act(run_id, request)
    _changed(run, args.json, console)
    return 0


def _changed(run: Run, as_json: bool, console: Console) -> None:
    if as_json:
        _print(run, as_json, console)
    else:
        console.say(f"Run {run.run_id} is {run.status}.")


def _print(run: Run, as_json: bool, console: Console) -> None:
    if as_json:
        console.print(json.dumps(run.model_dump(mode="json"), ensure_ascii=False, indent=2))
    else:
        for line in run_lines(run):
            console.print(line)
