"""One cluster for all tests of this folder."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.slurm.cluster import Cluster, missing


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    pytest.importorskip(
        "snakemake_executor_plugin_slurm", reason="the extra `slurm` is not installed"
    )
    why = missing()
    if why:
        pytest.skip(why)
    # Not in pytest's own folder, which munge finds too open and whose path may be too long for it.
    with tempfile.TemporaryDirectory(prefix="thinkprior-slurm-") as folder:
        Path(folder).chmod(0o755)
        one = Cluster(Path(folder))
        try:
            one.start()
        except RuntimeError as error:
            one.stop()
            pytest.skip(f"SLURM cannot be started here: {error}")
        try:
            yield one
        finally:
            one.stop()
