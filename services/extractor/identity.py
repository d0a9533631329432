"""Who a page says it is: its canonical link counts when it stays on the page's own site."""

from shared.contracts.evidence import Source
from shared.contracts.snapshot import Parse
from shared.domain.errors import NotAllowed
from shared.domain.urls import canonical_url, parse_url
from shared.guards.sites import site_key


def with_own_canonical(source: Source, parse: Parse) -> Source:
    """Return the source under the canonical address that its page declares, unless that lies on another site.

    A link to another site could take over the identity of a page there, so it changes nothing by itself.
    """
    if source.kind != "web" or parse.canonical_url is None or source.domain is None:
        return source
    try:
        declared = parse_url(parse.canonical_url)
    except NotAllowed:
        return source
    if site_key(declared.host) != site_key(source.domain):
        return source
    return source.model_copy(update={"canonical_url": canonical_url(declared)})
