"""Shared by the tests of the workflow: one micro campaign, from nothing to the last table."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose every target is made. Spoil copies of it only."""
    from tests.workflow.test_micro import Project

    project = Project(tmp_path_factory.mktemp("micro") / "project")
    run = project.snakemake()
    assert run.returncode == 0, run.stdout + run.stderr
    return project.folder
