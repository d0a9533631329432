"""Fixtures that more than one folder of tests uses: real servers, started once, and a fresh database for each test."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from shared.db.engine import Transactions, open_engine
from shared.db.migrate import migrate
from tests.support.servers import fresh_database, postgres_server, valkey_server

# No test depends on timing, nor on luck: the same examples each time. New ones: `--hypothesis-profile explore`.
settings.register_profile("leadline", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("leadline")

# A shell that starts this in the background has it ignore interrupts: processes that tests interrupt would do so too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

CORPORA = Path(__file__).parents[1] / "evals" / "corpora"
TEST_DATA = Path(os.environ.get("LEADLINE_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The superuser's URL of a Postgres server for the whole session."""
    with postgres_server(tmp_path_factory.mktemp("postgres")) as url:
        yield url


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a Valkey server for the whole session."""
    with valkey_server(tmp_path_factory.mktemp("valkey")) as url:
        yield url


@pytest.fixture(scope="session")
def template_database(postgres: str) -> Iterator[str]:
    """A migrated database to copy from."""
    with fresh_database(postgres) as url:
        migrate(url)
        yield url


@pytest.fixture
def database(postgres: str, template_database: str) -> Iterator[str]:
    """The URL of a migrated, empty database of the test's own."""
    with fresh_database(postgres, template_database) as url:
        yield url


@pytest.fixture
def transactions(database: str) -> Iterator[Transactions]:
    """Transactions over the test's database."""
    made = Transactions(open_engine(database, pool_size=8))
    yield made
    made.close()


@pytest.fixture
def harbor() -> Path:
    """The folder of the harbor corpus."""
    return CORPORA / "harbor"
