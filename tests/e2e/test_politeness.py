"""The bench of politeness, small: several workers and runs over many sites, Redis emptied and a fetch worker killed."""

import pytest

from evals.bench.politeness import Setting, measure

ARRIVAL_S = 0.2
"""By how much a busy machine may shift the moment at which a request is seen to arrive; half a delay would show."""


@pytest.mark.slow
def test_no_site_is_ever_asked_twice_at_once_or_too_soon() -> None:
    """By the log of the sites; how much of what politeness allows is used is for the bench to say."""
    wide, few = measure(Setting(sites=16, runs=2, workers=2, delay_s=0.5, pages=8, contended=4, patience_s=150))
    for figures in (wide, few):
        assert figures.overlaps == 0
        assert figures.smallest_margin_s > -ARRIVAL_S
    assert wide.sites >= 12
    assert few.requests == 4 + 16
