"""Digests of code, settings and files, on a copy of a small package."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkprior import digest
from thinkprior.digest import code_digest, file_digest, host, settings_digest, write_manifest

MODULES = {
    "__init__": '"""The package."""\n',
    "top": '''"""Docstring."""
from thinkprior.middle import double

STEP = 1
"""What a step is."""


def run(x: int) -> int:
    """Runs."""
    # A comment.
    return double(x) + STEP
''',
    "middle": """import math

from thinkprior import bottom


def double(x: int) -> int:
    from thinkprior.late import helper

    return helper(bottom.once(x) * 2)
""",
    "bottom": "def once(x: int) -> int:\n    return x\n",
    "late": "def helper(x: int) -> int:\n    return x\n",
    "unrelated": "VALUE = 1\n",
    "folder/__init__": "from thinkprior.folder.inner import VALUE\n",
    "folder/inner": "VALUE = 1\n",
    "user": "from thinkprior.folder import VALUE\n",
    "deep": "import thinkprior.folder.inner\n",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "thinkprior"
    for name, text in MODULES.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(digest, "PACKAGE", folder)
    yield folder
    forget()


def forget() -> None:
    for function in (code_digest, digest._tree, digest._meaning):
        function.cache_clear()


def digest_of(module: str) -> str:
    forget()
    return code_digest(module)


def edited(package: Path, module: str, old: str, new: str) -> None:
    path = package / f"{module}.py"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("top", "# A comment.", "# Another comment, that says more."),
        ("top", '"""Docstring."""', '"""Another docstring."""'),
        ("top", '    """Runs."""\n', ""),
        ("top", '"""What a step is."""\n', ""),
        ("top", "double(x) + STEP", "(double(x)\n            + STEP)"),
        ("middle", "import math\n", "import math  # for later\n\n\n"),
        ("bottom", "def once", '"""New."""\n\n\ndef once'),
        ("__init__", "The package.", "The whole package."),
        ("unrelated", "VALUE = 1", "VALUE = 2"),
    ],
)
def test_what_does_not_change_the_code_leaves_the_digest(
    package: Path, module: str, old: str, new: str
) -> None:
    before = digest_of("thinkprior.top")
    edited(package, module, old, new)
    assert digest_of("thinkprior.top") == before


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("top", "STEP = 1", "STEP = 2"),
        ("top", "double(x) + STEP", "double(x) - STEP"),
        ("top", "return double(x) + STEP", 'return double(x) + len("A comment.")'),
        ("middle", "* 2", "* 3"),
        ("bottom", "return x", "return x + 1"),
        ("late", "return x", "return -x"),
        ("__init__", '"""The package."""', "SEED = 1"),
    ],
)
def test_a_change_of_the_code_in_any_imported_module_changes_the_digest(
    package: Path, module: str, old: str, new: str
) -> None:
    before = digest_of("thinkprior.top")
    edited(package, module, old, new)
    assert digest_of("thinkprior.top") != before


@pytest.mark.parametrize("user", ["user", "deep"])
@pytest.mark.parametrize("module", ["folder/inner", "folder/__init__"])
def test_packages_and_their_inner_modules_count(package: Path, user: str, module: str) -> None:
    before = digest_of(f"thinkprior.{user}")
    (package / f"{module}.py").write_text((package / f"{module}.py").read_text() + "X = 3\n")
    assert digest_of(f"thinkprior.{user}") != before


def test_a_renamed_name_changes_the_digest(package: Path) -> None:
    before = digest_of("thinkprior.bottom")
    edited(package, "bottom", "once", "twice")
    assert digest_of("thinkprior.bottom") != before


def test_an_unknown_module_has_no_digest(package: Path) -> None:
    with pytest.raises(ModuleNotFoundError):
        digest_of("thinkprior.misspelt")


def test_the_package_imports_itself_by_full_names_only() -> None:
    # A relative import would escape the digest.
    for path in digest.PACKAGE.rglob("*.py"):
        assert "\nfrom ." not in path.read_text(), path


def test_a_files_digest_is_its_sha256(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc" * 10**6)
    assert file_digest(path) == hashlib.sha256(b"abc" * 10**6).hexdigest()


def test_a_directorys_digest_is_of_names_and_contents(tmp_path: Path) -> None:
    def folder(name: str, files: dict[str, str]) -> str:
        for file, text in files.items():
            path = tmp_path / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return file_digest(tmp_path / name)

    one = folder("one", {"x": "1", "in/y": "2"})
    assert folder("same", {"in/y": "2", "x": "1"}) == one
    assert folder("renamed", {"x": "1", "in/z": "2"}) != one
    assert folder("changed", {"x": "1", "in/y": "3"}) != one
    assert folder("more", {"x": "1", "in/y": "2", "w": ""}) != one


@given(st.dictionaries(st.text(max_size=4), st.integers() | st.floats(allow_nan=False)))
def test_the_order_of_settings_does_not_matter(settings: dict[str, float]) -> None:
    backwards = dict(reversed(settings.items()))
    assert settings_digest(settings) == settings_digest(backwards)
    assert settings_digest({**settings, "new key": 1}) != settings_digest(settings)


def test_a_manifest_says_what_an_artifact_was_made_with(tmp_path: Path) -> None:
    source, made = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("in")
    made.write_text("out")
    settings = {"kappa": 4.0}
    write_manifest(
        tmp_path / "manifest.json",
        name="main/thinkprior/seed0",
        settings=settings,
        code="abc",
        inputs=[source],
        outputs=[made],
        verifier={"errors": 0},
    )
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["name"] == "main/thinkprior/seed0"
    assert manifest["settings"] == settings
    assert manifest["settings_digest"] == settings_digest(settings)
    assert manifest["code_digest"] == "abc"
    assert manifest["inputs"] == {str(source): hashlib.sha256(b"in").hexdigest()}
    assert manifest["outputs"] == {"out.txt": hashlib.sha256(b"out").hexdigest()}
    assert manifest["verifier"] == {"errors": 0}


def test_the_host_is_recorded() -> None:
    found = host()
    assert found["cores"] >= 1
    assert found["processor"]
    assert found["libraries"]["numpy"][0].isdigit()
