"""The harbor corpus as web sites: its files spread over some hosts of a loopback site."""

import mimetypes
from pathlib import Path

from tests.support.api import NOT_DOCUMENTS
from tests.support.site import Reply, Site

EVALS = Path(__file__).parents[2] / "evals"
CORPUS = EVALS / "corpora" / "harbor"
CASES_FILE = EVALS / "cases" / "harbor.json"
HOSTS = ("port.harbor-one.test", "news.harbor-one.test", "www.harbor-two.test", "harbor-three.test")


def harbor_pages(site: Site) -> dict[str, bytes]:
    """Let the site answer with the corpus; return its pages by address."""
    files = [p for p in sorted(CORPUS.iterdir()) if p.name not in NOT_DOCUMENTS]
    pages = {}
    for number, path in enumerate(files):
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        reply = Reply(path.read_bytes(), headers={"Content-Type": kind})
        pages[site.answer(HOSTS[number % len(HOSTS)], f"/{path.name}", reply)] = path.read_bytes()
    return pages
