"""Search providers of the tests' own: real HTTP servers whose answers have the shape of each provider's API.

All know the same entries, in the same order. A server applies the filters that its original has, pages as it does, asks
for its key, and keeps what it was asked.
"""

import html
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from tests.support.site import Handler, Reply, Site

KEY = "sk-test-5f2c9d71"
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Entry:
    """Something to be found."""

    number: int
    host: str
    date: str

    @property
    def title(self) -> str:
        """Return the title, with a mark that has to be escaped."""
        return f"Basin depth & tide {self.number}"

    @property
    def snippet(self) -> str:
        """Return the text."""
        return f"The basin no. {self.number} is {self.number + 10} metres deep."

    @property
    def url(self) -> str:
        """Return the address."""
        return f"https://{self.host}/basin/{self.number}"

    @property
    def author(self) -> str:
        """Return the author."""
        return f"Ada Harbour{self.number}"


HOSTS = ("a.test", "b.test", "c.test")
ENTRIES = tuple(Entry(n, HOSTS[n % 3], f"{2016 + n % 9}-0{1 + n % 9}-1{n % 10}") for n in range(1, 46))


@dataclass
class Asked:
    """One request: its path, its parameters (of the address or of the body), its headers in lower case."""

    path: str
    values: dict[str, Any]
    headers: dict[str, str]


@dataclass
class FakeApi:
    """A server in the shape of one provider. ``reply`` is what it answers instead, when it is in trouble."""

    site: Site
    name: str
    reply: Reply | None = None
    asked: list[Asked] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Serve every path of the provider under a host of its own."""
        self.host = f"{self.name}.api.test"
        self.base_url = self.site.url(self.host, "") + BASES.get(self.name, "")
        for path in PATHS[self.name]:
            self.site.answer(self.host, BASES.get(self.name, "") + path, self._answer)

    def _answer(self, handler: Handler) -> Reply:
        parts = urlsplit(handler.path)
        values: dict[str, Any] = {key: found[0] for key, found in parse_qs(parts.query).items()}
        if handler.body:
            values = json.loads(handler.body)
        asked = Asked(parts.path, values, {key.lower(): value for key, value in handler.headers.items()})
        self.asked.append(asked)
        if self.reply is not None:
            return self.reply
        refused = self._without_key(asked)
        return refused or SHAPES[self.name](asked)

    def _without_key(self, asked: Asked) -> Reply | None:
        expected = KEYS.get(self.name)
        if expected is None:
            return None
        header, value, refusal = expected
        return None if asked.headers.get(header) == value else refusal


def _json(answer: Any, status: int = 200, **headers: str) -> Reply:
    return Reply(json.dumps(answer), status, JSON | headers)


def _window(
    entries: tuple[Entry, ...], start: int, count: int, only: list[str], not_on: list[str], dates: tuple[str, str]
) -> list[Entry]:
    first, last = dates
    found = [
        e
        for e in entries
        if (not only or e.host in only) and e.host not in not_on and (first or "0") <= e.date <= (last or "9999-12-31")
    ]
    return found[start : start + count]


def _sites(query: str) -> tuple[list[str], list[str]]:
    not_on = re.findall(r"-site:(\S+)", query)
    return [s.rstrip(")") for s in re.findall(r"(?<!-)site:(\S+)", query)], not_on


def _searxng(asked: Asked) -> Reply:
    if asked.values.get("format") != "json":
        return Reply("<html>results</html>")
    only, not_on = _sites(asked.values["q"])
    page = int(asked.values.get("pageno", 1))
    found = _window(ENTRIES, (page - 1) * 10, 10, only, not_on, ("", ""))
    results = [
        {
            "url": e.url,
            "title": e.title,
            "content": e.snippet,
            "publishedDate": f"{e.date}T00:00:00",
            "engine": "bing",
            "authors": [e.author],
            "journal": "Tide Letters",
            "score": 1.0,
        }
        for e in found
    ]
    answer = {"query": asked.values["q"], "number_of_results": 0, "results": results, "answers": [], "infoboxes": []}
    return _json({**answer, "suggestions": [], "unresponsive_engines": []})


def _tavily(asked: Asked) -> Reply:
    v = asked.values
    dates = (v.get("start_date", ""), v.get("end_date", ""))
    found = _window(ENTRIES, 0, v["max_results"], v.get("include_domains", []), v.get("exclude_domains", []), dates)
    results = [
        {"url": e.url, "title": e.title, "content": e.snippet, "score": 0.9, "raw_content": None}
        | ({"published_date": f"Mon, {e.date[8:]} May {e.date[:4]} 10:00:00 GMT"} if v["topic"] == "news" else {})
        for e in found
    ]
    answer = {"query": v["query"], "follow_up_questions": None, "answer": None, "images": [], "results": results}
    return _json({**answer, "response_time": 1.1, "request_id": "r"})


def _exa(asked: Asked) -> Reply:
    v = asked.values
    dates = (v.get("startPublishedDate", "")[:10], v.get("endPublishedDate", "")[:10])
    found = _window(ENTRIES, 0, v["numResults"], v.get("includeDomains", []), v.get("excludeDomains", []), dates)
    results = [
        {
            "id": e.url,
            "url": e.url,
            "title": e.title,
            "publishedDate": f"{e.date}T00:00:00.000Z",
            "author": e.author,
            "score": 0.3,
            "text": e.snippet[: v["contents"]["text"]["maxCharacters"]],
        }
        for e in found
    ]
    return _json({"requestId": "r", "resolvedSearchType": "neural", "results": results, "costDollars": {"total": 0.01}})


def _serper(asked: Asked) -> Reply:
    v = asked.values
    only, not_on = _sites(v["q"])
    bounds = re.fullmatch(r"cdr:1,cd_min:(\d\d)/(\d\d)/(\d{4}),cd_max:(\d\d)/(\d\d)/(\d{4})", v.get("tbs", ""))
    dates = (f"{bounds[3]}-{bounds[1]}-{bounds[2]}", f"{bounds[6]}-{bounds[4]}-{bounds[5]}") if bounds else ("", "")
    found = _window(ENTRIES, (v["page"] - 1) * v["num"], v["num"], only, not_on, dates)
    page = [{"title": e.title, "link": e.url, "snippet": e.snippet, "position": n + 1} for n, e in enumerate(found)]
    named = list(zip(found, page, strict=True))
    if asked.path == "/scholar":
        papers = [
            p | {"year": int(e.date[:4]), "citedBy": 3, "publicationInfo": f"{e.author} - Tide Letters, 2020 - a.test"}
            for e, p in named
        ]
        return _json({"searchParameters": v, "organic": papers, "credits": 1})
    if asked.path == "/news":
        news = [p | {"date": _spelt(e.date), "source": "The Pilot"} for e, p in named]
        return _json({"searchParameters": v, "news": news, "credits": 1})
    pages = [p | ({"date": _spelt(e.date)} if e.number % 2 else {"date": "2 days ago"}) for e, p in named]
    return _json({"searchParameters": v, "organic": pages, "peopleAlsoAsk": [], "credits": 1})


def _spelt(date: str) -> str:
    months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
    return f"{months[int(date[5:7]) - 1]} {int(date[8:])}, {date[:4]}"


def _brave(asked: Asked) -> Reply:
    v = asked.values
    only, not_on = _sites(v["q"])
    first, _, last = v.get("freshness", "").partition("to")
    count = int(v["count"])
    found = _window(ENTRIES, int(v["offset"]) * count, count, only, not_on, (first, last))
    results = [
        {
            "title": html.escape(e.title),
            "url": e.url,
            "description": html.escape(e.snippet).replace("basin", "<strong>basin</strong>"),
            "page_age": f"{e.date}T08:00:00",
            "age": "May 6, 2024",
            "profile": {"name": "Pilot", "long_name": "The Pilot"},
            "meta_url": {"hostname": e.host},
        }
        for e in found
    ]
    if asked.path.endswith("/news/search"):
        return _json({"type": "news", "query": {"original": v["q"]}, "results": results})
    return _json({"type": "search", "query": {"more_results_available": True}, "web": {"results": results}})


def _duckduckgo(asked: Asked) -> Reply:
    only, not_on = _sites(asked.values["q"])
    first, _, last = asked.values.get("df", "").partition("..")
    found = _window(ENTRIES, 0, 10, only, not_on, (first, last))
    results = "".join(
        f'<div class="result results_links results_links_deep web-result "><div class="links_main result__body">'
        f'<h2 class="result__title"><a rel="nofollow" class="result__a" href="//duckduckgo.com/l/?uddg='
        f'{quote(e.url, safe="")}&amp;rut=1">{html.escape(e.title)}</a></h2><a class="result__snippet" href="x">'
        f"{html.escape(e.snippet).replace('basin', '<b>basin</b>')}</a></div></div>"
        for e in found
    )
    ad = (
        '<div class="result results_links result--ad"><a class="result__a" '
        'href="https://duckduckgo.com/y.js?ad_domain=ad.test">Buy</a></div>'
    )
    return Reply(f'<!DOCTYPE html><html><body><div id="links" class="results">{ad}{results}</div></body></html>')


def _wikipedia(asked: Asked) -> Reply:
    v = asked.values
    start, count = int(v["gsroffset"]), int(v["gsrlimit"])
    pages = [
        {
            "pageid": 100 + e.number,
            "ns": 0,
            "title": e.title,
            "index": n + 1,
            "fullurl": f"https://en.wikipedia.org/wiki/Basin_{e.number}",
            "extract": e.snippet,
        }
        for n, e in enumerate(ENTRIES[start : start + count])
    ]
    return _json({"batchcomplete": True, "continue": {"gsroffset": start + count}, "query": {"pages": pages[::-1]}})


def _arxiv(asked: Asked) -> Reply:
    v = asked.values
    bounds = re.search(r"submittedDate:\[(\d{8})0000 TO (\d{8})2359\]", v["search_query"])
    dates = tuple(f"{d[:4]}-{d[4:6]}-{d[6:]}" for d in bounds.groups()) if bounds else ("", "")
    found = _window(ENTRIES, int(v["start"]), int(v["max_results"]), [], [], dates)  # type: ignore[arg-type]
    entries = "".join(
        f"<entry><id>http://arxiv.org/abs/2001.{e.number:05}v2</id><updated>2024-01-01T00:00:00Z</updated>"
        f"<published>{e.date}T12:00:00Z</published><title>{html.escape(e.title)}</title>"
        f"<summary>  {e.snippet}\n</summary><author><name>{e.author}</name></author>"
        f'<link href="http://arxiv.org/abs/2001.{e.number:05}v2" rel="alternate"/></entry>'
        for e in found
    )
    return _atom(entries)


def _atom(entries: str, status: int = 200) -> Reply:
    head = '<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom"><title>ArXiv Query</title>'
    return Reply(f"{head}{entries}</feed>", status, {"Content-Type": "application/atom+xml"})


def _openalex(asked: Asked) -> Reply:
    v = asked.values
    told = dict(part.split(":") for part in v.get("filter", "").split(",") if part)
    dates = (told.get("from_publication_date", ""), told.get("to_publication_date", ""))
    count = int(v["per-page"])
    found = _window(ENTRIES, (int(v["page"]) - 1) * count, count, [], [], dates)
    works = [
        {
            "id": f"https://openalex.org/W{e.number}",
            "doi": f"https://doi.org/10.1/{e.number}",
            "display_name": e.title,
            "publication_date": e.date,
            "type": "article",
            "authorships": [{"author": {"display_name": e.author}}],
            "primary_location": {
                "landing_page_url": None if e.number % 2 else e.url,
                "source": {"display_name": "Tide Letters", "host_organization_name": "Harbour Press"},
            },
            "best_oa_location": {"landing_page_url": e.url, "pdf_url": None} if e.number % 2 else None,
            "abstract_inverted_index": {word: [place] for place, word in enumerate(e.snippet.split())},
        }
        for e in found
    ]
    return _json({"meta": {"count": len(ENTRIES), "page": 1, "per_page": count}, "results": works, "group_by": []})


def _crossref(asked: Asked) -> Reply:
    v = asked.values
    told = dict(part.split(":") for part in v.get("filter", "").split(",") if part)
    dates = (told.get("from-pub-date", ""), told.get("until-pub-date", ""))
    dates = (dates[0], (dates[1] + "-12-31")[:10] if dates[1] else "")
    found = _window(ENTRIES, int(v["offset"]), int(v["rows"]), [], [], dates)
    items = [
        {
            "DOI": f"10.1/{e.number}",
            "URL": f"https://doi.org/10.1/{e.number}",
            "title": [e.title.replace("&", "&amp;")],
            "abstract": f"<jats:p>{e.snippet}</jats:p>",
            "author": [{"given": "Ada", "family": e.author.split()[1], "sequence": "first"}],
            "publisher": "Harbour Press",
            "container-title": ["Tide Letters"],
            "issued": {"date-parts": [[int(part) for part in e.date.split("-")]]},
            "type": "journal-article",
            "resource": {"primary": {"URL": e.url}},
        }
        for e in found
    ]
    return _json({"status": "ok", "message-type": "work-list", "message": {"total-results": 45, "items": items}})


def _pubmed(asked: Asked) -> Reply:
    v = asked.values
    if asked.path.endswith("esummary.fcgi"):
        numbers = v["id"].split(",")
        papers = {
            n: {
                "uid": n,
                "title": html.escape(ENTRIES[int(n) - 1].title),
                "pubdate": "2024 May 6",
                "sortpubdate": ENTRIES[int(n) - 1].date.replace("-", "/") + " 00:00",
                "authors": [{"name": ENTRIES[int(n) - 1].author, "authtype": "Author"}],
                "fulljournalname": "Tide Letters",
                "source": "Tide Lett",
            }
            for n in numbers
        }
        return _json({"header": {"type": "esummary"}, "result": {"uids": numbers, **papers}})
    dates = (v.get("mindate", "").replace("/", "-"), v.get("maxdate", "").replace("/", "-"))
    found = _window(ENTRIES, int(v["retstart"]), int(v["retmax"]), [], [], dates)
    numbers = [str(e.number) for e in found]
    return _json({"header": {"type": "esearch"}, "esearchresult": {"count": "45", "idlist": numbers}})


SHAPES: dict[str, Callable[[Asked], Reply]] = {
    "searxng": _searxng,
    "tavily": _tavily,
    "exa": _exa,
    "serper": _serper,
    "brave": _brave,
    "duckduckgo": _duckduckgo,
    "wikipedia": _wikipedia,
    "arxiv": _arxiv,
    "openalex": _openalex,
    "crossref": _crossref,
    "pubmed": _pubmed,
}
BASES = {"brave": "/res/v1"}
PATHS: dict[str, tuple[str, ...]] = {
    "searxng": ("/search",),
    "tavily": ("/search",),
    "exa": ("/search",),
    "serper": ("/search", "/news", "/scholar"),
    "brave": ("/web/search", "/news/search"),
    "duckduckgo": ("/html/",),
    "wikipedia": ("/w/api.php",),
    "arxiv": ("/api/query",),
    "openalex": ("/works",),
    "crossref": ("/works",),
    "pubmed": ("/entrez/eutils/esearch.fcgi", "/entrez/eutils/esummary.fcgi"),
}
KEYS: dict[str, tuple[str, str, Reply]] = {
    "tavily": (
        "authorization",
        f"Bearer {KEY}",
        _json({"detail": {"error": "Unauthorized: missing or invalid API key."}}, 401),
    ),
    "exa": ("x-api-key", KEY, _json({"requestId": "r", "error": "Invalid API key", "tag": "INVALID_API_KEY"}, 401)),
    "serper": ("x-api-key", KEY, _json({"message": "Unauthorized.", "statusCode": 403}, 403)),
    "brave": (
        "x-subscription-token",
        KEY,
        _json(
            {
                "type": "ErrorResponse",
                "error": {"status": 422, "code": "SUBSCRIPTION_TOKEN_INVALID", "detail": "The token is invalid."},
            },
            422,
        ),
    ),
}
"""The header that has to hold the key, its value, and the answer to any other."""

_TROUBLE: dict[str, list[tuple[Reply, str]]] = {
    "searxng": [
        (Reply("<html>results</html>"), "search_json_off"),
        (Reply("", 403), "search_json_off"),
        (_json({"results": [], "unresponsive_engines": [["google", "timeout"]]}), "search_engines_down"),
    ],
    "tavily": [
        (
            _json({"detail": {"error": "This request exceeds your plan's set usage limit."}}, 432),
            "search_out_of_credit",
        ),
        (_json({"detail": {"error": "This request exceeds the pay-as-you-go limit."}}, 433), "search_out_of_credit"),
        (_json({"detail": {"error": "Query is too long."}}, 400), "search_refused"),
        (_json({"error": "no results here"}), "search_refused"),
    ],
    "exa": [
        (_json({"requestId": "r", "error": "No more credits", "tag": "NO_MORE_CREDITS"}, 402), "search_out_of_credit"),
        (_json({"requestId": "r", "error": "Bad", "tag": "INVALID_REQUEST_BODY"}, 400), "search_refused"),
    ],
    "serper": [(_json({"message": "Not enough credits", "statusCode": 400}, 400), "search_out_of_credit")],
    "brave": [
        (_json({"type": "ErrorResponse", "error": {"code": "RATE_LIMITED", "detail": "slow"}}), "search_limited"),
        (
            _json(
                {"type": "ErrorResponse", "error": {"code": "RATE_LIMITED"}},
                429,
                **{"X-RateLimit-Remaining": "0, 0", "X-RateLimit-Reset": "1, 1419704"},
            ),
            "search_out_of_credit",
        ),
        (_json({"type": "ErrorResponse", "error": {"code": "OPTION_NOT_IN_PLAN"}}, 400), "search_key"),
    ],
    "duckduckgo": [
        (Reply('<html><div class="anomaly-modal__mask">Are you a robot?</div></html>', 202), "search_limited"),
        (Reply('<html><div class="anomaly-modal__mask">Are you a robot?</div></html>'), "search_limited"),
        (Reply("<html><p>Something else</p></html>"), "search_answer"),
        (Reply(""), "search_answer"),
    ],
    "wikipedia": [
        (_json({"error": {"code": "ratelimited", "info": "You've exceeded your rate limit."}}), "search_limited"),
        (_json({"error": {"code": "maxlag", "info": "Waiting for a server"}}), "search_limited"),
        (_json({"error": {"code": "internal_api_error_DBQueryError", "info": "x"}}), "search_failed"),
        (_json({"error": {"code": "cirrussearch-query-too-long", "info": "too long"}}), "search_refused"),
    ],
    "arxiv": [
        (_atom("<entry><id>http://arxiv.org/api/errors#x</id><summary>incorrect</summary></entry>"), "search_refused"),
        (
            _atom("<entry><id>http://arxiv.org/api/errors#x</id><summary>incorrect</summary></entry>", 400),
            "search_refused",
        ),
        (Reply("Rate exceeded.", 429), "search_limited"),
        (Reply("<html/>"), "search_answer"),
    ],
    "openalex": [
        (_json({"error": "Invalid query parameters error.", "message": "x is not valid"}, 403), "search_refused"),
        (_json({"error": "Plan required"}), "search_refused"),
    ],
    "crossref": [
        (
            _json(
                {"status": "failed", "message-type": "validation-failure", "message": [{"message": "bad filter"}]}, 400
            ),
            "search_refused",
        ),
        (_json({"status": "failed", "message": [{"message": "bad filter"}]}), "search_refused"),
    ],
    "pubmed": [
        (_json({"error": "API rate limit exceeded", "count": "11"}), "search_limited"),
        (_json({"error": "API rate limit exceeded", "count": "11"}, 429), "search_limited"),
        (_json({"esearchresult": {"ERROR": "Invalid db name specified"}}), "search_refused"),
        (_json({"header": {}, "error": "Search Backend failed"}), "search_failed"),
    ],
}


def troubles() -> Iterator[tuple[str, Reply, str]]:
    """Yield a provider, an answer by which its original says that something is wrong, and the code it stands for."""
    for name, cases in _TROUBLE.items():
        for reply, code in cases:
            yield name, reply, code
