"""Keys from the command line of whoever runs the installation: ``python -m services.gateway.admin keys …``."""

import argparse
import json
import sys
from dataclasses import asdict

from shared.bootstrap import open_keys
from shared.config.settings import load_settings
from shared.domain.errors import LeadlineError
from shared.ports.keys import KeyRing

FOREVER = 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="leadline keys", description="Make, list and revoke bearer keys.")
    commands = parser.add_subparsers(dest="command", required=True)
    create = commands.add_parser("create", help="make a key and show it once")
    create.add_argument("--owner", required=True, help="whose runs and documents the key reaches")
    create.add_argument("--name", default="", help="what the key is for")
    create.add_argument("--days", type=int, default=FOREVER, help="days until it expires; 0: never")
    commands.add_parser("list", help="list keys, without the keys themselves")
    revoke = commands.add_parser("revoke", help="revoke a key")
    revoke.add_argument("key_id")
    for command in commands.choices.values():
        command.add_argument("--json", action="store_true", help="print JSON")
    return parser


def run(keys: KeyRing, args: argparse.Namespace) -> str:
    """Carry out a command and return what to print."""
    if args.command == "create":
        key = keys.create(args.owner.strip(), args.name.strip(), args.days or None)
        note = "Keep it: it is not shown again."
        return json.dumps({"key": key}) if args.json else f"{key}\n{note}"
    if args.command == "revoke":
        keys.revoke(args.key_id)
        return json.dumps({"revoked": args.key_id}) if args.json else f"The key {args.key_id} is revoked."
    facts = keys.every()
    if args.json:
        return json.dumps([asdict(f) for f in facts], default=str)
    lines = [f"{f.key_id}  {f.owner}  {f.name or '-'}  {_life(f.revoked_at, f.expires_at)}" for f in facts]
    return "\n".join(lines) or "There are no keys yet."


def _life(revoked_at: object, expires_at: object) -> str:
    if revoked_at is not None:
        return "revoked"
    return f"until {expires_at:%Y-%m-%d}" if expires_at is not None else "living"


def main() -> int:
    """Carry out the arguments of the process."""
    args = _parser().parse_args(sys.argv[2:] if sys.argv[1:2] == ["keys"] else sys.argv[1:])
    if getattr(args, "days", FOREVER) < 0 or not getattr(args, "owner", "x").strip():
        sys.stderr.write("--owner needs a name, and --days a number of days from 0 on.\n")
        return 2
    try:
        sys.stdout.write(run(open_keys(load_settings()), args) + "\n")
    except LeadlineError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
