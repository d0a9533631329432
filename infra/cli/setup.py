"""The settings of a command, and the gateway that it talks to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from infra.cli.console import Console
from infra.cli.exits import CliError

if TYPE_CHECKING:
    from pydantic import SecretStr

    from shared.client.client import LeadlineClient
    from shared.config.settings import Settings


def load() -> Settings:
    """Return the settings, with an absolute home; raise `CliError` when the environment holds a wrong one."""
    from pydantic import ValidationError

    from shared.config.settings import load_settings

    try:
        settings = load_settings()
        home = settings.home.expanduser().absolute()
    except ValidationError as error:
        fault = error.errors()[0]
        name = f"LEADLINE_{fault['loc'][0]}".upper()
        message = f"{fault['msg'][:1].lower()}{fault['msg'][1:]}"
        raise CliError(f"The setting {name} is not valid ({fault['input']!r}): {message}.") from None
    except RuntimeError as error:  # no home folder is known for ~
        raise CliError(f"The folder of LEADLINE_HOME cannot be told: {error}") from None
    return settings.model_copy(update={"home": home})


def revealed(secret: SecretStr | None) -> str | None:
    """Return the text of a secret setting, None when it is not set or empty."""
    return (secret.get_secret_value() or None) if secret is not None else None


def check_servers(settings: Settings) -> None:
    """Raise `CliError` when a server that the settings name in place of an embedded one does not answer."""
    from infra.cli.probes import postgres_version, server_version

    for what, name, secret, probe in (
        ("database", "LEADLINE_DATABASE_URL", settings.database_url, postgres_version),
        ("broker", "LEADLINE_BROKER_URL", settings.broker_url, server_version),
        ("Redis", "LEADLINE_REDIS_URL", settings.redis_url, server_version),
    ):
        url = revealed(secret)
        if url is not None and (fault := probe(url)[1]) is not None:
            raise CliError(f"The {what} cannot be reached, {fault}: see that it runs, and that {name} names it.")


@contextmanager
def gateway(console: Console) -> Iterator[LeadlineClient]:
    """Yield a client of the gateway that LEADLINE_ADDRESS names, or else of the local stack, started if need be."""
    console.status("Starting")
    settings = load()
    from shared.client.client import LeadlineClient

    if settings.address:
        yield LeadlineClient(settings.address, key=revealed(settings.api_key))
        return
    from infra.standalone.home import Home
    from infra.standalone.stack import running, using

    if running(Home(settings.home)) is None:
        check_servers(settings)
    with using(Home(settings.home), settings, console.status) as info:
        yield LeadlineClient(info.address, key=revealed(settings.api_key))
