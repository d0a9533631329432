"""The bundle: complete, repeatable, and every altered byte of it found in the file where it is."""

import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import cache
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.cli import exits
from infra.cli.console import Console
from infra.cli.main import main
from services.synthesizer.rendering.bundle import canonical_json, manifest_json, write_bundle
from services.synthesizer.verify import Limits, verify_bundle
from shared.domain.ids import sha256_hex
from tests.factories.research import MOMENT, RUN_ID, make_draft, make_statement
from tests.support.harbour_run import AUTHORITY_SENTENCE, harbour_run, synthesize

NAMES = {
    "manifest.json",
    "report.json",
    "report.md",
    "report.html",
    "evidence.jsonl",
    "sources.jsonl",
    "fetches.jsonl",
    "verdicts.jsonl",
}


@cache
def bundle() -> bytes:
    """Return the bundle of a small run in which one sentence was dropped."""
    run, deps = harbour_run()
    wrong = make_statement("stm_wrong", f"{AUTHORITY_SENTENCE} The sea is dry.", ["ev_authority"])
    run.drafted[wrong.id] = make_draft(wrong, ordinal=99)
    synthesize(run, deps)
    assert run.judged[wrong.id].verdict == "partially_supported"
    return run.files["bundle"].data


def unpack(data: bytes) -> dict[str, bytes]:
    """Return the files of an archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rebuilt(files: dict[str, bytes]) -> bytes:
    """Return an archive of these files under a manifest that fits them."""
    members = {path: data for path, data in files.items() if path != "manifest.json"}
    return write_bundle({"manifest.json": manifest_json(members, RUN_ID, MOMENT.isoformat()), **members})


def test_a_bundle_holds_what_its_format_names() -> None:
    """The fixed files, a snapshot for each text that evidence comes from, and a manifest of them all."""
    files = unpack(bundle())
    snapshots = {name for name in files if name.startswith("snapshots/")}
    assert files.keys() == NAMES | snapshots
    assert all(name == f"snapshots/{sha256_hex(files[name])}.txt" for name in snapshots)
    manifest = json.loads(files["manifest.json"])
    assert manifest["format"] == "leadline-bundle"
    assert manifest["version"] == 1
    assert manifest["files"] == {
        n: {"sha256": sha256_hex(d), "bytes": len(d)} for n, d in files.items() if n != "manifest.json"
    }
    unsigned = {k: v for k, v in manifest.items() if k != "manifest_sha256"}
    assert manifest["manifest_sha256"] == sha256_hex(
        json.dumps(unsigned, sort_keys=True, separators=(",", ":")).encode()
    )


def test_a_bundle_is_made_of_the_same_bytes_again() -> None:
    """Nothing in the archive depends on the time or place of its making."""
    assert rebuilt(unpack(bundle())) == bundle()


def test_an_unaltered_bundle_verifies() -> None:
    """As bytes, from a path, and packed anew by another tool."""
    assert verify_bundle(bundle()).faults == ()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in reversed(unpack(bundle()).items()):
            archive.writestr(name, data)
    result = verify_bundle(buffer.getvalue())
    assert result.ok, result.faults
    assert result.summary["run_id"] == RUN_ID
    assert result.summary["renderings"] == "recomputed"


def test_a_bundle_may_be_given_as_a_path(tmp_path: Path) -> None:
    """A file is read as far as the limit; a missing one is a fault."""
    path = tmp_path / "report.zip"
    path.write_bytes(bundle())
    assert verify_bundle(path).ok
    assert verify_bundle(str(path)).ok
    assert [f.code for f in verify_bundle(tmp_path / "missing.zip").faults] == ["unreadable"]
    assert [f.code for f in verify_bundle(tmp_path).faults] == ["unreadable"]


@pytest.mark.parametrize("name", sorted(unpack(bundle())))
@settings(max_examples=40)
@given(place=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_an_altered_byte_is_found_and_its_file_named(name: str, place: float, flip: int) -> None:
    """One changed byte of any file, in an archive with right checksums, is found, and no other file is blamed."""
    files = unpack(bundle())
    data = bytearray(files[name])
    data[int(place * len(data))] ^= flip
    result = verify_bundle(write_bundle({**files, name: bytes(data)}))
    assert not result.ok
    assert {f.file for f in result.faults} == {name}


@settings(max_examples=60)
@given(name=st.sampled_from(sorted(unpack(bundle()))), place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_the_command_names_the_file_of_an_altered_bit(name: str, place: float, bit: int) -> None:
    """``leadline verify`` ends with its status for faults, and the only file that it names is the altered one."""
    files = unpack(bundle())
    data = bytearray(files[name])
    data[int(place * len(data))] ^= 1 << bit
    out = io.StringIO()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "report.zip"
        path.write_bytes(write_bundle({**files, name: bytes(data)}))
        assert main(["verify", str(path), "--json"], Console(out, io.StringIO(), io.StringIO())) == exits.FAULTS
    assert {fault["file"] for fault in json.loads(out.getvalue())["faults"]} == {name}


WITHOUT_A_WAY_OUT = """
import sys
def refuse(event, arguments):
    if event.startswith("socket."):
        raise RuntimeError(f"{event}: nothing is asked while a bundle is verified")
sys.addaudithook(refuse)
from infra.cli.main import main
sys.exit(main(["verify", sys.argv[1], "--json"]))
"""


def test_every_verdict_is_repeated_with_no_way_out(tmp_path: Path) -> None:
    """In a process that may open no socket and knows no database, each verdict is computed again and is the same."""
    path = tmp_path / "report.zip"
    path.write_bytes(bundle())
    called = [sys.executable, "-c", WITHOUT_A_WAY_OUT, str(path)]
    run = subprocess.run(called, capture_output=True, text=True, env={}, timeout=60, check=False)
    assert run.returncode == exits.COMPLETED, run.stderr
    summary = json.loads(run.stdout)["summary"]
    verdicts = unpack(bundle())["verdicts.jsonl"].splitlines()
    assert summary["recomputed"] == summary["statements"] == len(verdicts)
    assert summary["recorded"] == 0
    assert {json.loads(line)["verdict"] for line in verdicts} >= {"supported", "partially_supported"}


@settings(max_examples=150)
@given(place=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_an_altered_byte_of_the_archive_is_found(place: float, flip: int) -> None:
    """One changed byte where the archive holds a file's content is found, and the file named."""
    with zipfile.ZipFile(io.BytesIO(bundle())) as archive:
        members = [
            (m.filename, m.header_offset + 30 + len(m.filename.encode()), m.file_size) for m in archive.infolist()
        ]
    at = int(place * sum(size for *_, size in members))
    ends = list(accumulate(size for *_, size in members))
    which = next(n for n, end in enumerate(ends) if at < end)
    name, start, size = members[which]
    data = bytearray(bundle())
    data[start + at - ends[which] + size] ^= flip
    result = verify_bundle(bytes(data))
    assert {f.file for f in result.faults} == {name}


@settings(max_examples=300)
@given(place=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255), cut=st.integers(0, 60))
def test_a_damaged_archive_never_raises(place: float, flip: int, cut: int) -> None:
    """Whatever happens to headers and ends, there is an answer."""
    data = bytearray(bundle())
    at = int(place * len(data))
    data[at] ^= flip
    del data[at : at + cut]
    verify_bundle(bytes(data))


@given(st.binary(max_size=300))
def test_any_bytes_get_an_answer(data: bytes) -> None:
    """What is no archive is a fault of the bundle."""
    assert [f.file for f in verify_bundle(data).faults] == ["bundle"]


def test_a_missing_and_a_foreign_file_are_named() -> None:
    """The manifest says exactly which files there are."""
    files = unpack(bundle())
    without = {name: data for name, data in files.items() if name != "report.md"}
    assert [(f.file, f.code) for f in verify_bundle(write_bundle(without)).faults] == [("report.md", "missing")]
    more = verify_bundle(write_bundle({**files, "extra.txt": b"x"}))
    assert [(f.file, f.code) for f in more.faults] == [("extra.txt", "not_in_manifest")]
    assert [f.file for f in verify_bundle(rebuilt(without)).faults] == ["report.md"]
    no_manifest = {name: data for name, data in files.items() if name != "manifest.json"}
    assert [f.file for f in verify_bundle(write_bundle(no_manifest)).faults] == ["manifest.json"]


@pytest.mark.parametrize("name", ["../escape.txt", "/abs.txt", "a//b", "a\\b", "c:x", "dir/", "."])
def test_names_that_leave_the_archive_are_refused(name: str) -> None:
    """A path that is not plainly relative is a fault, and nothing of the archive is read."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, b"x")
    assert {f.code for f in verify_bundle(buffer.getvalue()).faults} & {"bad_path"}


def test_two_files_of_one_name_are_refused() -> None:
    """Nobody can tell which of them the manifest means."""
    buffer = io.BytesIO(bundle())
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("report.md", b"other")
    assert [(f.file, f.code) for f in verify_bundle(buffer.getvalue()).faults] == [("report.md", "doubled")]


def test_a_bomb_is_not_unpacked() -> None:
    """Sizes are checked before anything is read, each by itself and together."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", b"\0" * 3_000_000)
    small = Limits(member_bytes=1_000_000, total_bytes=2_000_000)
    assert {f.code for f in verify_bundle(buffer.getvalue(), small).faults} == {"too_large"}
    assert [f.code for f in verify_bundle(bundle(), Limits(members=3)).faults] == ["too_many_files"]
    assert [f.code for f in verify_bundle(bundle(), Limits(archive_bytes=100)).faults] == ["too_large"]


# --- bundles that were altered with care: every hash of the manifest is right ---------------------------------


def edit(path: str, change: Callable[[Any], Any]) -> bytes:
    """Return a bundle in which one row or object was changed, under a manifest that fits it."""
    files = unpack(bundle())
    line = 1 if path == "verdicts.jsonl" else 0  # the first verdict is that of the dropped sentence
    if path.endswith(".jsonl"):
        rows = [json.loads(row) for row in files[path].splitlines()]
        changed = change(rows[line])
        rows = [row for n, row in enumerate(rows) if n != line or changed is not None]
        files[path] = b"".join(canonical_json(row) + b"\n" for row in rows)
    else:
        body = json.loads(files[path])
        change(body)
        files[path] = canonical_json(body)
    return rebuilt(files)


def put(**values: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a change that sets these fields."""
    return lambda row: row.update(values) or row


def first_statement(report: dict[str, Any]) -> dict[str, Any]:
    """Return the first statement of the first section."""
    found: dict[str, Any] = report["sections"][0]["blocks"][0]["items"][0][0]
    return found


@pytest.mark.parametrize(
    ("path", "change", "blamed"),
    [
        ("evidence.jsonl", put(excerpt="The sea is dry."), "evidence.jsonl"),
        ("evidence.jsonl", put(start=1), "evidence.jsonl"),
        ("evidence.jsonl", put(sha256="0" * 64), "evidence.jsonl"),
        ("evidence.jsonl", put(source_id="src_unknown"), "evidence.jsonl"),
        ("evidence.jsonl", put(evidence_id="ev_new"), "evidence.jsonl"),
        ("evidence.jsonl", put(relevance_bp="much"), "evidence.jsonl"),
        ("evidence.jsonl", lambda row: None, "report.json"),
        ("fetches.jsonl", put(refusal="robots"), "fetches.jsonl"),
        ("fetches.jsonl", put(content_sha256="0" * 64), "fetches.jsonl"),
        ("fetches.jsonl", lambda row: None, "fetches.jsonl"),
        ("sources.jsonl", put(status="blocked"), "verdicts.jsonl"),
        ("sources.jsonl", put(content_sha256=None), "fetches.jsonl"),
        ("sources.jsonl", put(source_class="user_generated"), "report.json"),
        ("sources.jsonl", lambda row: None, "evidence.jsonl"),
        ("verdicts.jsonl", put(verdict="unsupported"), "verdicts.jsonl"),
        ("verdicts.jsonl", put(verdict="unsupported", emitted=False), "report.json"),
        ("verdicts.jsonl", put(repeatable=False, verifier="oracle"), "verdicts.jsonl"),
        ("verdicts.jsonl", put(verifier_version="9"), "verdicts.jsonl"),
        ("verdicts.jsonl", put(text="The sea is dry."), "report.json"),
        ("verdicts.jsonl", put(checks={}), "verdicts.jsonl"),
        ("verdicts.jsonl", put(evidence_ids=["ev_unknown"]), "verdicts.jsonl"),
        ("verdicts.jsonl", put(statement_id="stm_wrong"), "verdicts.jsonl"),
        ("verdicts.jsonl", lambda row: None, "report.json"),
        ("report.json", lambda r: first_statement(r).update(text="The sea is dry."), "report.json"),
        ("report.json", lambda r: first_statement(r).update(evidence_ids=[]), "report.json"),
        ("report.json", lambda r: first_statement(r).update(evidence_ids=["ev_unknown"]), "report.json"),
        ("report.json", lambda r: first_statement(r).update(confidence="low"), "report.json"),
        ("report.json", lambda r: first_statement(r).update(id="stm_unknown"), "report.json"),
        ("report.json", lambda r: r["sections"].pop(0), "verdicts.jsonl"),
        ("report.json", lambda r: r["citations"].pop(), "report.json"),
        ("report.json", lambda r: r["citations"][0].update(number=7), "report.json"),
        ("report.json", lambda r: r["contradictions"][0].update(evidence_ids=["ev_unknown"]), "report.json"),
        ("report.json", lambda r: r["verification"].update(emitted=9), "report.json"),
        ("report.json", lambda r: r["verification"].update(sentence_support_rate=0.5), "report.json"),
        ("report.json", lambda r: r["verification"].update(citation_support_rate=7.0), "report.json"),
        ("report.json", lambda r: r.update(run_id="run_other"), "report.json"),
        ("report.json", lambda r: r.update(source_mix={"official": 99}), "report.json"),
        ("report.json", lambda r: r.pop("title"), "report.json"),
        ("report.json", lambda r: r.update(title="Another title"), "report.md"),
        ("report.json", lambda r: r["gaps"].clear(), "report.html"),
    ],
)
def test_a_lie_under_right_hashes_is_found(path: str, change: Callable[[Any], Any], blamed: str) -> None:
    """Rows that do not agree with each other are found although every hash fits."""
    result = verify_bundle(edit(path, change))
    assert not result.ok
    assert blamed in {f.file for f in result.faults}, result.faults


def test_a_forged_sentence_with_a_forged_verdict_is_found() -> None:
    """A sentence that was changed in the report and in its verdict alike does not pass the gate again."""
    files = unpack(bundle())
    forged = {
        n: d.replace(b"984,000 cubic", b"994,000 cubic") for n, d in files.items() if not n.startswith(("snap", "evid"))
    }
    result = verify_bundle(rebuilt({**files, **forged}))
    assert ("verdicts.jsonl", "other_verdict") in {(f.file, f.code) for f in result.faults}


def test_a_missing_snapshot_of_a_cited_excerpt_is_found() -> None:
    """Without the text nobody can check; the file that is not there is named."""
    files = unpack(bundle())
    name = next(n for n in files if n.startswith("snapshots/") and b"312,600" in files[n])
    result = verify_bundle(rebuilt({n: d for n, d in files.items() if n != name}))
    assert {(f.file, f.code) for f in result.faults} == {(name, "missing")}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{",
        b"[" * 100_000,
        b'{"a":NaN}',
        b'{"a":1e999}',
        b'{"a":1,"a":2}',
        b'{"a":"\\ud800"}',
        b"\xff\xfe",
        b"9" * 5_000,
        b'{"run_id":' + b"[" * 900 + b"]" * 900 + b"}",
    ],
)
@pytest.mark.parametrize("name", ["report.json", "evidence.jsonl", "verdicts.jsonl", "manifest.json"])
def test_malformed_json_is_a_fault_of_its_file(name: str, data: bytes) -> None:
    """Broken, deep, doubled, unending and unencodable JSON is named, never raised."""
    if name.endswith(".jsonl"):
        data += b"\n"
    files = {**unpack(bundle()), name: data}
    result = verify_bundle(write_bundle(files) if name == "manifest.json" else rebuilt(files))
    assert not result.ok
    assert {f.file for f in result.faults} == {name}


def test_a_manifest_has_to_be_canonical() -> None:
    """Spaces between its parts change no value, but are found all the same."""
    files = unpack(bundle())
    spaced = json.dumps(json.loads(files["manifest.json"]), sort_keys=True).encode()
    assert {f.file for f in verify_bundle(write_bundle({**files, "manifest.json": spaced})).faults} == {"manifest.json"}


def test_renderings_of_another_renderer_are_told_as_not_checked() -> None:
    """A bundle of another version may lay its report out differently, and so may a forger: no fault, no yes."""
    files = unpack(bundle())
    body = json.loads(files["manifest.json"])
    files["report.md"] = b"Laid out in another way.\n"
    body["files"]["report.md"] = {"sha256": sha256_hex(files["report.md"]), "bytes": len(files["report.md"])}
    body["renderer"] = "0"
    del body["manifest_sha256"]
    files["manifest.json"] = canonical_json({**body, "manifest_sha256": sha256_hex(canonical_json(body))})
    result = verify_bundle(write_bundle(files))
    assert result.ok, result.faults
    assert not result.complete
    assert result.summary["renderings"] == "not checked"
