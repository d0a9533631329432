"""What the options of `ask` say about the web: which addresses are read, and where may be searched."""

import argparse
from collections.abc import Callable, Sequence

from infra.cli.exits import CliError
from shared.contracts.runs import SourcePolicy, WebMode, WebPolicy
from shared.domain.errors import NotAllowed
from shared.domain.urls import host_name, parse_url


def web_sources(args: argparse.Namespace) -> SourcePolicy:
    """Return the part of the source policy that is about the web; raise `CliError` for what cannot be meant."""
    only, preferred, excluded = (_read(args, name, host_name) for name in ("only", "prefer", "exclude"))
    urls = _read(args, "url", lambda text: str(parse_url(text)))
    if only and preferred:
        raise CliError("--only and --prefer do not go together: leave one of them out.")
    mode: WebMode | None = None
    if only:
        mode = "only_domains"
    elif preferred:
        mode = "prefer_domains"
    elif args.web:
        mode = "full_web"
    if excluded and mode is None and not urls:
        raise CliError("--exclude leaves something out of the web: search it with --web, or give addresses with --url.")
    web = WebPolicy(mode=mode, domains=only or preferred, excluded_domains=excluded)
    return SourcePolicy(web=web, urls=urls)


def names_sources(policy: SourcePolicy) -> bool:
    """Tell whether the options name anything on the web to use."""
    return policy.web.mode is not None or bool(policy.urls)


def _read(args: argparse.Namespace, option: str, read: Callable[[str], str]) -> tuple[str, ...]:
    texts: Sequence[str] = getattr(args, option)
    found = []
    for text in texts:
        try:
            found.append(read(text))
        except NotAllowed as error:
            raise CliError(f"--{option} {text} cannot be used: {error.detail}") from None
    return tuple(found)
