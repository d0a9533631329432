"""`leadline inspect`: lines or files in, lines out."""

import argparse
import contextlib
import gzip
import io
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from infra.cli.console import Console
from infra.cli.exits import COMPLETED, CliError
from infra.cli.setup import load


def claim(args: argparse.Namespace, console: Console) -> int:
    """Judge each line of standard input."""
    del args
    from services.synthesizer.inspect import inspect_claims

    return _printed(inspect_claims(_standard_input()), console)


def rank(args: argparse.Namespace, console: Console) -> int:
    """Rank the corpus for each query."""
    from services.synthesizer import inspect

    with _lines(args.corpus) as corpus, _lines(args.queries) as queries:
        return _printed(inspect.rank(corpus, queries, args.limit), console)


def page(args: argparse.Namespace, console: Console) -> int:
    """Read each file."""
    from services.extractor.inspect import Served, inspect_pages

    headers = _headers(args.headers)
    served = Served(
        content_type=headers.get("content-type"),
        content_encoding=headers.get("content-encoding"),
        url=args.url,
        pdf_backend=load().pdf_backend,
    )
    return _printed(inspect_pages(args.files, served), console)


def duplicates(args: argparse.Namespace, console: Console) -> int:
    """Cluster the texts of standard input."""
    del args
    from services.extractor.inspect import inspect_duplicates

    return _printed(inspect_duplicates(_standard_input()), console)


def url(args: argparse.Namespace, console: Console) -> int:
    """Read each address of standard input."""
    del args
    from services.fetcher.inspect import inspect_urls

    return _printed(inspect_urls(_standard_input()), console)


def robots(args: argparse.Namespace, console: Console) -> int:
    """Ask the robots.txt of each line of standard input."""
    del args
    from services.fetcher.inspect import inspect_robots

    return _printed(inspect_robots(_standard_input()), console)


def address(args: argparse.Namespace, console: Console) -> int:
    """Judge each address of standard input."""
    del args
    from services.fetcher.inspect import inspect_addresses

    return _printed(inspect_addresses(_standard_input()), console)


def _standard_input() -> TextIO:
    """Return the lines of standard input; JSON lines end at a newline and nowhere else."""
    return io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace", newline="\n")


def _printed(lines: Iterable[str], console: Console) -> int:
    """Print lines as they come; what cannot be encoded is escaped as JSON has it."""
    for line in lines:
        console.write(f"{line}\n".encode("utf-8", "backslashreplace"))
    return COMPLETED


def _headers(text: str | None) -> dict[str, str]:
    """Return headers by lower-case name."""
    try:
        found = json.loads(text) if text is not None else {}
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise CliError('--headers has to be a JSON object of texts, such as {"Content-Type": "text/html"}.')
    return {name.lower(): value for name, value in found.items()}


@contextlib.contextmanager
def _lines(name: str) -> Iterator[TextIO]:
    """Open a file of lines, packed with gzip or not; JSON lines end at a newline and nowhere else."""
    path = Path(name)
    try:
        file = path.open("rb")
    except OSError as error:
        raise CliError(f"{path} cannot be read ({error.strerror}).") from error
    with file:
        packed = file.peek(2)[:2] == b"\x1f\x8b"
        raw = gzip.GzipFile(fileobj=file) if packed else file
        with io.TextIOWrapper(raw, encoding="utf-8", errors="replace", newline="\n") as text:
            yield text
