"""The benches over published lists hold what they ask for, where the lists are at hand."""

import pytest

from evals.bench import robots, urls
from evals.truth.sets import DATA

pytestmark = pytest.mark.skipif(not (DATA / "lists").exists(), reason="needs the published lists (LEADLINE_TEST_DATA)")


def test_robots_files() -> None:
    """At least 99 of 100 agreed cases, every delay, every real file."""
    figures = robots.measure()
    assert len(figures.wrong) <= 0.01 * figures.agreed, figures.wrong
    assert figures.delays_wrong == 0
    assert figures.files_read == figures.files > 200


def test_addresses() -> None:
    """All that the standard refuses, all references of RFC 3986, and one canonical form."""
    figures = urls.measure()
    assert (figures.not_refused, figures.resolved_wrong, figures.changed_again) == ([], [], [])
    assert figures.references == 40
