"""`leadline inspect page` with real processes: one line a file, in order, whatever the file is."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from services.extractor.inspect import Served, inspect_pages
from tests.factories.office import docx, paragraph, xlsx
from tests.factories.office import row as sheet_row

ROOT = Path(__file__).parents[2]
FIELDS = """
file status mime encoding encoding_source title author publisher published_at modified_at canonical_url language text
headings pages links truncated reason
""".split()
PAGE = (
    "<html><head><title>Häfen</title></head><body><h1>Depth</h1><p>It is 12 m. <a href='c'>More</a></p></body></html>"
)


def lines(served: Served, *files: Path) -> list[dict[str, Any]]:
    """Return the answers for files."""
    return [json.loads(line) for line in inspect_pages([str(file) for file in files], served)]


def written(folder: Path, name: str, data: bytes) -> Path:
    """Write a file."""
    (folder / name).write_bytes(data)
    return folder / name


def test_a_page_with_its_headers_and_address(tmp_path: Path) -> None:
    """Text, maps, metadata and absolute links, decoded as the header says."""
    file = written(tmp_path, "a.bin", PAGE.encode("cp1250"))
    (answer,) = lines(Served("text/html; charset=windows-1250", url="https://coast.test/d/p"), file)
    assert list(answer) == FIELDS
    assert (answer["status"], answer["title"], answer["encoding_source"]) == ("ok", "Häfen", "header")
    assert answer["text"] == "Depth\n\nIt is 12 m. More"
    assert answer["headings"] == [{"level": 1, "text": "Depth", "start": 0, "end": 5}]
    assert answer["links"] == ["https://coast.test/d/c"]


def test_one_line_for_each_file_in_order(tmp_path: Path) -> None:
    """Many files of all kinds, some of which are none, over several processes."""
    kinds = {
        "a.docx": docx(paragraph("It is 12 m deep.")),
        "b.xlsx": xlsx({"Prices": sheet_row(1, "Port", "Fee") + sheet_row(2, "Northam", 12)}),
        "c.html": PAGE.encode(),
        "d.pdf": PAGE.encode(),
        "e.txt": b"",
        "f.bin": bytes(range(256)),
        "g.html": b"<title>Just a moment...</title>",
    }
    files = [written(tmp_path, f"{number}-{name}", data) for number in range(4) for name, data in kinds.items()]
    files += [tmp_path / "missing.html", tmp_path, Path("a\x00b")]
    answers = lines(Served(), *files)
    assert [answer["file"] for answer in answers] == [str(file) for file in files]
    statuses = ["ok", "ok", "ok", "broken", "empty", "unsupported", "blocked"]
    assert [answer["status"] for answer in answers] == statuses * 4 + ["unreadable"] * 3
    assert all(answer["reason"] for answer in answers if answer["status"] != "ok")
    assert all(answer["file"] and set(FIELDS) <= set(answer) for answer in answers)
    assert answers[1]["parts"] == [{"kind": "sheet", "name": "Prices", "start": 0, "end": len(answers[1]["text"])}]


def test_a_bomb_ends_in_its_line(tmp_path: Path) -> None:
    """What would eat memory or time is stopped, and the next file is read."""
    deep = written(tmp_path, "deep.html", b"<div>" * 200_000 + b"x")
    packed = written(tmp_path, "packed.html", gzip.compress(b" " * 60_000_000))
    after = written(tmp_path, "after.html", PAGE.encode())
    answers = lines(Served("text/html", "gzip"), deep, packed, after)
    assert [answer["status"] for answer in answers[1:]] == ["too_large", "ok"]
    assert answers[0]["status"] in ("ok", "broken")


def test_a_header_that_lies_about_packing(tmp_path: Path) -> None:
    """A plain body under a gzip header is read as it is; a packed one is unpacked."""
    plain, packed = (
        written(tmp_path, "a.html", PAGE.encode()),
        written(tmp_path, "b.html", gzip.compress(PAGE.encode())),
    )
    cut = written(tmp_path, "c.html", gzip.compress(PAGE.encode())[:8] + b"damaged")
    answers = lines(Served("text/html; charset=utf-8", "gzip"), plain, packed, cut)
    assert answers[0]["text"] == answers[1]["text"] != ""
    assert answers[2]["status"] != "ok"


def leadline(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "infra.cli", "inspect", *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, timeout=120, env=environment)


def test_the_command_line(tmp_path: Path) -> None:
    """Every word after `inspect` prints its lines; headers that are none are told in a sentence."""
    file = written(tmp_path, "a.html", PAGE.encode())
    done = leadline(
        "page", str(file), "--headers", '{"content-type": "text/html; charset=utf-8"}', "--url", "http://a.test/"
    )
    assert (done.returncode, json.loads(done.stdout)["links"]) == (0, ["http://a.test/c"])
    asked = {
        "duplicates": ({"id": "a", "text": "b"}, {"id": "a", "cluster": "a"}),
        "robots": ({"robots": "", "agent": "L", "url": "/"}, {"allowed": True}),
        "address": ({"input": "127.0.0.1"}, {"verdict": "block", "code": "ip_loopback"}),
        "url": (
            {"input": "http://a.test"},
            {"input": "http://a.test", "canonical": "http://a.test/", "site_key": "a.test", "error": None},
        ),
    }
    for word, (row, answer) in asked.items():
        done = leadline(word, given=f"{json.dumps(row)}\n")
        assert (done.returncode, json.loads(done.stdout)) == (0, answer), done.stderr
    wrong = leadline("page", str(file), "--headers", "[]")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "--headers has to be a JSON object" in wrong.stderr
