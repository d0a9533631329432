"""`leadline report`: a finished run's report, printed or written to a file."""

import argparse

from infra.cli import checks
from infra.cli.console import Console
from infra.cli.exits import CliError
from infra.cli.output import as_printed, printed, write_whole
from infra.cli.setup import gateway
from shared.client.client import ReportFormat


def run(args: argparse.Namespace, console: Console) -> int:
    """Get the report in the format asked for."""
    run_id, file = checks.run_id(args.run), checks.target(args.output)
    if args.json and args.format not in (None, "json"):
        raise CliError(f"--json and --format {args.format} contradict each other: give one of them.")
    fmt: ReportFormat = args.format or ("json" if args.json else "md")
    if fmt == "bundle" and file is None and console.out_is_terminal:
        raise CliError("A bundle is a ZIP file and would not be readable here: name a file for it with -o.")
    with gateway(console) as client:
        content = client.rendered(run_id, fmt)
    if fmt == "json":
        content = as_printed(content)
    if file is None:
        printed(console, content, whole_lines=fmt != "bundle")
    else:
        write_whole(file, content, "write it elsewhere")
        console.say(f"The report of run {run_id} is in {file}.")
    return 0
