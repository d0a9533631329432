"""The local reader that is shipped: its scores, its limits, and what happens without its file."""

import json
import shutil
from pathlib import Path

import pytest

from services.extractor.engines.answers import clause_around, find
from services.extractor.engines.spans import ExtractRequest
from shared.adapters.reader.onnx import FOLDER, MODEL_SHA256, OnnxReader
from shared.domain.certainty import reads
from shared.domain.rank import stats_of
from shared.domain.segments import segment
from shared.domain.text import content_terms
from shared.ports.reader import Pair, ReaderUnavailable

RECORDED = json.loads((Path(__file__).parent / "reader_scores.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def reader() -> OnnxReader:
    return OnnxReader()


def test_the_shipped_file_gives_the_recorded_scores(reader: OnnxReader) -> None:
    assert RECORDED["model_sha256"] == MODEL_SHA256
    pairs = [Pair(row["query"], row["text"], row["title"]) for row in RECORDED["rows"]]
    for row, pair, reading in zip(RECORDED["rows"], pairs, reader.read(pairs), strict=True):
        assert reading.verdict == pytest.approx(row["verdict"], abs=0.3), row["query"]
        assert pair.text[reading.start : reading.end] == row["words"]


def test_pairs_read_together_or_alone_read_the_same(reader: OnnxReader) -> None:
    pairs = [Pair(row["query"], row["text"], row["title"]) for row in RECORDED["rows"]]
    alone = [reader.read([pair])[0] for pair in pairs]
    together = reader.read(pairs)
    for one, other in zip(alone, together, strict=True):
        assert one.verdict == pytest.approx(other.verdict, abs=0.5)


def test_what_answers_scores_above_what_does_not(reader: OnnxReader) -> None:
    question = "How long is the east pier?"
    answer, other = reader.read(
        [
            Pair(question, "The east pier is 412 metres long and was opened in 1931."),
            Pair(question, "The west pier was closed after the storm, and its lamps were sold."),
        ]
    )
    assert answer.verdict > other.verdict
    assert "412" in "The east pier is 412 metres long and was opened in 1931."[answer.start : answer.end]


@pytest.mark.parametrize(
    "pair",
    [
        Pair("How long is it?", "word " * 12_000),
        Pair("How long is it?", "pier"),
        Pair("How long is it?", "1234 5678 !!! ###"),
        Pair("How long is it?", "港口的防波堤长四百米。"),
        Pair("How long is the pier? " * 190, "The pier is 412 metres long."),
        Pair("", "The pier is 412 metres long."),
        Pair("How long is it?", ""),
        Pair("How long is it?", "\x00\ufffd\u200b"),
    ],
    ids=["very long", "one word", "no letters", "another script", "long question", "no question", "no text", "odd"],
)
def test_odd_input_is_read_without_a_fault(reader: OnnxReader, pair: Pair) -> None:
    (reading,) = reader.read([pair])
    assert 0 <= reading.start <= reading.end <= len(pair.text)
    (supports,) = reader.supports([pair])
    assert 0 <= supports <= 1


def test_nothing_is_read_of_no_pairs(reader: OnnxReader) -> None:
    assert reader.read([]) == ()
    assert reader.supports([]) == ()


def copied(folder: Path) -> Path:
    shutil.copy(FOLDER / "tokenizer.json", folder)
    shutil.copy(FOLDER / "reader.onnx", folder)
    return folder


def damaged(folder: Path, how: str) -> OnnxReader:
    file = copied(folder) / "reader.onnx"
    if how == "missing":
        file.unlink()
    elif how == "cut":
        file.write_bytes(file.read_bytes()[:100_000])
    else:
        data = bytearray(file.read_bytes())
        data[5_000_000] ^= 1
        file.write_bytes(bytes(data))
    return OnnxReader(folder)


@pytest.mark.parametrize("how", ["missing", "cut", "altered"])
def test_a_damaged_file_is_told_and_words_alone_decide(tmp_path: Path, how: str) -> None:
    broken = damaged(tmp_path, how)
    with pytest.raises(ReaderUnavailable, match=r"reader\.onnx"):
        broken.read([Pair("How long is the pier?", "The pier is 412 metres long.")])
    who, found = find(request_of("The pier is 412 metres long. It is red."), "How long is the pier?", broken)
    assert who == "words"
    assert found[0].certainty > 0


def request_of(text: str) -> ExtractRequest:
    segments = tuple((s.start, s.end) for s in segment(text))
    return ExtractRequest(
        title="",
        text=text,
        segments=segments,
        headings=(),
        questions=(("q1", "How long is the pier?"),),
        query="",
        stats=stats_of([content_terms(text[a:b]) for a, b in segments]),
        max_chars=200_000,
    )


def test_the_reader_finds_the_words_that_answer(reader: OnnxReader) -> None:
    text = "The harbour is old. The pier is 412 metres long. It was painted red."
    who, found = find(request_of(text), "How long is the pier?", reader)
    assert who == "reader"
    assert found[0].answer is not None
    assert "412" in text[slice(*found[0].answer)]
    assert text[slice(*request_of(text).segments[found[0].first])].startswith("The pier")


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("How long is the pier?", True),
        ("pier length", True),
        ("Wie lang ist der Pier im Hafen?", False),
        ("¿Cuánto mide el muelle del puerto?", False),
        ("Какова длина пирса?", False),
        ("码头有多长？", False),
    ],
)
def test_it_reads_english_only(question: str, told: bool) -> None:
    assert reads(question) is told


@pytest.mark.parametrize(
    ("sentence", "words", "clause"),
    [
        ("In 1902, the Brand Works built the lock.", "Brand", "the Brand Works built the lock"),
        ("The pier (412 metres long) is red.", "412", "412 metres long"),
        ("- Seats: 24", "24", "24"),
        ("It cost 1,250 crowns.", "1,250", "It cost 1,250 crowns"),
        ("Brand.", "Brand", "Brand"),
    ],
)
def test_the_clause_that_holds_the_words_is_printed(sentence: str, words: str, clause: str) -> None:
    text = f"Before. {sentence} After."
    start = text.index(sentence)
    place = text.index(words, start)
    low, high = clause_around(text, (start, start + len(sentence)), (place, place + len(words)))
    assert text[low:high] == clause
