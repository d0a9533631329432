"""What can be known to be wrong with a command's arguments before anything is started."""

import contextlib
import os
import re
from datetime import date
from pathlib import Path

from infra.cli.exits import CliError

LONGEST_QUESTION = 4000
_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?", re.ASCII)
_RUN = re.compile(r"[A-Za-z0-9_-]{1,64}")


def question(text: str) -> str:
    """Return the question without surrounding space."""
    kept = text.strip()
    if not any(c.isprintable() and not c.isspace() for c in kept):
        raise CliError("The question is empty: say in a sentence what is to be found out.")
    if len(kept) > LONGEST_QUESTION:
        raise CliError(f"The question has {len(kept):,} characters; it may have {LONGEST_QUESTION:,}: shorten it.")
    return kept


def as_of(text: str | None) -> str | None:
    """Return a year, month or day that the calendar has."""
    if text is None:
        return None
    with contextlib.suppress(ValueError):  # the form is right, but the calendar has no such day
        if _DATE.fullmatch(text):
            date.fromisoformat((text + "-01-01")[:10])
            return text
    raise CliError(f"--as-of {text} is not a date: give a year, a month or a day, such as 2024, 2024-06 or 2024-06-30.")


def run_id(text: str) -> str:
    """Return what may be the id of a run."""
    if not _RUN.fullmatch(text):
        raise CliError(f"{text!r} is not the id of a run: `leadline runs` lists them.")
    return text


def target(text: str | None) -> Path | None:
    """Return where to write a file; its folder has to be there and open to us, so that no work is done in vain."""
    if text is None:
        return None
    path = Path(text)
    if os.path.isdir(path):
        raise CliError(f"{path} is a folder: name a file to write to.")
    if not os.path.isdir(path.parent):
        raise CliError(f"The folder {path.parent} does not exist: make it first, or write elsewhere.")
    if not os.access(path.parent, os.W_OK | os.X_OK) or not path.name:
        raise CliError(f"Nothing can be written to {path.parent}: write elsewhere, or change who may.")
    try:
        path.lstat()
    except FileNotFoundError:
        return path
    except OSError as error:  # a name that is too long, for one
        raise CliError(f"{path.name[:50]} cannot be written ({error.strerror}): choose another name.") from None
    return path


def targets(report: str | None, bundle: str | None) -> tuple[Path | None, Path | None]:
    """Return where to write report and bundle, which must not be the same file."""
    first, second = target(report), target(bundle)
    if first is not None and second is not None and first.absolute() == second.absolute():
        raise CliError(f"Report and bundle would both be written to {first}: name two files.")
    return first, second
