"""Entry: arguments in, exit code out."""

import importlib
import signal
from collections.abc import Sequence

from infra.cli.console import Console
from infra.cli.options import parser


def main(arguments: Sequence[str], console: Console | None = None) -> int:
    """Carry out a command line and return its exit code."""
    parsed = parser().parse_args(arguments)
    from infra.cli.guard import Guard  # after the arguments are known to be right: help and usage errors stay quick

    console = console or Console()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # end as politely as on Ctrl-C
    with Guard(console) as guard:
        module, _, name = parsed.function.partition(":")
        carry_out = getattr(importlib.import_module(f"infra.cli.commands.{module}"), name)
        guard.code = carry_out(parsed, console)
    return guard.code
