"""The report page as text, and in a browser: everything is there, and nothing acts but the page."""

from __future__ import annotations

import base64
import csv
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import time
import zlib
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from thinkprior import configuration
from thinkprior.rendering import latex
from thinkprior.report.comparison import CLAIM_COLUMNS, COLUMNS
from thinkprior.report.items import CLAIMS, REPRODUCTION, SECTIONS, Item, all_items, captions
from thinkprior.reproduction.statuses import Status
from thinkprior.stages.report import make_report

ROOT = Path(__file__).resolve().parents[2]
REPORT = ROOT / "workflow" / "report"
CODE = "c0de" * 4

HOSTILE = (
    "<script>document.title='owned'</script>\"'><img src=x onerror=\"document.title='owned'\">"
    "{{ 7 * 7 }} javascript:alert(1) \u202egnp\x07 " + "long_id" * 60
)
SHOWN = HOSTILE.replace("\u202e", "\ufffd").replace("\x07", "\ufffd")
PUBLISHED_TABLES = ("table1", "table2", "appendixB")

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
browser_test = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium here; `apt-get install chromium` brings it"
)


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + check

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + bytes(width) for _ in range(height))
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


class Scale:
    """A scale's folder with a stand-in for each item, hostile text in all of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "results" / "micro"
        values = yaml.safe_load((ROOT / "tests/workflow/micro.yaml").read_text(encoding="utf-8"))
        values["note"] = HOSTILE
        self.configuration = configuration.parse(values, "micro.yaml").model_dump(
            mode="json", exclude={"finished_runs_only"}
        )
        for item in all_items():
            for ending, file in item.files.items():
                (self.folder / file).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / file).write_bytes(self.content(item, ending))
        self.table(REPRODUCTION, self.rows())
        verdicts = ("holds", "does not hold", "undecided", "not run")
        self.table(CLAIMS, [{**dict.fromkeys(CLAIM_COLUMNS, HOSTILE), "verdict": verdicts[0]}] * 3)
        self.record(all_items()[0])
        self.manifests = [self.manifest("main/random/seed0", "one"), self.manifest("main/x", "two")]

    def content(self, item: Item, ending: str) -> bytes:
        text = latex.escape(HOSTILE)
        if ending == "tex":
            body = [latex.row([text, latex.bold("0.5"), latex.change_subscript(-1.5, 1)])]
            head = [latex.row(["", "a", "b"])]
            tabular = latex.Tabular("lrr", head, body, text, "tab:x", [text])
            return tabular.environment().encode()
        if ending == "png":
            return png(300, 200)
        if ending == "csv":
            return f'scale,value\n"{HOSTILE.replace(chr(34), 2 * chr(34))}",0.123456\n'.encode()
        return HOSTILE.encode()

    def rows(self) -> list[dict[str, str]]:
        return [
            {
                **dict.fromkeys(COLUMNS, HOSTILE),
                **{"table": table, "status": status.value, "metric": f"{table}_{status.value}"},
                **{"ours": "0.123456", "low": "0.1", "high": "0.2", "spread": "seeds", "n": "3"},
                "artifact": str(self.folder / "tables/table1.csv"),
            }
            for table in PUBLISHED_TABLES
            for status in Status
        ]

    def table(self, item: Item, rows: list[dict[str, str]]) -> None:
        with (self.folder / item.files["csv"]).open("w", encoding="utf-8", newline="") as handle:
            writer = csv.DictWriter(handle, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)

    def record(self, item: Item) -> None:
        path = self.folder / "records" / "one.json"
        path.parent.mkdir(exist_ok=True)
        outputs = {str(self.folder / file): "ab" * 32 for file in item.files.values()}
        host = {"machine": HOSTILE, "processor": "CPU", "cores": 2, "python": "3.11"}
        content = {
            **{"rule": "a_rule", "function": "a.module:function", "host": host},
            **{"inputs": {HOSTILE: "cd" * 32}, "outputs": outputs},
            **{"settings_digest": "51" * 32, "code_digest": CODE, "usage": {"seconds": 1.5}},
        }
        path.write_text(json.dumps(content), encoding="utf-8")

    def manifest(self, name: str, machine: str) -> Path:
        path = self.folder / "manifests" / f"{machine}.json"
        path.parent.mkdir(exist_ok=True)
        content = {"name": name, "code_digest": CODE, "host": {"machine": machine}}
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    def page(self) -> Path:
        report = self.folder / "report.html"
        make_report(
            configuration=json.dumps(self.configuration),
            code=CODE,
            folder=self.folder,
            manifests=self.manifests,
            captions=[REPORT / f"{name}.rst" for name in captions()],
            decisions=ROOT / "docs" / "decisions.md",
            notes=ROOT / "docs" / "results.md",
            template=REPORT / "page.html.jinja2",
            style=REPORT / "page.css",
            script=REPORT / "page.js",
            report=report,
        )
        return report


class Elements(HTMLParser):
    """The tags of a page with their attributes, its links, and the text of its styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, list[str]] = {"style": [], "script": []}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] in self.text and self.cdata_elem:
            self.text[self.tags[-1][0]].append(data)

    def values(self, attribute: str) -> list[str]:
        return [found for _, attributes in self.tags if (found := attributes.get(attribute))]


@pytest.fixture(scope="module")
def scale(tmp_path_factory: pytest.TempPathFactory) -> Scale:
    return Scale(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def page(scale: Scale) -> Path:
    return scale.page()


def test_the_page_holds_everything_and_loads_nothing(page: Path) -> None:
    elements = Elements(page.read_text(encoding="utf-8"))
    ids = elements.values("id")
    assert len(set(ids)) == len(ids)
    assert {item.anchor for item in all_items()} <= set(ids)
    links = elements.values("href")
    assert {link.removeprefix("#") for link in links if link.startswith("#")} <= set(ids)
    assert all(link.startswith(("#", "data:")) for link in links)
    assert all(source.startswith("data:image/png;base64,") for source in elements.values("src"))
    assert not [name for tag, found in elements.tags for name in found if name.startswith("on")]
    assert not elements.values("style")
    assert {"link", "script", "iframe", "object"} & {tag for tag, _ in elements.tags} == {
        *("link", "script")
    }


def test_only_its_own_style_and_script_are_allowed(page: Path) -> None:
    elements = Elements(page.read_text(encoding="utf-8"))
    policies = [found["content"] for _, found in elements.tags if "http-equiv" in found]
    rules = dict(rule.split(" ", 1) for rule in str(policies[0]).split("; "))
    assert rules["default-src"] == "'none'"
    for kind in ("style", "script"):
        assert len(elements.text[kind]) == 1
        digest = hashlib.sha256(elements.text[kind][0].encode()).digest()
        assert rules[f"{kind}-src"] == f"'sha256-{base64.b64encode(digest).decode()}'"


def test_downloads_are_the_files(scale: Scale, page: Path) -> None:
    elements = Elements(page.read_text(encoding="utf-8"))
    files = {
        str(found["download"]): base64.b64decode(str(found["href"]).partition(",")[2])
        for tag, found in elements.tags
        if tag == "a" and "download" in found
    }
    for item in all_items():
        for ending, path in item.files.items():
            # Of two items that share a name, the later one stands in `files`.
            if ending in ("tex", "pdf") or (ending == "csv" and item.kind == "data"):
                assert files[Path(path).name] == (scale.folder / path).read_bytes()
    assert yaml.safe_load(files["configuration.yaml"]) == scale.configuration


def test_the_same_files_give_the_same_bytes(scale: Scale, page: Path) -> None:
    before = page.read_bytes()
    assert scale.page().read_bytes() == before


def test_the_bar_says_what_was_run(scale: Scale, page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    campaigns = scale.configuration["campaigns"].values()
    planned = sum(len(campaign["arms"]) * len(campaign["seeds"]) for campaign in campaigns)
    assert f"2 of {planned} finished" in text
    assert "Some runs are not finished" in text
    assert "The runs of main differ in host or code" in text


def test_what_is_missing_is_named_with_its_command(tmp_path: Path) -> None:
    scale = Scale(tmp_path)
    for item in all_items():
        for file in item.files.values():
            (scale.folder / file).unlink()
    text = scale.page().read_text(encoding="utf-8")
    for item in all_items():
        assert f"Not made yet: <code>snakemake --cores all {item.target}</code>" in text
    assert "results/cost-figure.pdf" in text


def test_a_table_that_cannot_be_shown_stands_as_its_source(tmp_path: Path) -> None:
    scale = Scale(tmp_path)
    path = scale.folder / "tables/table1.tex"
    path.write_text(
        path.read_text(encoding="utf-8").replace(r"\textbf", r"\href"), encoding="utf-8"
    )
    text = scale.page().read_text(encoding="utf-8")
    assert r"cannot show the table (the macro \href)" in text
    assert r"\begin{tabular}{lrr}" in text


class Browser:
    """Chromium without a window, driven through its debugging pipe; it records what goes wrong."""

    def __init__(self, profile: Path) -> None:
        assert CHROMIUM is not None
        # Read on 3 and written on 4, so neither end may lie there by chance.
        reading, self._writer = map(_high, os.pipe())
        self._reader, writing = map(_high, os.pipe())
        as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
        self._process = subprocess.Popen(
            [
                *(CHROMIUM, "--headless=new", "--disable-gpu", "--disable-dev-shm-usage"),
                *("--remote-debugging-pipe", f"--user-data-dir={profile}"),
                *("--no-first-run", "--disable-background-networking", "--window-size=1280,900"),
                *as_root,
                "about:blank",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: (os.dup2(reading, 3), os.dup2(writing, 4)),
            pass_fds=(3, 4),
            start_new_session=True,
        )
        os.close(reading)
        os.close(writing)
        os.set_blocking(self._reader, False)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self._loaded = False
        self.errors: list[str] = []
        self.requests: list[str] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def open(self, page: Path) -> None:
        self.errors, self.requests, self._loaded = [], [], False
        self._call("Page.navigate", url=page.as_uri())
        self._until(lambda: self._loaded)

    def evaluate(self, expression: str) -> Any:
        found = self._call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def close(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._reader)
        os.close(self._writer)

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._writer, json.dumps(message).encode() + b"\0")
        answers: list[dict[str, Any]] = []
        self._until(lambda: bool(answers), lambda found: _take(found, number, answers))
        assert "error" not in answers[0], answers[0]
        result: dict[str, Any] = answers[0]["result"]
        return result

    def _until(
        self, done: Callable[[], bool], take: Callable[[dict[str, Any]], None] | None = None
    ) -> None:
        end = time.monotonic() + 60
        while not done():
            assert time.monotonic() < end, "the browser does not answer"
            for message in self._messages():
                self._note(message)
                if take is not None:
                    take(message)

    def _messages(self) -> list[dict[str, Any]]:
        try:
            block = os.read(self._reader, 1 << 20)
        except BlockingIOError:
            time.sleep(0.01)
            return []
        assert block, "the browser has ended"
        *whole, self._buffer = (self._buffer + block).split(b"\0")
        return [json.loads(message) for message in whole]

    def _note(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        match message.get("method"):
            case "Page.loadEventFired":
                self._loaded = True
            case "Runtime.exceptionThrown":
                self.errors.append(str(params["exceptionDetails"]))
            case "Runtime.consoleAPICalled":
                self.errors.append(str(params["args"]))
            case "Log.entryAdded":
                self.errors.append(params["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])


def _high(descriptor: int) -> int:
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved


def _take(message: dict[str, Any], number: int, answers: list[dict[str, Any]]) -> None:
    if message.get("id") == number:
        answers.append(message)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    one = Browser(tmp_path_factory.mktemp("profile"))
    yield one
    one.close()


# Its box and whether a reader can see it.
VISIBLE = """
(selector) => [...document.querySelectorAll(selector)].filter((element) => {
  const box = element.getBoundingClientRect();
  return element.checkVisibility() && box.width > 50 && box.height > 10;
}).length
"""


@browser_test
def test_every_table_and_figure_is_seen(browser: Browser, page: Path) -> None:
    browser.open(page)
    inner = {"table": ".table table", "figure": ".picture img", "data": "table.numbers"}
    for item in (item for section in SECTIONS for item in section.items):
        selector = f"#{item.anchor} {inner[item.kind]}"
        assert browser.evaluate(f"({VISIBLE})({selector!r})") == 1, item
    assert browser.evaluate(f"({VISIBLE})('#claims .claims > li')") == 3
    rows = len(PUBLISHED_TABLES) * len(Status)
    assert browser.evaluate(f"({VISIBLE})('#reproduction tbody tr')") == rows
    ours = "document.querySelector('#reproduction tbody td:nth-child(3)').innerText"
    assert browser.evaluate(ours) == "0.1235\n[0.1, 0.2], n = 3"
    widths = browser.evaluate(
        "[...document.querySelectorAll('article img')].map((i) => i.naturalWidth)"
    )
    assert widths == [300] * sum(item.kind == "figure" for item in all_items())
    # The page itself never scrolls sideways, whatever it holds.
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert browser.errors == []


@browser_test
def test_hostile_text_is_text(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.evaluate("document.title") == "ThinkPrior, micro scale"
    assert browser.evaluate("document.querySelectorAll('script').length") == 1
    assert browser.evaluate("document.querySelectorAll('img[src=x]').length") == 0
    for selector in (".bar dd", "#world td", "#claims p", "#figure1 figcaption", "#figure1 code"):
        texts = browser.evaluate(
            f"[...document.querySelectorAll({selector!r})].map((e) => e.textContent)"
        )
        assert any(SHOWN in text for text in texts), selector
    # In a table it has been through LaTeX, which closes quotation marks and has no such sign.
    cell = browser.evaluate("document.querySelector('#table1 tbody th').textContent")
    assert cell.startswith("<script>document.title='owned'</script>")
    assert browser.errors == []


@browser_test
def test_nothing_is_fetched(browser: Browser, page: Path) -> None:
    browser.open(page)
    fetched = [url for url in browser.requests if not url.startswith("data:")]
    assert fetched == [page.as_uri()]


@browser_test
def test_a_figure_opens_and_grows(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.evaluate(f"({VISIBLE})('#viewer')") == 0
    browser.evaluate("document.querySelector('#figure2 .zoom').click()")
    assert browser.evaluate(f"({VISIBLE})('#viewer')") == 1
    width = "document.querySelector('#viewer img').clientWidth"
    browser.evaluate("document.querySelector('#viewer img').decode()")
    fitted = browser.evaluate(width)
    stage = browser.evaluate("document.querySelector('#viewer .stage').clientHeight")
    # As high as there is room for, since the window is wider than 3 by 2.
    assert stage > 700
    assert fitted == pytest.approx(1.5 * stage, abs=1)
    browser.evaluate("document.querySelector('#viewer [name=larger]').click()")
    assert browser.evaluate(width) == pytest.approx(1.4 * fitted, abs=1)
    browser.evaluate("document.querySelector('#viewer img').click()")
    assert browser.evaluate(width) == pytest.approx(1.96 * fitted, abs=2)
    for name in ("smaller", "fit"):
        browser.evaluate(f"document.querySelector('#viewer [name={name}]').click()")
    assert browser.evaluate(width) == fitted
    browser.evaluate("document.querySelector('#viewer [name=close]').click()")
    assert browser.evaluate(f"({VISIBLE})('#viewer')") == 0
    assert browser.errors == []


@browser_test
def test_rows_are_filtered_by_status_and_text(browser: Browser, page: Path) -> None:
    browser.open(page)
    seen = f"({VISIBLE})('#reproduction tbody tr')"
    shown = "document.querySelector('#filter output').value"
    tables, statuses = len(PUBLISHED_TABLES), len(Status)
    total = tables * statuses
    browser.evaluate("document.querySelector('#filter [name=none]').click()")
    assert browser.evaluate(seen) == 0
    assert browser.evaluate(f"({VISIBLE})('section.published')") == 0
    browser.evaluate("document.querySelector('#filter [value=different]').click()")
    assert browser.evaluate(seen) == tables
    assert browser.evaluate(shown) == f"{tables} of {total} shown"
    browser.evaluate("document.querySelector('#filter [name=all]').click()")
    assert browser.evaluate(seen) == total
    browser.evaluate(
        "{ const field = document.querySelector('#filter [name=text]');"
        "field.value = ' TABLE2_same_LEVEL ';"
        "field.dispatchEvent(new Event('input', {bubbles: true})) }"
    )
    assert browser.evaluate(seen) == 1
    assert browser.errors == []


@browser_test
@pytest.mark.parametrize(
    ("expression", "named"),
    [
        ("setTimeout(() => { throw new Error('broken') }, 0)", "broken"),
        ("console.error('wrong')", "wrong"),
        (
            "document.body.append(Object.assign(new Image(), {src: 'https://example.org/x.png'}))",
            "img-src",
        ),
        (
            "document.body.insertAdjacentHTML('beforeend', '<i style=\"top:0\">x</i>')",
            "style",
        ),
        ("document.body.insertAdjacentHTML('beforeend', '<i onclick=\"1\">x</i>')", "script"),
    ],
)
def test_the_browser_tells_of_errors(
    browser: Browser, page: Path, expression: str, named: str
) -> None:
    browser.open(page)
    browser.evaluate(f"{expression}; undefined")
    browser.evaluate("new Promise((resolve) => setTimeout(resolve, 100))")
    assert any(re.search(named, error) for error in browser.errors)
