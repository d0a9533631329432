"""Which account the embedded servers run under, and where that account can reach their files.

PostgreSQL refuses to run as root, so under root both servers run as `nobody`. That account cannot reach anything below
a closed folder such as /root: then the servers' files go to a folder of their own elsewhere, and so does a copy of the
programs. They also go there for a new home whose path holds what initdb cannot quote in the path of its own program, of
which a copy may have to lie beside the data; data that exist stay where they are. No account is made, and no existing
folder outside the home is opened. For an ordinary user nothing changes.
"""

import hashlib
import os
import pwd
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

from infra.standalone.errors import ServerError
from infra.standalone.home import Home
from infra.standalone.system import Account

SERVER_USER = "nobody"
ELSEWHERE = (Path("/var/lib"), Path("/var/tmp"), Path("/tmp"))  # noqa: S108 - the folder made there is checked
PASSABLE = 0o711
UNQUOTED = frozenset('"$`\\')
"""Characters that a shell looks at within double quotes, between which initdb puts its path."""


def server_account() -> Account | None:
    """Return the account the servers have to run under, None for the caller's own."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(SERVER_USER)
    except KeyError as error:
        raise ServerError(
            f"PostgreSQL does not run as root, and this system has no account '{SERVER_USER}' to run it under: "
            "call leadline as an ordinary user, or set LEADLINE_DATABASE_URL."
        ) from error
    return Account(entry.pw_uid, entry.pw_gid)


def server_folder(home: Home, account: Account | None, name: str) -> Path:
    """Return the folder for the files of one server, made if need be: in the home, or elsewhere if it will not do."""
    if account is None:
        return home.path / name
    home_folder = home.path / name
    outside = folder_elsewhere(home)
    settled = _holds_data(home.pg)
    if outside is None and (settled or (may_pass(home.path.parent, account) and not _is_unquoted(home.path))):
        for folder in (home.path, home_folder):
            folder.chmod(stat.S_IMODE(folder.stat().st_mode) | 0o011)
        return home_folder
    base = outside or _make_outside(home, account)
    folder = base / name
    folder.mkdir(mode=PASSABLE, exist_ok=True)
    folder.chmod(PASSABLE)
    return folder


def _holds_data(folder: Path) -> bool:
    return folder.joinpath("data").exists()


def _is_unquoted(path: Path) -> bool:
    return not UNQUOTED.isdisjoint(str(path.resolve()))


def _outside_name(home: Home) -> str:
    digest = hashlib.sha256(os.fsencode(home.path.resolve())).hexdigest()
    return f"leadline-{digest[:16]}"


def folder_elsewhere(home: Home) -> Path | None:
    """Return the folder made for this home earlier; one that another account made is not ours."""
    for base in ELSEWHERE:
        folder = base / _outside_name(home)
        if folder.is_dir() and not folder.is_symlink() and folder.stat().st_uid == os.geteuid():
            return folder
    return None


def _make_outside(home: Home, account: Account) -> Path:
    for base in ELSEWHERE:
        folder = base / _outside_name(home)
        if not base.is_dir() or not may_pass(base, account) or folder.exists() or folder.is_symlink():
            continue
        try:
            folder.mkdir(mode=PASSABLE)
            folder.chmod(PASSABLE)
        except OSError:
            continue
        return folder
    raise ServerError(
        f"The account '{SERVER_USER}', which runs the servers for root, can reach neither {home.path} nor a folder in "
        f"{', '.join(map(str, ELSEWHERE))}: set LEADLINE_HOME to a folder it can reach, such as /srv/leadline."
    )


def own(path: Path, account: Account | None) -> None:
    """Hand a file or folder to the server's account."""
    if account is not None:
        os.chown(path, account.uid, account.gid)


def may_pass(folder: Path, account: Account) -> bool:
    """Say whether the account can reach what is in `folder`, by the mode bits of it and all its parents."""
    resolved = folder.resolve()
    return all(_allowed(place, account, 0o1) for place in (resolved, *resolved.parents))


def may_run(program: Path, account: Account) -> bool:
    """Say whether the account can read and run `program`."""
    return may_pass(program.parent, account) and _allowed(program.resolve(), account, 0o5)


def _allowed(path: Path, account: Account, bits: int) -> bool:
    """Judge by the class of the mode that applies to the account: owner, else group, else others."""
    status = path.stat()
    if status.st_uid == account.uid:
        shift = 6
    elif status.st_gid == account.gid:
        shift = 3
    else:
        shift = 0
    return (status.st_mode >> shift) & bits == bits


def readable_copy(sources: Sequence[Path], target: Path) -> None:
    """Copy files and folders side by side into the new folder `target`, readable by everyone; an existing one stays.

    The copy gets its name, `<what>-<version>`, when it is complete; those of other versions are removed.
    """
    if target.exists():
        return
    for former in target.parent.glob(f"{target.name.partition('-')[0]}-*"):
        shutil.rmtree(former)
    draft = target.with_name(f"{target.name}.new")
    draft.mkdir()
    for source in sources:
        if source.is_dir():
            shutil.copytree(source, draft / source.name, symlinks=True)
        elif source.exists():
            shutil.copy2(source, draft / source.name)
    for path in (draft, *draft.rglob("*")):
        if not path.is_symlink():
            runnable = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
            path.chmod(0o755 if runnable else 0o644)
    draft.rename(target)
