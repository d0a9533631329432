"""The gateway's pure decisions."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.gateway import rules
from shared.domain.errors import Invalid
from shared.domain.states import Action, RunStatus
from shared.domain.text import clean


@given(st.dates(min_value=date(1000, 1, 1)), st.sampled_from(["%Y", "%Y-%m", "%Y-%m-%d"]))
def test_every_year_month_and_day_of_the_calendar_is_taken(day: date, form: str) -> None:
    """A date that exists passes in each of its three lengths."""
    rules.check_as_of(day.strftime(form))


@pytest.mark.parametrize("as_of", ["2023-13", "2023-02-29", "0000", "2023-00"])
def test_dates_that_the_calendar_lacks_are_refused(as_of: str) -> None:
    """A date that does not exist is named in the error."""
    with pytest.raises(Invalid, match=as_of):
        rules.check_as_of(as_of)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(JSON)
def test_cleaning_a_value_twice_changes_nothing(value: object) -> None:
    """What was cleaned is clean."""
    once = rules.cleaned(value)
    assert rules.cleaned(once) == once


@given(st.text(max_size=600))
def test_document_names_are_short_relative_and_clean(sent: str) -> None:
    """Whatever a client sends as a file name, the label is no path outside of anything and can be stored."""
    name = rules.document_name(sent, 3)
    assert 1 <= len(name) <= rules.LARGEST_NAME
    assert clean(name) == name
    assert not name.startswith("/")
    assert ".." not in name.split("/")


@pytest.mark.parametrize(
    ("sent", "name"),
    [("a.txt", "a.txt"), ("sub\\b.md", "sub/b.md"), ("../../etc/passwd", "etc/passwd"), ("", "document-1")],
)
def test_document_names_keep_what_tells_files_apart(sent: str, name: str) -> None:
    """Folders of a relative path stay."""
    assert rules.document_name(sent, 1) == name


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.8.9.10", "::1", "[::1]", "a.localhost"])
def test_names_of_this_machine_are_loopback(host: str) -> None:
    """Every spelling of this machine counts."""
    assert rules.is_loopback(host)


@pytest.mark.parametrize(
    "host", ["", "example.com", "127.0.0.1.example.com", "localhost.example.com", "10.0.0.1", "xlocalhost", "::2"]
)
def test_other_names_are_not_loopback(host: str) -> None:
    """A name that only begins or ends like this machine's does not count."""
    assert not rules.is_loopback(host)


@pytest.mark.parametrize(
    ("origin", "host", "same"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1:8000", True),
        ("http://localhost", "localhost", True),
        ("https://research.example", "research.example", True),
        ("http://[::1]:80", "[::1]", True),
        ("http://127.0.0.1:8001", "127.0.0.1:8000", False),
        ("http://evil.example", "127.0.0.1:8000", False),
        ("null", "127.0.0.1:8000", False),
        ("", "127.0.0.1:8000", False),
        ("http://a:port", "a:1", False),
    ],
)
def test_only_pages_of_this_server_have_its_origin(origin: str, host: str, same: bool) -> None:
    """Host and port must agree."""
    assert rules.same_origin(origin, "http", host) is same


def test_an_action_holds_when_its_aim_is_reached() -> None:
    """Cancelling the cancelled and approving the approved version is no error, another version is."""
    assert rules.already_holds(Action.CANCEL, RunStatus.CANCELLED, None, 1)
    assert not rules.already_holds(Action.CANCEL, RunStatus.COMPLETED, None, 1)
    assert rules.already_holds(Action.APPROVE_PLAN, RunStatus.COMPLETED, 2, 2)
    assert not rules.already_holds(Action.APPROVE_PLAN, RunStatus.COMPLETED, 1, 2)
    assert not rules.already_holds(Action.APPROVE_PLAN, RunStatus.CANCELLED, None, 1)


def test_one_idempotency_key_is_taken_from_either_place() -> None:
    """Header and field may both be given when they agree."""
    assert rules.idempotency_key(None, None) is None
    assert (
        rules.idempotency_key("a", None) == rules.idempotency_key(None, "a") == rules.idempotency_key("a", "a") == "a"
    )


@pytest.mark.parametrize(("header", "field"), [("a", "b"), ("", None), ("a b", None), ("x" * 201, None), (None, "é")])
def test_odd_idempotency_keys_are_refused(header: str | None, field: str | None) -> None:
    """Two keys, an empty, a long or an unprintable one."""
    with pytest.raises(Invalid):
        rules.idempotency_key(header, field)
