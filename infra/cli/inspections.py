"""`leadline inspect`: the parts of the system one by one, from outside; a table of what can be inspected."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

ParserT = TypeVar("ParserT", bound=argparse.ArgumentParser)


@dataclass(frozen=True, slots=True)
class Inspection:
    """A word after `inspect`, the ``module:name`` that carries it out, what it does, and its own options."""

    name: str
    function: str
    summary: str
    options: Callable[[argparse.ArgumentParser], None] = lambda _: None


def _rank_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--corpus", metavar="FILE", required=True, help='JSON lines of "_id", "title" and "text"')
    parser.add_argument("--queries", metavar="FILE", required=True, help='JSON lines of "_id" and "text"')
    parser.add_argument("-k", dest="limit", type=_limit, default=10, metavar="N", help="how many a query (10)")


def _page_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="pages or documents of any kind")
    parser.add_argument("--headers", metavar="JSON", help="headers that they came with, as an object")
    parser.add_argument("--url", metavar="URL", help="the address that they came from")


def _limit(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 7 else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 999,999")
    return number


INSPECTIONS: tuple[Inspection, ...] = (
    Inspection(
        "claim",
        "inspect:claim",
        'Judge claims: lines of {"claim", "evidence", "question"?, "as_of"?} in, a verdict for each out.',
    ),
    Inspection(
        "rank", "inspect:rank", "Rank a corpus for queries: a line of ids and scores for each query.", _rank_options
    ),
    Inspection("page", "inspect:page", "Read files: a line of text, maps, metadata and links for each.", _page_options),
    Inspection(
        "duplicates",
        "inspect:duplicates",
        'Find texts that are one: lines of {"id", "text", "url"?} in, the cluster of each out.',
    ),
    Inspection(
        "url", "inspect:url", 'Read addresses: lines of {"input", "base"?} in, canonical address and site of each out.'
    ),
    Inspection(
        "robots", "inspect:robots", 'Ask robots.txt: lines of {"robots", "agent", "url"} in, whether it is allowed out.'
    ),
    Inspection(
        "address",
        "inspect:address",
        'Judge addresses: lines of {"input", "resolves_to"?} in, allow or block with a code out.',
    ),
)
"""What can be inspected; every one reads lines and prints one line of JSON for each, in the same order."""


def add_inspections(commands: "argparse._SubParsersAction[ParserT]", parser_class: type[ParserT]) -> None:
    """Add the group to the command line."""
    about = "Look at one part of the system from outside: no run, no stack."
    group = commands.add_parser("inspect", help=about, description=about, allow_abbrev=False)
    below = group.add_subparsers(metavar="WHAT", required=True, parser_class=parser_class)
    for inspection in INSPECTIONS:
        made = below.add_parser(
            inspection.name, help=inspection.summary, description=inspection.summary, allow_abbrev=False
        )
        made.set_defaults(function=inspection.function, json=True)
        inspection.options(made)
