"""`leadline ask`: from a question and its sources to a report."""

import argparse

from infra.cli import checks
from infra.cli.console import Console
from infra.cli.gather import check_exist, gather
from infra.cli.setup import load


def run(args: argparse.Namespace, console: Console) -> int:
    """Check all that can be checked, quickest first; only then load and start what carries the order out."""
    question, as_of = checks.question(args.question), checks.as_of(args.as_of)
    report_file, bundle_file = checks.targets(args.output, args.bundle)
    check_exist(args.docs)
    console.status("Looking at the documents" if args.docs else "Starting")
    documents = gather(args.docs, load().max_document_bytes)
    skipped = documents.skipped_line()
    if skipped is not None:
        console.say(skipped)

    from infra.cli.research import Order, research
    from infra.cli.sources import web_sources
    from shared.contracts.runs import Budget, CreateRun
    from shared.domain.budget import Depth

    request = CreateRun(
        objective=question,
        depth=Depth(args.depth),
        engine=args.engine,
        as_of=as_of,
        auto_approve=args.yes or not console.interactive,
        source_policy=web_sources(args),
        budget=Budget(cost_usd=args.max_cost),
    )
    return research(Order(request, documents, args.json, report_file, bundle_file), console)
