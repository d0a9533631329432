"""Which files of a folder are documents: found, measured and hashed before anything is started."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from infra.cli.exits import CliError
from shared.domain.file_kinds import KINDS_SHOWN
from shared.domain.file_marks import SAMPLE, unread_reason

MOST_DOCUMENTS = 10_000
NAMES_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Found:
    """A file that can be sent; ``name`` is its path below the folder that was named."""

    name: str
    path: Path
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that cannot, and why."""

    name: str
    reason: str


@dataclass(slots=True)
class Gathered:
    """What was found, each content once, and what was passed over."""

    found: dict[str, Found] = field(default_factory=dict)
    """By sha256."""
    skipped: list[Skipped] = field(default_factory=list)

    def skipped_line(self) -> str | None:
        """Return one line about what was passed over, None when nothing was."""
        return passed_over("Skipped", self.skipped)


def passed_over(verb: str, skipped: Sequence[Skipped]) -> str | None:
    """Return one line that counts and names files, None for none."""
    if not skipped:
        return None
    names = [f"{item.name} ({item.reason})" for item in skipped[:NAMES_SHOWN]]
    more = [f"and {len(skipped) - NAMES_SHOWN} more"] if len(skipped) > NAMES_SHOWN else []
    return f"{verb} {len(skipped)} {'file' if len(skipped) == 1 else 'files'}: {', '.join(names + more)}"


def gather(paths: Sequence[str], largest: int) -> Gathered:
    """Return the documents at these paths; ``largest`` bounds the bytes of one.

    A folder is searched to its depths, without hidden files and without following links out of it; what is unfit in it
    is passed over. A file that is named itself must be fit. Raises `CliError` when it is not, or when nothing is found.
    """
    gathered = Gathered()
    check_exist(paths)
    for path in map(Path, paths):
        if path.is_dir():
            root = path.resolve()
            for file in _files_below(path):
                name = file.relative_to(path).as_posix()
                reason = _leads_away(file, root)
                if reason is None:
                    _take(gathered, name, file, largest)
                else:
                    gathered.skipped.append(Skipped(name, reason))
        else:
            before = len(gathered.skipped)
            _take(gathered, path.name, path, largest)
            if len(gathered.skipped) > before:
                raise CliError(f"{path} cannot be used as a document: {gathered.skipped[-1].reason}.")
    if paths and not gathered.found:
        raise CliError(f"There is no readable document in {', '.join(paths)}: {KINDS_SHOWN} are read.")
    if len(gathered.found) > MOST_DOCUMENTS:
        raise CliError(f"{len(gathered.found):,} documents are more than the {MOST_DOCUMENTS:,} that a run can use.")
    return gathered


def check_exist(paths: Sequence[str]) -> None:
    """Raise `CliError` for a path at which nothing is."""
    for path in map(Path, paths):
        if not os.path.lexists(path):
            raise CliError(f"{path} does not exist: name a document or a folder of documents.")


def _files_below(folder: Path) -> Iterator[Path]:
    """Yield the files and linked folders of a folder and its subfolders in order, without what is hidden."""

    def refuse(error: OSError) -> None:
        raise CliError(f"The folder {error.filename} cannot be read ({error.strerror}): see who may read it.")

    for place, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        linked = [name for name in folders if os.path.islink(os.path.join(place, name))]
        yield from (Path(place, name) for name in sorted((*files, *linked)) if not name.startswith("."))


def _leads_away(path: Path, root: Path) -> str | None:
    """Return why a link is not followed, None for what is no link or leads to a file of the same folder."""
    if not path.is_symlink():
        return None
    try:
        target = path.resolve()
    except (OSError, RuntimeError):
        return "a link that leads nowhere"
    if path.is_dir():
        return "a linked folder: name it to have it read"
    return None if target.is_relative_to(root) else "a link out of the folder: name the file itself to have it read"


def _take(gathered: Gathered, name: str, path: Path, largest: int) -> None:
    """Add a file to what was found, or to what is passed over."""
    reason, sha256, size = _judge(path, largest)
    if reason is not None:
        gathered.skipped.append(Skipped(name, reason))
    else:
        gathered.found.setdefault(sha256, Found(name, path, size, sha256))


def _judge(path: Path, largest: int) -> tuple[str | None, str, int]:
    """Return why a file is unfit, or None, its sha256 and its size."""
    if not path.is_file():
        return "not a file", "", 0
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > largest:
                return f"{size:,} bytes, over the limit of {largest:,}", "", size
            reason = unread_reason(path.name, file.read(SAMPLE))
            if reason is not None:
                return reason, "", size
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"unreadable: {error.strerror}", "", 0
    return (None, digest, size) if size else ("empty", "", 0)
