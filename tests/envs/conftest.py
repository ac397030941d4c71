"""Gymnasium's HalfCheetah makes MuJoCo write a log file where it stands."""

from pathlib import Path

import pytest

import rewind.envs  # noqa: F401  before MuJoCo, which decides how to draw when it is imported


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
