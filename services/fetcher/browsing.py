"""Pages that need their scripts: read in a browser, under the run's policy and their site's robots.txt and slot."""

from collections.abc import Callable
from http import HTTPStatus

from services.fetcher.attempts import Attempt, Attempts, judge_error, judge_status
from services.fetcher.deps import Deps
from services.fetcher.net.messages import Fetched
from services.fetcher.pages import LogRow, outcome_of, page_visit, try_once
from services.fetcher.rendering.browser import Browser, Rendered
from services.fetcher.visits import PageVisit
from shared.contracts.evidence import Source
from shared.domain.errors import NotAllowed, Permanent, RateLimited, StepError
from shared.domain.urls import Url, parse_url
from shared.ports.ledger import Lease, Outcome

HTML = "text/html; charset=utf-8"


def browse_page(deps: Deps, lease: Lease, source: Source) -> Outcome:
    """Read the page in a browser, or put the step off until it may be; what was read by an earlier try is kept."""
    browser = deps.browser
    if browser is None:
        raise Permanent("no_browser", "This worker has no browser: install one, or set LEADLINE_BROWSER to off.")
    url = parse_url(str(lease.inputs["url"]))
    attempts = Attempts(deps.receipts, lease, str(url))
    with page_visit(deps, lease, source, attempts) as visit:
        done = try_once(attempts, lambda number: _attempt(deps, browser, lease, (source, url, visit), number))
    outcome = outcome_of(lease, source, done)
    if done[-1].fetch.content_sha256 is not None:
        return outcome
    reason = f"The page needs JavaScript, and a browser could not read it: {done[-1].fetch.detail}"
    lost = outcome.sources[0].model_copy(update={"reason": reason})
    return Outcome(summary=f"{url}: {reason}", fetches=outcome.fetches, sources=(lost,))


def _attempt(deps: Deps, browser: Browser, lease: Lease, page: tuple[Source, Url, PageVisit], number: int) -> Attempt:
    """Try once. A site or a browser that is busy raises `RateLimited` and is no try."""
    source, url, visit = page
    row = LogRow(deps, lease, source, number, "browser")
    try:
        rendered = _visited(browser, visit, url, visit.permit.judge_part)
        final = _final(visit, url, rendered)
    except RateLimited:
        raise
    except StepError as error:
        again, lost = judge_error(error)
        return Attempt(row.failed((url,), visit.robots, error), again, final=lost)
    body = rendered.result.html.encode()
    fetched = Fetched(_hops(url, final), rendered.result.status or HTTPStatus.OK, {"content-type": HTML}, body)
    if not fetched.ok:
        again, lost = judge_status(fetched.status, None)
        return Attempt(row.answered(fetched, visit.robots, None), again, final=lost)
    sha256 = deps.blobs.put(lease.owner_id, body)
    told = row.answered(fetched, visit.robots, sha256).model_copy(update={"detail": _told(rendered)})
    return Attempt(told, content_type=HTML)


def _visited(browser: Browser, visit: PageVisit, url: Url, refuse: Callable[[str], None]) -> Rendered:
    """Hold the site's slot for the whole of the page; the delay counts from its end, when its last request was sent."""
    visit.enter(url, ())
    try:
        return browser.render(url, visit.rules.text if visit.rules else "", refuse)
    finally:
        visit.leave(url, 0.0)


def _final(visit: PageVisit, url: Url, rendered: Rendered) -> Url:
    """Return the page's address in the end, judged like the one that was asked for."""
    final = parse_url(rendered.result.url)
    if final.origin != url.origin:
        raise NotAllowed("browser_left_site", f"In a browser the page leads on to {final.netloc}.")
    if visit.rules is not None and not visit.rules.allows(final):
        raise NotAllowed("robots_disallowed", f"The robots.txt of {final.netloc} does not allow {final.path}.")
    return final


def _hops(url: Url, final: Url) -> tuple[Url, ...]:
    return (url,) if final == url else (url, final)


def _told(rendered: Rendered) -> str | None:
    """Say what the page asked for in vain."""
    refused = sorted({code for _, code in rendered.traffic.refused})
    if not refused:
        return None
    return f"{len(rendered.traffic.refused)} requests of the page were refused: {', '.join(refused)}."
