"""A SearXNG of the tests' own: its JSON answers over the pages of a loopback site, ranked by their words."""

import html
import json
import re
from urllib.parse import parse_qs, urlsplit

from shared.domain.rank import bm25, stats_of
from shared.domain.text import content_terms
from tests.support.site import Handler, Reply, Site

HOST = "searx.test"
_TAG = re.compile(r"<(script|style).*?</\1>|<[^>]+>", re.DOTALL | re.IGNORECASE)
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL | re.IGNORECASE)


def text_of(body: bytes) -> str:
    """Return the words of a page, roughly."""
    return " ".join(html.unescape(_TAG.sub(" ", body.decode("utf-8", "replace"))).split())


class FakeSearXNG:
    """Answers ``/search`` of a host of the site; ``queries`` are what was asked."""

    def __init__(self, site: Site, pages: dict[str, bytes]) -> None:
        """Search over ``pages``, bodies by address."""
        self.queries: list[str] = []
        self._texts = {url: text_of(body) for url, body in pages.items()}
        self._titles = {url: self._title(url, body) for url, body in pages.items()}
        self._terms = {url: content_terms(text) for url, text in self._texts.items()}
        self.reply: Reply | None = None
        """What to answer instead, for a server in trouble."""
        site.answer(HOST, "/search", self._answer)
        self.url = site.url(HOST, "")

    def _title(self, url: str, body: bytes) -> str:
        match = _TITLE.search(body.decode("utf-8", "replace"))
        return html.unescape(match[1]).strip() if match else url.rpartition("/")[2]

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
        stats, wanted = stats_of(list(self._terms.values())), content_terms(query)
        scores = {url: bm25(wanted, terms, stats) for url, terms in self._terms.items()}
        best = sorted((url for url in scores if scores[url] > 0), key=lambda url: (-scores[url], url))[:20]
        return [{"url": url, "title": self._titles[url], "content": self._snippet(url, wanted)} for url in best]

    def _snippet(self, url: str, wanted: list[str]) -> str:
        text = self._texts[url]
        places = [
            m.start()
            for word in text.split()
            if set(content_terms(word)) & set(wanted)
            for m in [re.search(re.escape(word), text)]
            if m
        ]
        start = max(min(places, default=0) - 40, 0)
        return text[start : start + 300]
