"""The search providers and rerankers that there are: what each is called, what it needs, which endpoints it serves."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

EVERYWHERE = ("web", "news", "scholar")


@dataclass(frozen=True, slots=True)
class ServiceFacts:
    """A service that is asked over HTTP. ``setting`` names what has to be set before it can be; None when nothing has.

    ``base_url`` is where it is asked unless the operator names another address; None when only the operator knows.
    """

    label: str
    base_url: str | None
    setting: str | None = None
    endpoints: tuple[str, ...] = ()

    @property
    def needs_key(self) -> bool:
        """Tell whether it is asked with a key."""
        return self.setting is not None and self.base_url is not None


PROVIDERS: Mapping[str, ServiceFacts] = {
    "searxng": ServiceFacts("SearXNG", None, "SEARXNG_URL", EVERYWHERE),
    "tavily": ServiceFacts("Tavily", "https://api.tavily.com", "TAVILY_API_KEY", ("web", "news")),
    "exa": ServiceFacts("Exa", "https://api.exa.ai", "EXA_API_KEY", EVERYWHERE),
    "serper": ServiceFacts("Serper", "https://google.serper.dev", "SERPER_API_KEY", EVERYWHERE),
    "brave": ServiceFacts("Brave", "https://api.search.brave.com/res/v1", "BRAVE_API_KEY", ("web", "news")),
    "duckduckgo": ServiceFacts("DuckDuckGo", "https://html.duckduckgo.com", None, ("web",)),
    "wikipedia": ServiceFacts("Wikipedia", "https://{language}.wikipedia.org", None, ("web",)),
    "arxiv": ServiceFacts("arXiv", "https://export.arxiv.org", None, ("scholar",)),
    "openalex": ServiceFacts("OpenAlex", "https://api.openalex.org", None, ("scholar",)),
    "crossref": ServiceFacts("Crossref", "https://api.crossref.org", None, ("scholar",)),
    "pubmed": ServiceFacts("PubMed", "https://eutils.ncbi.nlm.nih.gov", None, ("scholar",)),
}
"""In the order in which they are asked, unless the operator names another."""

RERANKERS: Mapping[str, ServiceFacts] = {
    "cohere": ServiceFacts("Cohere", "https://api.cohere.com", "COHERE_API_KEY"),
    "jina": ServiceFacts("Jina", "https://api.jina.ai", "JINA_API_KEY"),
    "voyage": ServiceFacts("Voyage", "https://api.voyageai.com", "VOYAGE_API_KEY"),
}
"""The first one that has a key is asked."""

ALIASES: Mapping[str, str] = {"ddgs": "duckduckgo"}


def parse_names(text: str) -> tuple[str, ...]:
    """Read provider names separated by commas; raise ValueError for one that there is not."""
    given = (item.strip().lower() for item in text.split(","))
    names = tuple(dict.fromkeys(ALIASES.get(name, name) for name in given if name))
    unknown = [name for name in names if name not in PROVIDERS]
    if unknown:
        raise ValueError(f"there is no search provider {unknown[0]!r}; there are {', '.join(PROVIDERS)}")
    return names


def parse_addresses(text: str) -> dict[str, str]:
    """Read ``name=url,name=url``; raise ValueError for a name that no provider or reranker has."""
    found: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, equals, url = (piece.strip() for piece in item.partition("="))
        known = ALIASES.get(name.lower(), name.lower())
        if not equals or known not in {**PROVIDERS, **RERANKERS}:
            raise ValueError(f"{item!r} is not of the form name=url with the name of a provider")
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"{item!r} names no http or https address")
        found[known] = url.rstrip("/")
    return found


def usable(named: tuple[str, ...], is_set: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the providers to ask: those that were named, in that order, then the others whose setting is set.

    ``is_set`` tells whether a setting has a value. Raise ValueError when one was named whose setting has none.
    """
    for name in named:
        setting = PROVIDERS[name].setting
        if setting is not None and not is_set(setting):
            raise ValueError(f"{name} needs {setting}")
    ready = [name for name, facts in PROVIDERS.items() if facts.setting is not None and is_set(facts.setting)]
    return tuple(dict.fromkeys((*named, *ready)))


def serving(names: tuple[str, ...], endpoint: str) -> tuple[str, ...]:
    """Return the providers to ask at an endpoint: those that serve it, else those that serve the web, else all."""
    for wanted in (endpoint, "web"):
        found = tuple(name for name in names if wanted in PROVIDERS[name].endpoints)
        if found:
            return found
    return names
