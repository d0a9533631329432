"""Near-duplicates: copies with a frame around them, cut short, quoted, collected; in any order."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.dedupe import SKETCH_SIZE, clusters, overlap, shingles, signature, similarity

WORDS = [f"word{number}" for number in range(3000)]


def text_of(seed: int, words: int = 400) -> str:
    """Return a text of its own for each seed."""
    rng = random.Random(seed)
    return " ".join(rng.choice(WORDS) for _ in range(words))


def grouped(texts: dict[str, str]) -> dict[str, str]:
    """Cluster texts."""
    return clusters({key: signature(text) for key, text in texts.items()})


def test_a_mirror_with_a_frame_around_it_is_a_copy() -> None:
    """Navigation before and comments behind do not make it another text; the frame alone makes nothing a copy."""
    frame, comments = text_of(90, 250), text_of(91, 200)
    texts = {"original": text_of(1), "mirror": f"{frame} {text_of(1)} {comments}", "other": f"{frame} {text_of(2)}"}
    assert grouped(texts) == {"original": "mirror", "mirror": "mirror", "other": "other"}


def test_a_text_cut_short_is_a_copy() -> None:
    """The first third of an article stands for it; a quoted paragraph does not."""
    long = text_of(1, 900)
    words = long.split()
    assert len(set(grouped({"a": long, "b": " ".join(words[:300])}).values())) == 1
    assert len(set(grouped({"a": long, "b": " ".join(words[:90])}).values())) == 2


def test_a_collection_joins_nothing() -> None:
    """A page that holds several articles in full is no copy of any, nor are they of each other, nor two such pages."""
    articles = {f"a{seed}": text_of(seed, 300) for seed in range(4)}
    collection = " ".join(articles.values())
    texts = {**articles, "all": collection, "all2": f"{collection} {text_of(99, 20)}"}
    found = grouped(texts)
    assert {found[key] for key in articles} == set(articles)
    assert found["all"] == found["all2"] == "all"


def test_a_short_text_is_a_copy_only_of_what_it_resembles() -> None:
    """A sentence that stands in an article as well does not make the two one."""
    article = text_of(1, 60)
    found = grouped(
        {"article": article, "line": " ".join(article.split()[:15]), "same": " ".join(article.split()[:15])}
    )
    assert found["line"] == found["same"] != found["article"]


def test_scripts_without_spaces_have_words_too() -> None:
    """Every character counts as a word, so that a copy with a few changes is found."""
    rng = random.Random(3)
    letters = [chr(code) for code in range(0x4E00, 0x4F00)]
    text = "".join(rng.choice(letters) for _ in range(400))
    assert similarity(signature(text), signature(text[:200] + "日" + text[200:])) > 0.9
    assert similarity(signature(text), signature(text[::-1])) < 0.1


def test_case_marks_and_spaces_do_not_matter() -> None:
    """Two settings of one text have one sketch."""
    assert signature("The crew's count: 12 m, in ALL.") == signature("the crew s count 12 m  in all")
    assert signature("one two") == signature("One, two!") != signature("two one")
    assert signature("") == signature(" — ") == ()


def test_many_texts_with_one_frame_are_compared_in_time() -> None:
    """A frame that hundreds of texts share makes none of them a copy of another, and copies among them are found."""
    frame = text_of(5, 60)
    texts = {f"{seed:03}": f"{frame} {text_of(seed, 200)}" for seed in range(10, 310)}
    texts["copy"] = texts["100"]
    found = grouped(texts)
    assert found["copy"] == found["100"]
    assert len(set(found.values())) == 300


@given(st.integers(30, 1500), st.integers(30, 1500))
@settings(max_examples=30, deadline=None)
def test_the_estimate_is_near_the_truth(first: int, second: int) -> None:
    """Similarity and share estimated from sketches are those of the texts, within what a sample of their size gives."""
    one, other = text_of(1, first), " ".join([text_of(1, min(first, second)), text_of(2, second)])
    true, told = (shingles(one), shingles(other)), overlap(signature(one), signature(other))
    jaccard = len(true[0] & true[1]) / len(true[0] | true[1])
    assert abs(told.similarity - jaccard) < 0.25
    assert overlap(signature(other), signature(one)).similarity == told.similarity
    assert len(signature(other)) <= SKETCH_SIZE


KEYS = st.permutations(["a", "b", "c", "d", "e", "f", "g", "h"])
KNOWN = {
    "a": text_of(1),
    "b": f"{text_of(90, 100)} {text_of(1)}",
    "c": text_of(1, 200),
    "d": text_of(2),
    "e": " ".join(text_of(seed) for seed in (1, 2, 3)),
    "f": text_of(3),
    "g": text_of(4, 12),
    "h": "",
}
SKETCHES = {key: signature(text) for key, text in KNOWN.items()}


@given(KEYS)
def test_clusters_do_not_depend_on_order(keys: list[str]) -> None:
    """Whatever order the texts come in, they fall into the same clusters, and the smallest id names each."""
    found = clusters({key: SKETCHES[key] for key in keys})
    assert found == clusters(SKETCHES)
    assert all(found[key] <= key and found[found[key]] == found[key] for key in keys)
    assert found["a"] == found["b"]


def test_known_pairs_join() -> None:
    """Texts that are one for another reason, such as their address."""
    assert clusters(SKETCHES, [("d", "g")])["g"] == "d"
