"""The search providers that there are, by name; what each is called and needs stands in `shared.domain.search`."""

from collections.abc import Callable, Mapping

from services.fetcher.search.arxiv import Arxiv
from services.fetcher.search.brave import Brave
from services.fetcher.search.contract import Account, Provider
from services.fetcher.search.crossref import Crossref
from services.fetcher.search.duckduckgo import DuckDuckGo
from services.fetcher.search.exa import Exa
from services.fetcher.search.openalex import OpenAlex
from services.fetcher.search.pubmed import PubMed
from services.fetcher.search.searxng import SearXNG
from services.fetcher.search.serper import Serper
from services.fetcher.search.tavily import Tavily
from services.fetcher.search.wikipedia import Wikipedia

FACTORIES: Mapping[str, Callable[[Account], Provider]] = {
    "searxng": SearXNG,
    "tavily": Tavily,
    "exa": Exa,
    "serper": Serper,
    "brave": Brave,
    "duckduckgo": DuckDuckGo,
    "wikipedia": Wikipedia,
    "arxiv": Arxiv,
    "openalex": OpenAlex,
    "crossref": Crossref,
    "pubmed": PubMed,
}
