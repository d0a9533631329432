"""`leadline up` and `leadline down`: the local stack."""

import argparse
import json
from urllib.parse import urlsplit

from infra.cli.console import Console
from infra.cli.exits import CliError
from infra.cli.setup import check_servers, load
from infra.standalone.home import Home
from infra.standalone.stack import running, start, stop


def up(args: argparse.Namespace, console: Console) -> int:
    """Start the stack, or let a running one stay."""
    console.status("Starting")
    settings = load()
    if args.port is not None:
        settings = settings.model_copy(update={"gateway_port": args.port})
    if running(Home(settings.home)) is None:
        check_servers(settings)
    info = start(Home(settings.home), settings, "up", console.status)
    if settings.gateway_port not in (0, urlsplit(info.address).port):
        raise CliError(f"Leadline runs at {info.address} already: `leadline down` first, to have it on another port.")
    if args.json:
        console.print(json.dumps({"address": info.address, "home": str(settings.home)}))
    else:
        console.print(f"Leadline runs at {info.address} until `leadline down`; its data is in {settings.home}.")
    return 0


def down(args: argparse.Namespace, console: Console) -> int:
    """Stop the stack; it is no error when none runs."""
    console.status("Stopping")
    stopped = stop(Home(load().home))
    if args.json:
        console.print(json.dumps({"stopped": stopped}))
    else:
        console.print("Leadline is stopped." if stopped else "Leadline was not running.")
    return 0
