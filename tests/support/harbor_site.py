"""The harbor corpus as web sites: its files spread over some hosts of a loopback site."""

from collections.abc import Sequence
from pathlib import Path

from tests.support.api import NOT_DOCUMENTS
from tests.support.site import Site, file_reply

EVALS = Path(__file__).parents[2] / "evals"
CORPUS = EVALS / "corpora" / "harbor"
CASES_FILE = EVALS / "cases" / "harbor.json"
HOSTS = ("port.harbor-one.test", "news.harbor-one.test", "www.harbor-two.test", "harbor-three.test")


def corpus_files() -> list[Path]:
    """Return the documents of the corpus, by name."""
    return [path for path in sorted(CORPUS.iterdir()) if path.name not in NOT_DOCUMENTS]


def harbor_pages(site: Site, hosts: Sequence[str] = HOSTS) -> dict[str, bytes]:
    """Let the site answer with the corpus, the files in turn over the hosts; return its pages by address."""
    pages = {}
    for number, path in enumerate(corpus_files()):
        address = site.answer(hosts[number % len(hosts)], f"/{path.name}", file_reply(path))
        pages[address] = path.read_bytes()
    return pages
