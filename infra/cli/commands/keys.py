"""`leadline keys`: handed on to the gateway's own command, with the database of the local stack or of the settings."""

import argparse
import subprocess
import sys

from infra.cli.console import Console
from infra.cli.setup import check_servers, load
from infra.standalone.home import Home
from infra.standalone.stack import using
from shared.config.settings import environment

ADMIN = "services.gateway.admin"


def run(args: argparse.Namespace, console: Console) -> int:
    """Carry out a command about keys."""
    settings = load()
    rest = [word for word in args.rest if word != "--"] or ["--help"]
    if settings.database_url is not None:
        check_servers(settings)
        return _admin(rest, settings.database_url.get_secret_value())
    with using(Home(settings.home), settings, console.status) as info:
        return _admin(rest, info.database_url)


def _admin(rest: list[str], database_url: str) -> int:
    surroundings = {**environment(), "LEADLINE_DATABASE_URL": database_url}
    return subprocess.run([sys.executable, "-m", ADMIN, "keys", *rest], env=surroundings, check=False).returncode
