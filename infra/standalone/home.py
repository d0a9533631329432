"""Where everything of one stack lives on disk: the layout of `LEADLINE_HOME`."""

import os
from dataclasses import dataclass
from pathlib import Path

from infra.standalone.errors import HomeOwnerError
from infra.standalone.files import private_folder


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of one stack, 0700; two homes are two independent stacks.

    pg/      credentials and, unless the server has to run as another account, the data of PostgreSQL
    valkey/  the password and configuration of Valkey
    logs/    one file for each process
    run/     locks, what is known about the running stack, and where its processes show their figures
    flower.json  where Flower listens and what it asks for, once it was started
    """

    path: Path

    def __post_init__(self) -> None:
        """Make the path absolute: processes of the stack run in other working folders."""
        object.__setattr__(self, "path", self.path.absolute())

    def create(self) -> None:
        """Make the folders that do not exist yet; the mode of an existing home is left alone.

        Raises HomeOwnerError when another account made them: root too would leave files that the owner cannot use.
        """
        for folder in (self.path, self.pg, self.valkey, self.logs, self.run):
            private_folder(folder)
        owner = self.run.stat().st_uid
        if owner != os.geteuid():
            raise HomeOwnerError(str(self.path), owner, os.geteuid())

    def log(self, name: str) -> Path:
        """Return the log file of the process called `name`."""
        return self.logs / f"{name}.log"

    @property
    def pg(self) -> Path:
        """Folder of PostgreSQL."""
        return self.path / "pg"

    @property
    def valkey(self) -> Path:
        """Folder of Valkey."""
        return self.path / "valkey"

    @property
    def logs(self) -> Path:
        """Folder of the log files."""
        return self.path / "logs"

    @property
    def run(self) -> Path:
        """Folder of the locks and state files."""
        return self.path / "run"

    @property
    def flower(self) -> Path:
        """Where Flower listens, its name and its password (JSON, 0600)."""
        return self.path / "flower.json"

    @property
    def supervisor_lock(self) -> Path:
        """Held exclusively by the supervisor for its whole life."""
        return self.run / "supervisor.lock"

    @property
    def start_lock(self) -> Path:
        """Held exclusively for as long as one command starts, joins, leaves or stops the stack."""
        return self.run / "start.lock"

    @property
    def users_lock(self) -> Path:
        """Held shared by every command that needs the stack to stay up."""
        return self.run / "users.lock"

    @property
    def keep_up_marker(self) -> Path:
        """Exists once a shared stack was told to stay up when its last user leaves."""
        return self.run / "keep-up"

    @property
    def state(self) -> Path:
        """What a ready stack says about itself (JSON, 0600)."""
        return self.run / "stack.json"

    @property
    def children(self) -> Path:
        """The processes to end should the supervisor be killed (JSON, 0600)."""
        return self.run / "children.json"
