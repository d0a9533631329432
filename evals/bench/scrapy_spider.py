"""The spider that Scrapy runs beside our fetch worker: ``python scrapy_spider.py URLS OUT CONCURRENCY``.

It runs in an environment of its own, with Scrapy's usual settings but for politeness, and stores what it gets in
Scrapy's own way: one line of JSON for each page, with its body.
"""

import base64
import hashlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response


class Pages(Spider):
    """Gets every address once."""

    name = "pages"
    urls: tuple[str, ...] = ()

    async def start(self):  # noqa: ANN201
        """Yield the requests."""
        for url in self.urls:
            yield Request(url)

    def parse(self, response: Response) -> Iterator[dict[str, object]]:
        """Yield a page as it is stored."""
        body = response.body
        yield {
            "url": response.url,
            "status": response.status,
            "sha256": hashlib.sha256(body).hexdigest(),
            "body": base64.b64encode(body).decode(),
        }


def main() -> None:
    """Crawl and print the seconds that took."""
    Pages.urls = tuple(Path(sys.argv[1]).read_text("utf-8").split())
    settings = {
        "ROBOTSTXT_OBEY": False,
        "DOWNLOAD_DELAY": 0,
        "CONCURRENT_REQUESTS": int(sys.argv[3]),
        "CONCURRENT_REQUESTS_PER_DOMAIN": int(sys.argv[3]),
        "FEEDS": {sys.argv[2]: {"format": "jsonlines"}},
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
    }
    process = CrawlerProcess(settings)
    process.crawl(Pages)
    began = time.monotonic()
    process.start()
    print(json.dumps({"seconds": time.monotonic() - began}))


if __name__ == "__main__":
    main()
