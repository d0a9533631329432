"""Whether the configured search providers and the reranker answer: asked without a key, so that it costs nothing."""

from collections.abc import Iterator
from dataclasses import dataclass

from services.fetcher.net.messages import Fetch, FetchLimits, FetchRequest, OpenGate
from services.fetcher.opening import SettingWrong, open_desk
from shared.config.settings import Settings
from shared.domain.errors import StepError
from shared.domain.urls import Url, parse_url

LIMITS = FetchLimits(connect_s=3, silence_s=4, total_s=6, body_bytes=65_536, redirects=0)
_REDIRECTS = "redirect_too_many"


@dataclass(frozen=True, slots=True)
class Probed:
    """A service that is configured: whether it answers and what was seen; ``advice`` when it does not."""

    name: str
    ok: bool
    detail: str
    advice: str = ""


def probe(settings: Settings) -> Iterator[Probed]:
    """Yield each configured search provider and the reranker, asked one after the other; none when there is none."""
    try:
        desk = open_desk(settings)
    except SettingWrong as error:
        yield Probed("search", False, str(error))
        return
    for seat in desk.seats if desk is not None else ():
        provider = seat.provider
        yield _probed(provider.name, f"{provider.label} searches", provider.endpoint, seat.fetch, provider.advice)
    if desk is not None and desk.ranking is not None:
        ranker = desk.ranking.reranker
        yield _probed(ranker.name, f"{ranker.label} ranks", ranker.endpoint, desk.ranking.fetch, ranker.advice)


def _probed(name: str, does: str, endpoint: Url, ask: Fetch, advice: str) -> Probed:
    url = parse_url(f"{endpoint}?format=json") if name == "searxng" else endpoint
    try:
        fetched = ask(FetchRequest(url, accept="*/*", limits=LIMITS, cut=True), OpenGate())
    except StepError as error:
        if error.code != _REDIRECTS:
            return Probed(name, False, error.detail.rstrip("."), advice)
        return Probed(name, True, f"{does}, {endpoint.origin} answers")
    if name == "searxng" and fetched.status == 403:
        return Probed(name, False, f"{endpoint.origin} has no JSON", "add json to search.formats in its settings.yml")
    if fetched.status >= 500:
        return Probed(name, False, f"{endpoint.origin} answers {fetched.status}", "try again later")
    return Probed(name, True, f"{does}, {endpoint.origin} answers")
