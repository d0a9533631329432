"""Pages as candidates: what a search or a given address makes known to a run before anything was fetched."""

from shared.contracts.evidence import Source
from shared.domain.ids import digest_id
from shared.domain.urls import Url, canonical_url


def page_candidate(run_id: str, url: Url, title: str | None = None, published_at: str | None = None) -> Source:
    """Return a page as a candidate source of the run; the same page found twice is the same source."""
    canonical = canonical_url(url)
    return Source(
        source_id=digest_id("src", run_id, canonical),
        kind="web",
        status="candidate",
        url=str(url),
        canonical_url=canonical,
        title=title,
        domain=url.host,
        published_at=published_at,
    )
