"""The `Reader` port on the file that is shipped beside this module."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from shared.ports.reader import Pair, ReaderUnavailable, Reading

FOLDER = Path(__file__).parent / "weights"
MODEL_SHA256 = "ddf22facf2dd2cebb56764c1b5080d26d96879bd068190ae1639761e74bccb74"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

LONGEST = 256
"""Tokens of a pair that are read; what is past them is not."""
LONGEST_ANSWER = 40
"""Tokens of a span."""
BATCH_TOKENS = 4_096
MOST_CHARS = 4_000
"""Characters of a text that are looked at: more than `LONGEST` tokens ever hold, but for runs of blanks."""

NOTHING = Reading(0.0, 0.0, 0, 0)

_Rows = list[tuple[int, Any]]


@dataclass(frozen=True, slots=True)
class OnnxReader:
    """A reader by its folder: made at once, loaded with the first pair, once in a process; may be pickled."""

    folder: Path = FOLDER
    model_sha256: str = MODEL_SHA256

    def read(self, pairs: Sequence[Pair]) -> tuple[Reading, ...]:
        """Return one reading for each pair; see the port."""
        found: list[Reading] = [NOTHING] * len(pairs)
        for rows, (start, end, answers, _) in self._run(pairs):
            for (place, encoded), starts, ends, verdict in zip(rows, start, end, answers, strict=True):
                found[place] = _reading(pairs[place], encoded, starts, ends, float(verdict))
        return tuple(found)

    def supports(self, pairs: Sequence[Pair]) -> tuple[float, ...]:
        """Return one probability for each pair; see the port."""
        found = [0.0] * len(pairs)
        for rows, (*_, supports) in self._run(pairs):
            for (place, _), verdict in zip(rows, supports, strict=True):
                found[place] = _sigmoid(float(verdict))
        return tuple(found)

    def _run(self, pairs: Sequence[Pair]) -> Iterator[tuple[_Rows, list[Any]]]:
        """Yield batches of pairs of like length with what the model gives for each."""
        session, tokenizer = _loaded(self.folder, self.model_sha256)
        rows: _Rows = [(place, _encoded(tokenizer, pair)) for place, pair in enumerate(pairs)]
        rows.sort(key=lambda row: len(row[1].ids))
        while rows:
            size = max(1, BATCH_TOKENS // len(rows[min(len(rows), 16) - 1][1].ids))
            batch, rows = rows[: min(size, 16)], rows[min(size, 16) :]
            yield batch, session.run(None, _inputs([encoded for _, encoded in batch]))


@lru_cache(maxsize=2)
def _loaded(folder: Path, model_sha256: str) -> tuple[Any, Any]:
    """Return session and tokenizer; raises ReaderUnavailable where a file is missing, cut or altered."""
    data = _checked(folder / "reader.onnx", model_sha256)
    words = _checked(folder / "tokenizer.json", TOKENIZER_SHA256)
    try:
        import onnxruntime as ort
        from tokenizers import Tokenizer
    except ImportError as error:
        raise ReaderUnavailable(f"The local reader needs onnxruntime and tokenizers: {error}.") from error
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 3
    tokenizer = Tokenizer.from_buffer(words)
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST, strategy="longest_first")
    return ort.InferenceSession(data, options, providers=["CPUExecutionProvider"]), tokenizer


def _checked(path: Path, sha256: str) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ReaderUnavailable(f"The local reader's file {path.name} cannot be read: {error.strerror}.") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise ReaderUnavailable(f"The local reader's file {path.name} is not the one of this version: get it again.")
    return data


def _encoded(tokenizer: Any, pair: Pair) -> Any:
    return tokenizer.encode(pair.query[:MOST_CHARS], _head(pair) + pair.text[:MOST_CHARS])


def _head(pair: Pair) -> str:
    """Return what stands before the text: its title."""
    return f"{pair.title[:200]} : " if pair.title else ""


def _inputs(batch: Sequence[Any]) -> dict[str, Any]:
    width = max(len(encoded.ids) for encoded in batch)
    shape = (len(batch), width)
    ids, mask, types = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for row, encoded in enumerate(batch):
        size = len(encoded.ids)
        ids[row, :size], mask[row, :size], types[row, :size] = encoded.ids, 1, encoded.type_ids
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}


def _reading(pair: Pair, encoded: Any, starts: Any, ends: Any, verdict: float) -> Reading:
    """Return the best span inside the text, and what both heads say."""
    head = len(_head(pair))
    places = zip(encoded.type_ids, encoded.offsets, strict=True)
    inside = np.array([kind == 1 and high > low >= head for kind, (low, high) in places])
    size = len(inside)
    if not inside.any():
        return NOTHING
    first = np.where(inside, starts[:size], -np.inf)
    last = np.where(inside, ends[:size], -np.inf)
    scores = np.triu(first[:, None] + last[None, :])
    scores[np.tril_indices(size, -1)] = -np.inf
    scores[np.triu_indices(size, LONGEST_ANSWER)] = -np.inf
    low, high = np.unravel_index(int(np.argmax(scores)), scores.shape)
    margin = float(scores[low, high] - starts[0] - ends[0])
    return Reading(verdict, margin, encoded.offsets[low][0] - head, encoded.offsets[high][1] - head)


def _sigmoid(value: float) -> float:
    return float(1 / (1 + np.exp(-min(max(value, -30.0), 30.0))))
