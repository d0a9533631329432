"""Sites: the registrable domain that a host belongs to, by the public suffix list that comes with tldextract."""

from functools import lru_cache
from ipaddress import ip_address

from tldextract import TLDExtract


@lru_cache(maxsize=1)
def _extract() -> TLDExtract:
    """Return the list as it was packaged: nothing is downloaded and nothing is written."""
    return TLDExtract(suffix_list_urls=(), cache_dir=None, fallback_to_snapshot=True, include_psl_private_domains=True)


@lru_cache(maxsize=4096)
def site_key(host: str) -> str:
    """Return what politeness counts as one site: the registrable domain, private suffixes such as github.io included.

    ``host`` is in normal form. An IP address, and a host that is itself a suffix, is its own site; under a suffix that
    the list does not know, the last two labels are the site, as the list's own default rule has it.
    """
    try:
        return str(ip_address(host))
    except ValueError:
        found = _extract()(host)
    if found.suffix:
        return found.top_domain_under_public_suffix or host
    return ".".join(host.split(".")[-2:])
