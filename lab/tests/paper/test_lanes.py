"""lab/tools/lanes.py: several commands in one process, each on a device of its own."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

jax = pytest.importorskip("jax")

LANES = Path(__file__).parents[2] / "tools" / "lanes.py"


def test_each_command_has_its_own_output_and_end(tmp_path):
    words = {"one": ["data", "list"], "two": ["data", "lisst"]}
    process = subprocess.Popen([sys.executable, LANES, tmp_path])
    deadline = time.monotonic() + 90
    try:
        for name, command in words.items():  # one after the other: while options are read, stderr is somebody's
            (tmp_path / "part").write_text("\n".join(command))
            (tmp_path / "part").rename(tmp_path / f"{name}.stage")
            while not (tmp_path / f"{name}.over").exists():
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.1)
    finally:
        process.kill()
    assert "rewind/hopper-medium-v1" in (tmp_path / "one.log").read_text()
    said = (tmp_path / "two.log").read_text()
    assert "did you mean 'list'" in said and "exit status 2" in said


def test_a_device_of_its_own_computes_the_same(monkeypatch):
    monkeypatch.syspath_prepend(str(LANES.parent))
    from lanes import new_device

    device = new_device()
    assert device.client is not jax.devices()[0].client
    double = jax.jit(lambda x: 2 * x)
    with jax.default_device(device):
        found = double(jax.numpy.arange(3.0))
    assert found.devices() == {device} and found.tolist() == double(jax.numpy.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
