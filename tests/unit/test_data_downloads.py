"""Downloads against a hub on this machine: checksums, retries, resumed and broken files."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from thinkprior.downloads import Fetched, Lock, Repository, fetch
from thinkprior.errors import InputError

COMMIT = "a" * 40
CONTENT = {
    "data/train-00000-of-00002.jsonl": b'{"row": 1}\n' * 40_000,
    "data/train-00001-of-00002.jsonl": b'{"row": 2}\n',
    "data/test.jsonl": b'{"row": 3}\n',
    "README.md": b"hello\n",
}
TRAIN = sorted(CONTENT)[2:]


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Hub(ThreadingHTTPServer):
    """As much of a hub as downloads need, with faults that a test asks for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = dict(CONTENT)
        self.commit = COMMIT
        self.cut: list[int] = []  # bytes after which the next downloads break off
        self.status: list[int] = []  # statuses that the next requests of any kind get
        self.error_code = ""
        self.asked: list[tuple[str, str, str]] = []

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def downloads(self) -> list[tuple[str, str]]:
        """File and range of each download."""
        return [
            (path.rpartition("/resolve/")[2].partition("/")[2], range_)
            for method, path, range_ in self.asked
            if method == "GET" and "/resolve/" in path
        ]


class Handler(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, body: bool) -> None:
        hub = self.server
        range_ = self.headers.get("Range", "")
        hub.asked.append((self.command, self.path, range_))
        if hub.status:
            self.send(hub.status.pop(0), b"{}", body)
        elif self.path.startswith(("/api/datasets/", "/api/models/")):
            info = {
                "id": "owner/set",
                "sha": hub.commit,
                "siblings": [{"rfilename": n} for n in hub.content],
                "private": False,
                "downloads": 0,
                "tags": [],
            }
            self.send(200, json.dumps(info).encode(), body)
        else:
            self.file(self.path.partition("/resolve/")[2].partition("/")[2], range_, body)

    def file(self, name: str, range_: str, body: bool) -> None:
        hub = self.server
        content = hub.content[name]
        start = int(range_.removeprefix("bytes=").rstrip("-")) if range_ else 0
        self.send_response(206 if range_ else 200)
        self.send_header("ETag", f'"{digest(content)}"')
        self.send_header("X-Repo-Commit", hub.commit)
        self.send_header("Content-Length", str(len(content) - start))
        if range_:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        if not body:
            return
        if hub.cut:
            self.wfile.write(content[start : start + hub.cut.pop(0)])
            self.close_connection = True
            return
        self.wfile.write(content[start:])

    def send(self, status: int, content: bytes, body: bool) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        if status >= 400 and self.server.error_code:
            self.send_header("X-Error-Code", self.server.error_code)
        self.end_headers()
        if body:
            self.wfile.write(content)


@contextmanager
def serving(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub on this machine, which the hub's client is made to ask."""
    constants = pytest.importorskip(
        "huggingface_hub.constants", reason="huggingface_hub comes with the extra `models`"
    )
    # Read when the library was imported, which another test may have done offline.
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    for name in ("HF_HUB_OFFLINE", "HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    # The client waits a second before it goes on, and longer after a refusal.
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    server = Hub()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with serving(monkeypatch) as server:
        yield server


def repository(**changes: object) -> Repository:
    return Repository(**{"name": "owner/set", "files": ("data/train-*",), **changes})  # type: ignore[arg-type]


def run(hub: Hub, folder: Path, what: Repository | None = None) -> Fetched:
    return fetch(
        what or repository(),
        folder / "hub",
        Lock(folder / "data.lock.json"),
        lambda line: None,
        endpoint=hub.endpoint,
        waits=(0, 0),
    )


def places(folder: Path) -> list[Path]:
    return [folder / "hub" / "owner--set" / COMMIT / name for name in TRAIN]


def test_the_files_come_in_order_and_are_recorded(hub: Hub, tmp_path: Path) -> None:
    found = run(hub, tmp_path)
    assert found == Fetched("owner/set", COMMIT, tuple(places(tmp_path)))
    assert [p.read_bytes() for p in found.files] == [CONTENT[name] for name in TRAIN]
    assert json.loads((tmp_path / "data.lock.json").read_text()) == {
        "owner/set": {
            "kind": "dataset",
            "commit": COMMIT,
            "complete": ["data/train-*"],
            "sha256": {name: digest(CONTENT[name]) for name in TRAIN},
        }
    }
    # Nothing else is left, such as the client's own folders.
    assert sorted(p for p in (tmp_path / "hub").rglob("*") if p.is_file()) == places(tmp_path)


def test_what_is_there_and_right_needs_no_network(hub: Hub, tmp_path: Path) -> None:
    run(hub, tmp_path)
    hub.asked.clear()
    run(hub, tmp_path)
    assert hub.asked == []


def test_only_the_damaged_file_is_fetched_anew(hub: Hub, tmp_path: Path) -> None:
    run(hub, tmp_path)
    places(tmp_path)[0].write_bytes(b"cut off")
    hub.asked.clear()
    run(hub, tmp_path)
    assert hub.downloads() == [(TRAIN[0], "")]
    assert places(tmp_path)[0].read_bytes() == CONTENT[TRAIN[0]]


def test_further_files_of_a_locked_repository_are_fetched_too(hub: Hub, tmp_path: Path) -> None:
    run(hub, tmp_path)
    hub.asked.clear()
    found = run(hub, tmp_path, repository(files=("data/train-*", "data/test*")))
    assert [p.name for p in found.files] == ["test.jsonl", *(p.name for p in places(tmp_path))]
    assert hub.downloads() == [("data/test.jsonl", "")]


def test_the_locked_commit_is_asked_for(hub: Hub, tmp_path: Path) -> None:
    run(hub, tmp_path)
    places(tmp_path)[1].unlink()
    hub.asked.clear()
    run(hub, tmp_path)
    assert any(COMMIT in path for _, path, _ in hub.asked if path.startswith("/api/"))
    assert all(f"/resolve/{COMMIT}/" in p for _, p, _ in hub.asked if "/resolve/" in p)


def test_a_broken_download_goes_on_where_it_broke(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The client goes on from its last whole chunk, of 10 MB by default.
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 10_000)
    hub.cut = [100_000, 50_000]
    found = run(hub, tmp_path)
    assert found.files[0].read_bytes() == CONTENT[TRAIN[0]]
    ranges = [range_ for name, range_ in hub.downloads() if name == TRAIN[0]]
    assert ranges == ["", "bytes=100000-", "bytes=150000-"]


def test_a_download_that_keeps_breaking_leaves_nothing_and_says_what_to_do(
    hub: Hub, tmp_path: Path
) -> None:
    run(hub, tmp_path, repository(files=("data/test*",)))
    hub.cut = [0] * 100
    with pytest.raises(InputError, match=r"owner/set: .*snakemake prefetch.*\(3 tries\)"):
        run(hub, tmp_path)
    files = [p for p in (tmp_path / "hub").rglob("*") if p.is_file()]
    assert [p.name for p in files] == ["test.jsonl"]
    hub.cut = []
    assert [p.read_bytes() for p in run(hub, tmp_path).files] == [CONTENT[n] for n in TRAIN]


def test_a_busy_server_is_asked_again(hub: Hub, tmp_path: Path) -> None:
    hub.status = [503, 503]
    assert len(run(hub, tmp_path).files) == 2


def test_another_checksum_is_thrown_away_and_what_was_there_stays(hub: Hub, tmp_path: Path) -> None:
    run(hub, tmp_path)
    hub.content[TRAIN[0]] = b"changed on the hub"
    places(tmp_path)[0].write_bytes(b"damaged here")
    with pytest.raises(InputError) as caught:
        run(hub, tmp_path)
    message = str(caught.value)
    assert digest(b"changed on the hub") in message
    assert digest(CONTENT[TRAIN[0]]) in message
    assert [p.read_bytes() for p in places(tmp_path)] == [b"damaged here", CONTENT[TRAIN[1]]]


def test_a_checksum_of_the_configuration_is_held_against_the_first_download(
    hub: Hub, tmp_path: Path
) -> None:
    wrong = repository(sha256={TRAIN[1]: "0" * 64})
    with pytest.raises(InputError, match=f"{TRAIN[1]}.*{'0' * 64} was expected.*thrown away"):
        run(hub, tmp_path, wrong)
    assert [p.exists() for p in places(tmp_path)] == [True, False]
    right = repository(sha256={TRAIN[1]: digest(CONTENT[TRAIN[1]])})
    assert len(run(hub, tmp_path, right).files) == 2
    with pytest.raises(InputError, match="One of them is wrong"):
        run(hub, tmp_path, wrong)


def test_another_revision_than_the_locked_one_must_be_meant(hub: Hub, tmp_path: Path) -> None:
    run(hub, tmp_path)
    with pytest.raises(InputError, match=r"pins b+, but .*data\.lock\.json was written at a+"):
        run(hub, tmp_path, repository(revision="b" * 40))


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (401, "RepoNotFound", "no such repository, or a private one: .*datasets/owner/set"),
        (403, "GatedRepo", r"gated\. Accept its terms at .*datasets/owner/set.*HF_TOKEN"),
        (404, "RevisionNotFound", "no such revision"),
    ],
)
def test_a_refusal_is_said_at_once(
    hub: Hub, tmp_path: Path, status: int, code: str, message: str
) -> None:
    hub.status, hub.error_code = [status] * 20, code
    with pytest.raises(InputError, match=message):
        run(hub, tmp_path)
    assert len(hub.asked) == 1


def test_a_pattern_without_a_file_names_those_that_are_there(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no file main/\*.*README.md, data/test.jsonl"):
        run(hub, tmp_path, repository(files=("main/*",)))


def test_no_network_is_one_clear_message(tmp_path: Path, hub: Hub) -> None:
    address = hub.endpoint
    hub.shutdown()
    hub.server_close()
    with pytest.raises(InputError, match=r"cannot be reached\. Run `snakemake prefetch`"):
        fetch(
            repository(),
            tmp_path / "hub",
            Lock(tmp_path / "lock.json"),
            lambda line: None,
            endpoint=address,
            waits=(0,),
        )
    assert not (tmp_path / "lock.json").exists()


def test_a_broken_lock_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "lock.json").write_text("{")
    with pytest.raises(InputError, match=r"lock.json: not JSON"):
        Lock(tmp_path / "lock.json")
