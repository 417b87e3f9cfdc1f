"""Checksums that are remembered: never another than that of the bytes, whatever is left about."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thinkprior import checksums
from thinkprior.checksums import file_digest, remembered_digest
from thinkprior.errors import InputError
from thinkprior.integrity import Record, check_files
from thinkprior.records import write_record

DAY = 86_400.0


@pytest.fixture(autouse=True)
def small_is_big(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of 8 bytes or more are remembered, in a folder of the test, at once."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(checksums, "REMEMBERED_BYTES", 8)
    monkeypatch.setattr(checksums, "SETTLED_SECONDS", -1.0)
    return tmp_path / "cache" / "thinkprior" / "checksums"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files whose bytes are read."""
    names: list[str] = []
    real = checksums._of_bytes

    def counted(path: Path) -> str:
        names.append(path.name)
        return real(path)

    monkeypatch.setattr(checksums, "_of_bytes", counted)
    return names


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_a_big_file_is_read_once(tmp_path: Path, read: list[str]) -> None:
    (tmp_path / "weights").write_bytes(b"12345678")
    for _ in range(3):
        assert remembered_digest(tmp_path / "weights") == sha256(b"12345678")
    assert read == ["weights"]


def test_a_small_file_leaves_no_note(tmp_path: Path, read: list[str], small_is_big: Path) -> None:
    (tmp_path / "small").write_bytes(b"1234567")
    assert [remembered_digest(tmp_path / "small") for _ in range(2)] == [sha256(b"1234567")] * 2
    assert read == ["small"] * 2
    assert not small_is_big.exists()


def rewritten(path: Path) -> None:
    path.write_bytes(b"87654321")


def with_its_old_time(path: Path) -> None:
    before = path.stat()
    path.write_bytes(b"87654321")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replaced_with_its_old_time(path: Path) -> None:
    before = path.stat()
    new = path.with_name("new")
    new.write_bytes(b"87654321")
    os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
    new.replace(path)


@pytest.mark.parametrize("change", [rewritten, with_its_old_time, replaced_with_its_old_time])
def test_a_change_of_the_same_size_is_seen(tmp_path: Path, change: Callable[[Path], None]) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"12345678")
    remembered_digest(path)
    time.sleep(0.02)  # more than a tick of the file system's clock
    change(path)
    assert remembered_digest(path) == sha256(b"87654321")


def test_what_has_just_changed_is_not_remembered(
    tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checksums, "SETTLED_SECONDS", DAY)
    (tmp_path / "weights").write_bytes(b"12345678")
    for _ in range(2):
        assert remembered_digest(tmp_path / "weights") == sha256(b"12345678")
    assert read == ["weights"] * 2


def test_the_uncached_digest_reads_whatever_a_note_says(tmp_path: Path, small_is_big: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"12345678")
    remembered_digest(path)
    (note,) = small_is_big.iterdir()
    # A note that is whole, but of a digest that the file never had.
    content = checksums._content(checksums._state(path), "0" * 64)
    note.write_text(json.dumps(content))
    assert remembered_digest(path) == "0" * 64
    assert file_digest(path) == sha256(b"12345678")


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 500), garbage=st.binary(max_size=40), flip=st.integers(0, 10_000))
def test_a_torn_or_spoiled_note_is_not_believed(
    tmp_path: Path, small_is_big: Path, cut: int, garbage: bytes, flip: int
) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"12345678")
    remembered_digest(path)
    (note,) = small_is_big.iterdir()
    whole = note.read_bytes()
    flipped = bytearray(whole)
    flipped[flip % len(whole)] ^= 1
    for spoiled in (whole[: cut % len(whole)], whole[: cut % len(whole)] + garbage, flipped):
        note.write_bytes(spoiled)
        assert remembered_digest(path) == sha256(b"12345678")


def test_lost_notes_and_a_folder_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_is_big: Path
) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"12345678")
    remembered_digest(path)
    (note,) = small_is_big.iterdir()
    note.unlink()
    assert remembered_digest(path) == sha256(b"12345678")
    # A file stands where the folder would be.
    monkeypatch.setenv("XDG_CACHE_HOME", str(path))
    assert remembered_digest(path) == sha256(b"12345678")


def test_verify_finds_a_changed_byte_that_nothing_else_shows(
    tmp_path: Path, small_is_big: Path
) -> None:
    """In the weights behind a link, with a note that says that all is as it was."""
    weights = tmp_path / "elsewhere" / "weights"
    weights.parent.mkdir()
    weights.write_bytes(b"12345678")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "step").symlink_to(weights.parent, target_is_directory=True)
    about: dict[str, Any] = {"rule": "r", "function": "f", "arguments": {}, "code": ""}
    outputs = [tmp_path / "model"]
    write_record(tmp_path / "r.json", **about, inputs=[], outputs=outputs, derived=False, usage={})
    record = Record(tmp_path / "r.json", json.loads((tmp_path / "r.json").read_text()))
    assert check_files([record]) == []
    weights.write_bytes(b"12345679")
    (note,) = small_is_big.iterdir()
    of_the_old_bytes = checksums._content(checksums._state(weights), sha256(b"12345678"))
    note.write_text(json.dumps(of_the_old_bytes))
    (finding,) = check_files([record])
    assert finding.where == str(tmp_path / "model")
    assert finding.what == "not the bytes that its job wrote"


NAMES = st.sampled_from(["a", "b", ".hidden", "config.json", "Z"])


@settings(
    deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    files=st.dictionaries(
        st.tuples(st.sampled_from(["", "sub", "sub2"]), NAMES), st.binary(max_size=12), max_size=6
    )
)
def test_both_digests_of_a_folder_are_the_same_and_links_count_as_what_they_point_to(
    tmp_path_factory: pytest.TempPathFactory, files: dict[tuple[str, str], bytes]
) -> None:
    folder = tmp_path_factory.mktemp("real")
    for (sub, name), content in files.items():
        (folder / sub).mkdir(exist_ok=True)
        (folder / sub / name).write_bytes(content)
    outer = tmp_path_factory.mktemp("outer")
    for sub in ("sub", "sub2"):
        if (folder / sub).exists():
            (outer / sub).symlink_to(folder / sub, target_is_directory=True)
    for (sub, name), content in files.items():
        if not sub:
            (outer / name).write_bytes(content)
    # The rule, spelt out: names and checksums by name, hidden files left out.
    lines = [
        f"{Path(sub, name)} {sha256(content)}"
        for (sub, name), content in sorted(files.items(), key=lambda item: Path(*item[0]))
        if not name.startswith(".")
    ]
    expected = sha256("\n".join(lines).encode())
    assert {file_digest(folder), remembered_digest(folder)} == {expected}
    assert {file_digest(outer), remembered_digest(outer)} == {expected}


def test_a_link_to_a_folder_above_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "again").symlink_to(tmp_path / "model")
    with pytest.raises(InputError, match="again: a link to a folder that holds it"):
        file_digest(tmp_path / "model")
