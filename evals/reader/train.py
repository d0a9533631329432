"""Train the reader: ``python -m evals.reader.train BASE DATA OUT [--fitz PACKAGE] [--epochs 1] [--threads 1]``.

Stages of 200 steps are kept with the optimizer's state and taken up again after a stop; `OUT/log.jsonl` keeps the run.
Seeds are fixed; on another number of threads sums are taken in another order and weights differ in their last digits.
"""

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch.nn import functional as nnf

from evals.reader.examples import SEED, Example, every
from evals.reader.model import Reader, from_base

TOKENS = 2_048
"""Tokens of one batch, padding included."""
LONGEST = 256
STAGE = 200
RATE = 1.2e-4
WARM = 0.06


def encode(tokenizer: Tokenizer, example: Example) -> dict:
    """Return ids, types and the token span of an example; span (0, 0) means "nothing here", -100 "not told"."""
    head = f"{example.title} : " if example.title else ""
    encoded = tokenizer.encode(example.query, head + example.text)
    ids, types = encoded.ids[:LONGEST], encoded.type_ids[:LONGEST]
    start = end = 0
    if example.label and example.start < 0:
        start = end = -100
    elif example.label:
        low, high = example.start + len(head), example.end + len(head)
        inside = [
            place
            for place, ((left, right), kind) in enumerate(zip(encoded.offsets, encoded.type_ids, strict=True))
            if kind == 1 and place < LONGEST and left < high and right > low and right > left
        ]
        start, end = (inside[0], inside[-1]) if inside else (-100, -100)
    return {"ids": ids, "types": types, "start": start, "end": end, "label": example.label, "task": example.task}


def batches(items: Sequence[dict], epoch: int) -> Iterator[list[dict]]:
    """Give batches of items of like length, in an order that the epoch fixes."""
    chance = random.Random(SEED + epoch)
    order = sorted(range(len(items)), key=lambda place: len(items[place]["ids"]) + chance.random() * 8)
    found, batch = [], []
    for place in order:
        size = len(items[place]["ids"])
        if batch and size * (len(batch) + 1) > TOKENS:
            found.append(batch)
            batch = []
        batch.append(items[place])
    if batch:
        found.append(batch)
    chance.shuffle(found)
    yield from found


def tensors(batch: Sequence[dict]) -> dict[str, torch.Tensor]:
    """Pad a batch."""
    width = max(len(item["ids"]) for item in batch)

    def padded(name: str) -> torch.Tensor:
        return torch.tensor([item[name] + [0] * (width - len(item[name])) for item in batch])

    mask = torch.tensor([[1] * len(item["ids"]) + [0] * (width - len(item["ids"])) for item in batch])
    return {"input_ids": padded("ids"), "attention_mask": mask, "token_type_ids": padded("types")}


def loss_of(reader: Reader, batch: Sequence[dict]) -> torch.Tensor:
    """Sum of the losses of the heads, each over the items that it learns from."""
    inputs = tensors(batch)
    start, end, answers, supports = reader(**inputs)
    hidden = (inputs["token_type_ids"] == 0) | (inputs["attention_mask"] == 0)
    hidden[:, 0] = False
    start, end = start.masked_fill(hidden, -1e4), end.masked_fill(hidden, -1e4)
    label = torch.tensor([float(item["label"]) for item in batch])
    answering = torch.tensor([item["task"] == "answer" for item in batch])
    total = torch.zeros(())
    if answering.any():
        starts = torch.tensor([item["start"] if item["task"] == "answer" else -100 for item in batch])
        ends = torch.tensor([item["end"] if item["task"] == "answer" else -100 for item in batch])
        if (starts >= 0).any():
            total = total + (nnf.cross_entropy(start, starts) + nnf.cross_entropy(end, ends)) / 2
        total = total + nnf.binary_cross_entropy_with_logits(answers[answering], label[answering])
    if (~answering).any():
        total = total + nnf.binary_cross_entropy_with_logits(supports[~answering], label[~answering])
    return total


def main() -> None:
    """Train, or take up a training that was stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--fitz", type=Path)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=0, help="learn from the first so many batches only")
    options = parser.parse_args()
    torch.manual_seed(SEED)
    torch.set_num_threads(options.threads)
    options.out.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer.from_file(str(options.base / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    items = [encode(tokenizer, example) for example in every(options.data, options.fitz)]
    steps = [batch for epoch in range(options.epochs) for batch in batches(items, epoch)]
    steps = steps[: options.steps or None]
    reader = from_base(options.base)
    optimizer = torch.optim.AdamW(reader.parameters(), lr=RATE, weight_decay=0.01)
    warm = max(int(WARM * len(steps)), 1)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, (len(steps) - step) / max(len(steps) - warm, 1))
    )
    first = 0
    kept = options.out / "stage.pt"
    if kept.exists():
        stage = torch.load(kept, weights_only=True)
        reader.load_state_dict(stage["reader"])
        optimizer.load_state_dict(stage["optimizer"])
        schedule.load_state_dict(stage["schedule"])
        first = stage["step"]
    print(f"{len(items)} examples, {sum(len(item['ids']) for item in items)} tokens, {len(steps)} steps, from {first}")
    reader.train()
    begun, run = time.monotonic(), []
    for step in range(first, len(steps)):
        torch.manual_seed(SEED + step)
        loss = loss_of(reader, steps[step])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        run.append(loss.item())
        if (step + 1) % STAGE == 0 or step + 1 == len(steps):
            torch.save(
                {"reader": reader.state_dict(), "optimizer": optimizer.state_dict(),
                 "schedule": schedule.state_dict(), "step": step + 1}, kept.with_suffix(".new")
            )  # fmt: skip
            kept.with_suffix(".new").replace(kept)
        if (step + 1) % 20 == 0:
            line = {"step": step + 1, "of": len(steps), "loss": round(sum(run) / len(run), 4),
                    "seconds": round(time.monotonic() - begun)}  # fmt: skip
            with (options.out / "log.jsonl").open("a", encoding="utf-8") as log:
                log.write(json.dumps(line) + "\n")
            print(line, flush=True)
            run = []


if __name__ == "__main__":
    main()
