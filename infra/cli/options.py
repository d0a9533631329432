"""What the command line understands: one parser, and for each command the function that carries it out."""

import argparse
from typing import NoReturn, TypeAlias

from infra.cli.exits import WRONG_USE
from infra.cli.inspections import add_inspections

DEPTHS = ("quick", "standard", "thorough")
ENGINES = ("auto", "extractive", "llm", "managed:google", "managed:openai", "baseline")
FORMATS = ("md", "json", "html", "bundle")

Commands: TypeAlias = "argparse._SubParsersAction[Parser]"

ABOUT = "Research whose every sentence is tied to a span of a document and has been checked against it."
ASK_EXITS = """exit codes: 0 completed, 2 wrong use, 3 partial (a limit was reached, or not every question is answered),
4 nothing found (the report says what is missing and what comes nearest), 5 failed or cancelled, 130 interrupted"""


class Parser(argparse.ArgumentParser):
    """Says in one sentence what is wrong with the arguments."""

    def error(self, message: str) -> NoReturn:
        """End with exit code 2."""
        self.exit(WRONG_USE, f"leadline: {message}; see `{self.prog} --help`.\n")


def parser() -> Parser:
    """Return the parser; `function` of its result is ``module:name`` of what carries the command out."""
    made = Parser(prog="leadline", description=ABOUT, allow_abbrev=False)
    commands = made.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    _ask(commands)
    _runs(commands)
    _results(commands)
    _stack(commands)
    _keys(commands)
    _documents(commands)
    add_inspections(commands, Parser)
    _bench(commands)
    return made


def _command(commands: Commands, name: str, function: str, summary: str, *, data: bool = False) -> Parser:
    made: Parser = commands.add_parser(
        name,
        help=summary,
        description=summary,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.set_defaults(function=function, json=False)
    if data:
        made.add_argument("--json", action="store_true", help="print data as JSON")
    return made


def _keys(commands: Commands) -> None:
    keys = _command(commands, "keys", "keys:run", "Make, list and revoke the keys of a shared installation.")
    keys.add_argument("rest", nargs=argparse.REMAINDER, metavar="create|list|revoke", help="with their options")


def _bench(commands: Commands) -> None:
    bench = _command(commands, "bench", "bench:run", "Measure Leadline itself (in a checkout of the source).")
    bench.add_argument("measurement", choices=("faults", "mutants"), help="runs while everything dies; planted faults")
    bench.add_argument("rest", nargs=argparse.REMAINDER, metavar="OPTIONS", help="its own; see `bench faults --help`")


def _ask(commands: Commands) -> None:
    ask = _command(commands, "ask", "ask:run", "Answer a question from documents, pages and the web.", data=True)
    ask.epilog = ASK_EXITS
    ask.add_argument("question", metavar="QUESTION", help="what is to be found out, up to 4,000 characters")
    ask.add_argument(
        "--docs", metavar="PATH", action="append", default=[], help="a document, or a folder of them; may repeat"
    )
    ask.add_argument("--url", metavar="URL", action="append", default=[], help="a page to read; may repeat")
    ask.add_argument("--web", action="store_true", help="search the web too (alone, if no documents are named)")
    for option, help_text in (
        ("--only", "search and read nothing outside this domain; may repeat"),
        ("--prefer", "read what is found on this domain first; may repeat"),
        ("--exclude", "read nothing on this domain; may repeat"),
    ):
        ask.add_argument(option, metavar="DOMAIN", action="append", default=[], help=help_text)
    ask.add_argument("--depth", choices=DEPTHS, default="standard", help="how much effort to make (standard)")
    ask.add_argument("--engine", choices=ENGINES, default="auto", help="what plans, extracts and writes (auto)")
    ask.add_argument("--max-cost", metavar="USD", type=_dollars, help="what its calls of models may cost at most")
    ask.add_argument("--as-of", metavar="DATE", help="the year, month or day that questions of time are relative to")
    ask.add_argument("--yes", "-y", action="store_true", help="approve the plan without asking")
    ask.add_argument("-o", "--output", metavar="FILE", help="write the report to FILE instead of printing it")
    ask.add_argument("--bundle", metavar="FILE", help="also write the bundle, with which the report can be verified")


def _runs(commands: Commands) -> None:
    runs = _command(commands, "runs", "runs:list_runs", "List runs, newest first.", data=True)
    runs.add_argument("--limit", type=_count, default=20, metavar="N", help="how many at most (20)")
    for name, function, summary in (
        ("show", "runs:show", "Show a run: its plan, how far it is, what it used."),
        ("watch", "runs:watch", "Follow the events of a run until it ends."),
    ):
        _command(commands, name, function, summary, data=True).add_argument("run", metavar="RUN", help="id of the run")
    _actions(commands)


def _actions(commands: Commands) -> None:
    for name, summary in (
        ("pause", "Pause a run: what is under way ends and is kept, nothing new begins."),
        ("resume", "Let a paused run go on."),
        ("cancel", "Cancel a run."),
        ("retry", "Take up the phase again that a run failed in."),
    ):
        plain = _command(commands, name, "runs:control", summary, data=True)
        plain.add_argument("run", metavar="RUN", help="id of the run")
        plain.set_defaults(action=name)
    refine = _command(commands, "refine", "runs:refine", "Change the plan of a run; it waits for approval.", data=True)
    refine.add_argument("run", metavar="RUN", help="id of the run")
    refine.add_argument("instruction", metavar="TEXT", help="what is to change, in a sentence")
    budget = _command(commands, "budget", "runs:increase_budget", "Raise limits that a run stopped at.", data=True)
    budget.add_argument("run", metavar="RUN", help="id of the run")
    budget.add_argument("limits", metavar="NAME=NUMBER", nargs="+", help="such as searches=20")
    approve = _command(commands, "approve", "runs:approve", "Approve the plan of a run.", data=True)
    approve.add_argument("run", metavar="RUN", help="id of the run")
    approve.add_argument("--version", type=_count, metavar="N", help="the version of the plan that you have read")


def _results(commands: Commands) -> None:
    report = _command(commands, "report", "report:run", "Print the report of a run.", data=True)
    report.add_argument("run", metavar="RUN", help="id of the run")
    report.add_argument("--format", choices=FORMATS, help="md (as printed), json, html, or bundle")
    report.add_argument("-o", "--output", metavar="FILE", help="write to FILE instead of printing")
    verify = _command(commands, "verify", "verify:run", "Check a bundle again, offline.", data=True)
    verify.add_argument("bundle", metavar="BUNDLE", help="the file")


def _stack(commands: Commands) -> None:
    up = _command(commands, "up", "stack:up", "Start Leadline and leave it running.", data=True)
    up.add_argument("--port", type=_port, metavar="N", help="port of the HTTP API (any free one)")
    up.add_argument("--flower", action="store_true", help="start Flower too, which shows workers and steps")
    _command(commands, "down", "stack:down", "Stop Leadline.", data=True)
    _command(commands, "doctor", "doctor:run", "Check that everything Leadline needs is there.", data=True)


def _documents(commands: Commands) -> None:
    docs = commands.add_parser("docs", help="Add and list documents.", description="Add and list documents.")
    below = docs.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    add = _command(below, "add", "docs:add", "Add documents to the library.", data=True)
    add.add_argument("paths", metavar="PATH", nargs="+", help="a document, or a folder of them")
    _command(below, "list", "docs:list_documents", "List the documents of the library.", data=True)


def _count(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return number


def _dollars(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = 0.0
    if not 0 < amount < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no amount of US dollars, such as 0.50")
    return amount


def _port(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port between 0 and 65535")
    return number
