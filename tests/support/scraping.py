"""Reading the figures of processes as Prometheus does: by file-based discovery and over HTTP."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import requests
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from shared.observability.targets import FOLDER


def discovered(home: Path) -> dict[str, str]:
    """Return the address of each process by its service, from the files that Prometheus reads."""
    found: dict[str, str] = {}
    for file in (home / FOLDER).glob("*.json"):
        for group in json.loads(file.read_text()):
            for target in group["targets"]:
                assert group["labels"]["service"] not in found
                found[group["labels"]["service"]] = target
    return found


def scrape(address: str) -> list[Sample]:
    """Return all samples of a process; what it shows has to parse."""
    answer = requests.get(f"http://{address}/metrics", timeout=10)
    assert answer.status_code == 200, answer.text
    return [sample for family in text_string_to_metric_families(answer.text) for sample in family.samples]


def counted(samples: Iterable[Sample], name: str, *labels: str) -> Counter[tuple[str, ...]]:
    """Return the values of a counter added up by some of its labels."""
    found: Counter[tuple[str, ...]] = Counter()
    for sample in samples:
        if sample.name == name:
            found[tuple(sample.labels[label] for label in labels)] += int(sample.value)
    return found
