"""A part of the database on a disk of a few megabytes that can be filled: a tablespace on a memory file system."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from tests.support.servers import postgres_account, without_driver

MEGABYTES = 12
BLOCK = bytes(65_536)


@dataclass(frozen=True)
class SmallDisk:
    """The folder that a tablespace lies in."""

    folder: Path

    def fill(self) -> None:
        """Leave no room."""
        with (self.folder / "filler").open("wb", buffering=0) as file, suppress(OSError):
            while file.write(BLOCK):
                pass

    def make_room(self) -> None:
        """Undo that."""
        (self.folder / "filler").unlink(missing_ok=True)


@contextmanager
def on_small_disk(admin_url: str, database_url: str, *tables: str) -> Iterator[SmallDisk]:
    """Move tables to a small disk, and back afterwards; skips where none can be mounted."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk takes root")
    folder = Path(tempfile.mkdtemp(prefix="leadline-disk-", dir="/tmp"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        folder.rmdir()
        pytest.skip("no file system can be mounted here")
    try:
        data = folder / "data"
        data.mkdir(mode=0o700)
        folder.chmod(0o755)
        account = postgres_account()
        if account is not None:
            os.chown(data, account.uid, account.gid)
        _run(admin_url, sql.SQL("CREATE TABLESPACE small_disk LOCATION {}").format(sql.Literal(str(data))))
        _move(database_url, admin_url, tables, "small_disk")
        try:
            yield SmallDisk(folder)
        finally:
            _move(database_url, admin_url, tables, "pg_default")
            _run(admin_url, sql.SQL("DROP TABLESPACE small_disk"))
    finally:
        subprocess.run(["umount", str(folder)], check=True)
        folder.rmdir()


def _move(database_url: str, admin_url: str, tables: tuple[str, ...], space: str) -> None:
    """Move tables as the superuser, who may use every tablespace."""
    name = database_url.rpartition("/")[2]
    for table in tables:
        statement = sql.SQL("ALTER TABLE {} SET TABLESPACE {}").format(sql.Identifier(table), sql.Identifier(space))
        _run(f"{admin_url.rpartition('/')[0]}/{name}", statement)


def _run(url: str, statement: sql.Composable) -> None:
    with psycopg.connect(without_driver(url), autocommit=True, connect_timeout=10) as connection:
        connection.execute(statement)
