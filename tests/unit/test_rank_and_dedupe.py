"""Ranking and near-duplicates."""

import random

from hypothesis import given
from hypothesis import strategies as st

from shared.domain.dedupe import clusters, signature, similarity
from shared.domain.passages import PASSAGE_CHARS, passages
from shared.domain.rank import bm25, coverage, stats_of
from shared.domain.selection import FLOOR, GIVEN, choose_reads, given_reads
from shared.domain.view import Candidate

WORDS = [f"word{n}" for n in range(400)]


def text_of(seed: int, words: int = 300) -> str:
    """Return a reproducible text."""
    return " ".join(random.Random(seed).choices(WORDS, k=words))


def test_a_rare_term_weighs_more() -> None:
    """BM25 prefers the text that holds the rare term, and coverage says which share of the query it holds."""
    texts = [["basin", "depth"], ["basin", "noise"], ["basin"], ["basin", "mud"]]
    stats = stats_of(texts)
    query = ["basin", "depth"]
    scores = [bm25(query, t, stats) for t in texts]
    assert max(scores) == scores[0]
    assert coverage(query, texts[0], stats) == 1.0
    assert 0 < coverage(query, texts[1], stats) < 0.5
    assert coverage([], texts[0], stats) == 0.0


@given(st.lists(st.lists(st.sampled_from(WORDS[:12]), max_size=12), max_size=8))
def test_scores_are_never_negative(texts: list[list[str]]) -> None:
    """Even a term that every text holds does not count against a text."""
    stats = stats_of(texts)
    assert all(bm25(WORDS[:3], t, stats) >= 0 for t in texts)


def test_a_copy_is_found_and_a_stranger_is_not() -> None:
    """A text with a few words changed is a near-duplicate; another text is not."""
    original = text_of(1)
    copy = original.replace("word7 ", "other ", 1) + " The end."
    assert similarity(signature(original), signature(copy)) > 0.9
    assert similarity(signature(original), signature(text_of(2))) < 0.1
    assert similarity(signature(""), signature("")) == 0.0


@given(st.randoms(use_true_random=False))
def test_clusters_do_not_depend_on_order(rng: random.Random) -> None:
    """The same set of texts gives the same clusters, in whatever order they come."""
    texts = {"a": text_of(1), "b": text_of(1) + " end", "c": text_of(2), "d": text_of(1) + " more at the end"}
    signatures = {k: signature(t) for k, t in texts.items()}
    keys = list(signatures)
    rng.shuffle(keys)
    assert clusters({k: signatures[k] for k in keys}) == {"a": "a", "b": "a", "c": "c", "d": "a"}


@given(st.lists(st.integers(1, 400), max_size=60))
def test_passages_hold_every_segment_once(lengths: list[int]) -> None:
    """Passages are whole segments in order, none twice, each ending as soon as it is long enough."""
    segments, at = [], 0
    for length in lengths:
        segments.append((at, at + length))
        at += length + 1
    found = passages(segments)
    assert [s for s, _ in found] == sorted({s for s, _ in found})
    for start, end in segments:
        assert sum(a <= start and end <= b for a, b in found) == 1
    assert all(b - a >= PASSAGE_CHARS for a, b in found[:-1])


@given(st.permutations(range(8)), st.integers(0, 10))
def test_reads_are_shared_out_between_searches(order: list[int], room: int) -> None:
    """Each search gives its best first, none more documents than the floor, whatever the order of the candidates."""
    every = [Candidate(f"{key}{n}", key, n, f"doc{n}") for key in ("s1", "s2") for n in range(4)]
    chosen = choose_reads(["s1", "s2"], [every[i] for i in order], frozenset({"s10"}), room)
    assert [c.source_id for c in chosen] == ["s11", "s20", "s12", "s21", "s13", "s22"][:room]
    assert sum(c.search_key == "s2" for c in chosen) <= FLOOR


@given(st.permutations(range(8)), st.integers(0, 10))
def test_pages_fill_the_room_that_is_left(order: list[int], room: int) -> None:
    """Pages of the web are shared out in the same way, and no room stays empty while there are any."""
    every = [Candidate(f"{key}{n}", key, n) for key in ("s1", "s2") for n in range(4)]
    chosen = choose_reads(["s1", "s2"], [every[i] for i in order], frozenset({"s10"}), room)
    assert [c.source_id for c in chosen] == ["s11", "s20", "s12", "s21", "s13", "s22", "s23"][:room]


def test_given_sources_come_in_their_order() -> None:
    """Sources that came with the request are read as they were given, as far as there is room."""
    every = [Candidate(f"g{n}", GIVEN, n) for n in (2, 0, 1)] + [Candidate("s0", "s", 0)]
    assert [c.source_id for c in given_reads(every, frozenset({"g0"}), 5)] == ["g1", "g2"]
    assert [c.source_id for c in given_reads(every, frozenset(), 2)] == ["g0", "g1"]
    assert given_reads(every, frozenset(), -1) == ()
