"""A SearXNG of the tests' own: its JSON answers over the pages of a loopback site, ranked by their best passage."""

import html
import json
import re
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import pymupdf

from shared.domain.rank import bm25, stats_of
from shared.domain.text import content_terms
from tests.support.site import Handler, Reply, Site

HOST = "searx.test"
PASSAGE_WORDS = 50

_TAG = re.compile(r"<(script|style).*?</\1>|<[^>]+>", re.DOTALL | re.IGNORECASE)
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class _Passage:
    url: str
    text: str
    terms: list[str]


class FakeSearXNG:
    """Answers ``/search`` of a host of the site; ``queries`` are what was asked."""

    def __init__(self, site: Site, pages: dict[str, bytes]) -> None:
        """Search over ``pages``, bodies by address."""
        self.queries: list[str] = []
        self.reply: Reply | None = None
        """What to answer instead, for a server in trouble."""
        self._titles = {url: _title(url, body) for url, body in pages.items()}
        self._passages = [
            _Passage(url, text, content_terms(text)) for url, body in pages.items() for text in _passages(_text(body))
        ]
        self._stats = stats_of([p.terms for p in self._passages])
        site.answer(HOST, "/search", self._answer)
        self.url = site.url(HOST, "")

    def _answer(self, handler: Handler) -> Reply:
        asked = parse_qs(urlsplit(handler.path).query)
        query = asked["q"][0]
        self.queries.append(query)
        if self.reply is not None:
            return self.reply
        if asked.get("format") != ["json"]:
            return Reply("<html>results</html>")
        body = json.dumps({"query": query, "results": self._results(query), "unresponsive_engines": []})
        return Reply(body, headers={"Content-Type": "application/json"})

    def _results(self, query: str) -> list[dict[str, str]]:
        wanted = content_terms(query)
        best: dict[str, tuple[float, str]] = {}
        for passage in self._passages:
            score = bm25(wanted, passage.terms, self._stats)
            if score > best.get(passage.url, (0.0, ""))[0]:
                best[passage.url] = (score, passage.text)
        order = sorted(best, key=lambda url: (-best[url][0], url))[:20]
        return [{"url": url, "title": self._titles[url], "content": best[url][1]} for url in order]


def _text(body: bytes) -> str:
    if body.startswith(b"%PDF"):
        with pymupdf.open(stream=body, filetype="pdf") as pdf:
            return " ".join(page.get_text() for page in pdf)
    return html.unescape(_TAG.sub(" ", body.decode("utf-8", "replace")))


def _passages(text: str) -> list[str]:
    words = text.split()
    return [" ".join(words[n : n + PASSAGE_WORDS]) for n in range(0, len(words), PASSAGE_WORDS // 2)]


def _title(url: str, body: bytes) -> str:
    match = _TITLE.search(body.decode("utf-8", "replace"))
    return html.unescape(match[1]).strip() if match else url.rpartition("/")[2]
