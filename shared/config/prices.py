"""Which prices hold: those of the operator, then the known ones of providers that are asked at their own endpoints."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from shared.config.settings import Settings
from shared.domain.errors import LeadlineError
from shared.domain.known_prices import KNOWN_PRICES
from shared.domain.model_names import parse_model_name
from shared.domain.prices import Price, PriceTable

MAX_FILE_BYTES = 1_000_000


class OwnPrice(BaseModel):
    """A price as an operator tells it, in US dollars per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(ge=0.0, le=1e6)
    output: float = Field(ge=0.0, le=1e6)
    cached: float | None = Field(default=None, ge=0.0, le=1e6)


class PricesUnreadable(LeadlineError):
    """The setting that tells prices cannot be used."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"LEADLINE_MODEL_PRICES cannot be used: {reason}. "
            'Give a JSON object, or a file of one: {"provider:model": {"input": 1.0, "output": 2.0, "cached": 0.1}}.'
        )


def load_prices(settings: Settings) -> PriceTable:
    """Return the prices that hold; raises `PricesUnreadable`."""
    official = settings.official_endpoints()
    known = {name: price for name, price in KNOWN_PRICES.items() if parse_model_name(name).provider in official}
    return PriceTable({**known, **_own(settings.model_prices)})


def _own(told: str | None) -> dict[str, Price]:
    if told is None:
        return {}
    try:
        text = told if told.lstrip().startswith("{") else _file(Path(told))
        rows = TypeAdapter(dict[str, OwnPrice]).validate_json(text)
    except (OSError, UnicodeDecodeError) as error:
        raise PricesUnreadable(f"the file cannot be read ({error})") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise PricesUnreadable(f"{'.'.join(map(str, first['loc'])) or 'it'}: {first['msg']}") from error
    return {str(parse_model_name(name)): Price(row.input, row.output, row.cached) for name, row in rows.items()}


def _file(path: Path) -> str:
    if path.stat().st_size > MAX_FILE_BYTES:
        raise PricesUnreadable(f"{path} is larger than {MAX_FILE_BYTES:,} bytes")
    return path.read_text(encoding="utf-8")
