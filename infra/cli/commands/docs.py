"""`leadline docs`: the library of documents."""

import argparse
import json

from infra.cli import library
from infra.cli.console import Console
from infra.cli.exits import CliError
from infra.cli.gather import gather
from infra.cli.setup import gateway, load
from infra.cli.text import document_table


def add(args: argparse.Namespace, console: Console) -> int:
    """Send documents and wait until they are read."""
    gathered = gather(args.paths, load().max_document_bytes)
    with gateway(console) as client:
        settled = library.settle(client, gathered, console)
    for line in (gathered.skipped_line(), settled.failed_line()):
        if line is not None:
            console.say(line)
    if args.json:
        documents = [document.model_dump(mode="json") for document in (*settled.ready, *settled.failed)]
        console.print(json.dumps(documents, ensure_ascii=False, indent=2))
    if not settled.ready:
        raise CliError("None of the documents could be read: `leadline docs list` says why.")
    known = len(gathered.found) - settled.sent
    console.say(f"{len(settled.ready)} documents are ready, {known} of them known before.")
    return 0


def list_documents(args: argparse.Namespace, console: Console) -> int:
    """List documents, newest first."""
    with gateway(console) as client:
        documents = list(client.documents())
    if args.json:
        console.print(json.dumps([d.model_dump(mode="json") for d in documents], ensure_ascii=False, indent=2))
    elif not documents:
        console.say("There are no documents yet: `leadline docs add PATH` adds some.")
    else:
        for line in document_table(documents):
            console.print(line)
    return 0
