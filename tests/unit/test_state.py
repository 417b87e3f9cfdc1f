"""A job's state on disk: whole or not at all, of this job or not at all."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import pytest

from thinkprior.errors import InputError
from thinkprior.state import State, discard

IDENTITY = {"settings": {"rate": 0.1, "lora": {"rank": 8}}, "code": "abc"}
CONTENT = b"forty-two bytes of a state, say, and a few"


class Book:
    """A state and the lines that it reports."""

    def __init__(self, folder: Path, identity: object = None) -> None:
        self.lines: list[str] = []
        self.state = State(folder, identity or IDENTITY, self.lines.append)  # type: ignore[arg-type]

    def close(self) -> None:
        self.state.__exit__(None, None, None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state" / "run"


def begun(folder: Path) -> None:
    book = Book(folder)
    book.state.put_bytes("step-1", CONTENT)
    book.state.put_bytes("step-2", CONTENT[::-1])
    book.close()


def test_what_is_put_is_there_for_the_next_process(folder: Path) -> None:
    begun(folder)
    book = Book(folder)
    assert book.state.names("step-") == ["step-1", "step-2"]
    assert book.state.get("step-1") == CONTENT
    assert book.state.get("step-2") == CONTENT[::-1]
    assert book.state.get("step-3") is None
    assert book.lines == []


def test_every_flipped_byte_and_every_cut_is_found(folder: Path) -> None:
    begun(folder)
    book = Book(folder)
    path = folder / "step-1"
    good = path.read_bytes()
    spoiled = [good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :] for place in
               range(len(good))]  # fmt: skip
    spoiled += [good[:length] for length in range(len(good))] + [good + b"\0"]
    for number, data in enumerate(spoiled, start=1):
        path.write_bytes(data)
        assert book.state.get("step-1") is None
        assert len(book.lines) == number
        assert str(path) in book.lines[-1]
        assert "checksum" in book.lines[-1]
    # The one before is still there, and the damaged one is no longer taken for a state.
    assert book.state.names("step-") == ["step-2"]
    assert book.state.get("step-2") == CONTENT[::-1]


def test_the_file_of_another_job_is_not_read(folder: Path) -> None:
    begun(folder)
    other = Book(folder.with_name("other"), {"code": "abd"})
    (other.state.folder / "step-1").write_bytes((folder / "step-1").read_bytes())
    assert other.state.get("step-1") is None


@pytest.mark.parametrize(
    ("identity", "reason"),
    [
        ({**IDENTITY, "code": "abd"}, 'code ("abc", now "abd")'),
        ({"settings": {"rate": 0.2, "lora": {"rank": 8}}, "code": "abc"}, "rate (0.1, now 0.2)"),
        ({**IDENTITY, "inputs": {"prior": "f" * 64}}, 'inputs.prior (none, now "fffffffffff...)'),
    ],
)  # fmt: skip
def test_another_identity_starts_anew_says_why_and_keeps_the_old(
    folder: Path, identity: object, reason: str
) -> None:
    begun(folder)
    book = Book(folder, identity)
    assert book.state.names("step-") == []
    aside = folder.with_name("run-aside-1")
    (line,) = book.lines
    assert line.startswith("starts anew: its state is of another")
    assert reason in line
    assert str(aside) in line
    book.state.put_bytes("step-1", b"new")
    book.close()
    # And back again: the second goes aside too, the first stays where it was put.
    again = Book(folder)
    assert again.state.names("step-") == []
    assert folder.with_name("run-aside-2").is_dir()
    again.close()
    old = Book(aside)
    assert old.state.get("step-1") == CONTENT
    assert old.lines == []


def test_state_without_its_identity_is_not_used(folder: Path) -> None:
    begun(folder)
    (folder / "identity.json").write_text('{"code":', encoding="utf-8")
    book = Book(folder)
    assert book.state.names("step-") == []
    assert "missing or damaged" in book.lines[0]


def test_a_write_that_fails_in_the_middle_leaves_the_file_as_it_was(folder: Path) -> None:
    book = Book(folder)
    book.state.put_bytes("step-1", CONTENT)

    def full(stream: IO[bytes]) -> None:
        stream.write(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(InputError, match=r"No space left on device.*free some space"):
        book.state.put("step-1", full)
    assert book.state.get("step-1") == CONTENT
    assert sorted(path.name for path in folder.iterdir()) == ["identity.json", "lock", "step-1"]


def test_a_disk_that_takes_no_more_under_torch_is_one_message(folder: Path) -> None:
    # A limit on the size of files stands for a full disk.
    program = (
        "import resource, sys, torch\n"
        "from thinkprior.state import State\n"
        f"state = State(sys.argv[1], {IDENTITY!r}, print)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "state.put('step-1', lambda stream: torch.save(torch.zeros(100_000), stream))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        check=False,
        env=environment(),
        capture_output=True,
        text=True,
    )
    last = run.stderr.strip().splitlines()[-1]
    assert last.startswith("thinkprior.errors.InputError: ")
    assert "File too large" in last
    assert "free some space" in last
    assert sorted(path.name for path in folder.iterdir()) == ["identity.json", "lock"]


def test_a_process_killed_in_the_middle_of_a_write_loses_only_that_write(folder: Path) -> None:
    begun(folder)
    program = (
        "import os, sys\n"
        "from thinkprior.state import State\n"
        "def dies(stream):\n"
        "    stream.write(b'x' * 100000)\n"
        "    os.kill(os.getpid(), 9)\n"
        f"State(sys.argv[1], {IDENTITY!r}, print).put('step-2', dies)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(folder)], check=False, env=environment()
    )
    assert run.returncode == -9
    assert (folder / "step-2.new").exists()
    book = Book(folder)
    assert book.state.names("step-") == ["step-1", "step-2"]
    assert book.state.get("step-2") == CONTENT[::-1]
    assert not (folder / "step-2.new").exists()


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def test_a_folder_of_files_comes_back(folder: Path, tmp_path: Path) -> None:
    source = tmp_path / "adapter"
    (source / "below").mkdir(parents=True)
    (source / "weights").write_bytes(bytes(range(256)) * 100)
    (source / "below" / "config.json").write_text("{}", encoding="utf-8")
    book = Book(folder)
    book.state.put_folder("adapter-1", source)
    assert book.state.get_folder("adapter-1", tmp_path / "back")
    files = {p.relative_to(source): p.read_bytes() for p in source.rglob("*") if p.is_file()}
    back = tmp_path / "back"
    assert files == {p.relative_to(back): p.read_bytes() for p in back.rglob("*") if p.is_file()}
    path = folder / "adapter-1"
    path.write_bytes(path.read_bytes()[:-1])
    assert not book.state.get_folder("adapter-1", tmp_path / "more")


def test_only_the_newest_are_kept(folder: Path) -> None:
    book = Book(folder)
    for step in (2, 4, 6, 8):
        book.state.put_bytes(f"step-{step:05d}", CONTENT)
    book.state.put_bytes("adapter-00002", CONTENT)
    book.state.keep_newest("step-", 2)
    assert book.state.names("step-") == ["step-00006", "step-00008"]
    assert book.state.names("adapter-") == ["adapter-00002"]


def test_a_finished_state_is_gone_and_what_lies_beside_it_stays(folder: Path) -> None:
    begun(folder)
    book = Book(folder)
    beside = book.state.beside("reproduction.pt")
    beside.write_bytes(b"kept")
    book.state.finish()
    book.close()
    assert [path.name for path in folder.parent.iterdir()] == [beside.name]
    discard(folder)  # Nothing there: nothing to do.


def test_a_job_waits_for_the_process_that_holds_its_state(folder: Path) -> None:
    program = (
        "import sys, time\n"
        "from thinkprior.state import State\n"
        f"with State(sys.argv[1], {IDENTITY!r}, print) as state:\n"
        "    print('held', flush=True)\n"
        "    time.sleep(1)\n"
        "    state.put_bytes('step-1', b'late')\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(folder)], stdout=subprocess.PIPE, env=environment()
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    start = time.monotonic()
    book = Book(folder)
    assert time.monotonic() - start > 0.5
    assert book.state.get("step-1") == b"late"
    assert f"waiting for process {holder.pid} on " in book.lines[0]
    assert holder.wait() == 0


def test_a_holder_that_does_not_end_is_an_error_that_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thinkprior.state.LOCK_SECONDS", 0.2)
    book = Book(folder)
    with pytest.raises(InputError, match=rf"process {os.getpid()} on \S+ works on the same job"):
        Book(folder)
    book.close()
    Book(folder).close()


def test_a_place_that_cannot_be_written_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder", encoding="utf-8")
    with pytest.raises(InputError, match=r"file/state.*make it writable"):
        Book(tmp_path / "file" / "state")
