"""A few of the disturbances that `make test-chaos` tries by the hundred."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

for package in ("jax", "equinox", "filelock"):
    pytest.importorskip(package)

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_disturbed_training_ends_as_if_nobody_had_disturbed_it():
    command = [sys.executable, "lab/tools/chaos", "--short"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.splitlines()[-1].split()[::3] == ["all", "0"], ended.stdout
