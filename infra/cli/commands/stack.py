"""`leadline up` and `leadline down`: the local stack."""

import argparse
import json
import sys
from urllib.parse import urlsplit

from infra.cli.console import Console
from infra.cli.exits import CliError
from infra.cli.setup import check_servers, load
from infra.standalone.flower import FLOWER, FlowerAccess, installed, kept_access, new_access, with_flower
from infra.standalone.home import Home
from infra.standalone.processes import SERVICES
from infra.standalone.stack import running, start, stop


def up(args: argparse.Namespace, console: Console) -> int:
    """Start the stack, or let a running one stay."""
    console.status("Starting")
    settings = load()
    if args.port is not None:
        settings = settings.model_copy(update={"gateway_port": args.port})
    home = Home(settings.home)
    if running(home) is None:
        check_servers(settings)
    table = with_flower(SERVICES, _flower_access(home, settings.flower_port)) if args.flower else SERVICES
    info = start(home, settings, "up", console.status, table)
    if settings.gateway_port not in (0, urlsplit(info.address).port):
        raise CliError(f"Leadline runs at {info.address} already: `leadline down` first, to have it on another port.")
    if args.flower and FLOWER not in info.processes:
        raise CliError(f"Leadline runs at {info.address} already: `leadline down` first, to have it with Flower.")
    flower = kept_access(home) if FLOWER in info.processes else None
    if args.json:
        places = {"address": info.address, "home": str(settings.home), "flower": flower and flower.address}
        console.print(json.dumps(places))
        return 0
    console.print(f"Leadline runs at {info.address} until `leadline down`; its data is in {settings.home}.")
    if flower is not None:
        console.print(f"Flower shows its workers at {flower.address}; name and password are in {home.flower}.")
    return 0


def _flower_access(home: Home, wanted_port: int) -> FlowerAccess:
    """Return how Flower is to be reached; the way to one that runs stays as it is."""
    if not installed():
        raise CliError(f"Flower is not installed: `{sys.executable} -m pip install 'flower>=2.2'` adds it.")
    info, kept = running(home), kept_access(home)
    return kept if kept and info and FLOWER in info.processes else new_access(home, wanted_port)


def down(args: argparse.Namespace, console: Console) -> int:
    """Stop the stack; it is no error when none runs."""
    console.status("Stopping")
    stopped = stop(Home(load().home))
    if args.json:
        console.print(json.dumps({"stopped": stopped}))
    else:
        console.print("Leadline is stopped." if stopped else "Leadline was not running.")
    return 0
