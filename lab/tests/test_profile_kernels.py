"""lab/tools/profile_kernels.py: the time of a profile is that of the accelerator's kernels, added up by name."""

import gzip
import json

import pytest

pytest.importorskip("jax")
pytest.importorskip("equinox")

from lab.tests.tools import load_tool


@pytest.fixture(scope="module")
def tool():
    return load_tool("profile_kernels")


def written(folder, *processes):
    """A profile in which each process has the kernels "a" (twice) and "b"."""
    events = []
    for pid, name in enumerate(processes):
        events.append({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}})
        events += [{"ph": "X", "name": kernel, "pid": pid, "dur": 10.0 + pid} for kernel in ("a", "b", "a")]
    (folder / "plugins").mkdir()
    with gzip.open(folder / "plugins" / "perfetto_trace.json.gz", "wt") as file:
        json.dump({"traceEvents": events}, file)
    return folder


def test_kernels_are_added_up_on_the_accelerator_alone(tool, tmp_path):
    assert tool.by_kernel(written(tmp_path, "/host:CPU", "/device:GPU:0")) == {"a": 22.0, "b": 11.0}


def test_without_an_accelerator_the_host_counts(tool, tmp_path):
    assert tool.by_kernel(written(tmp_path, "/host:CPU")) == {"a": 20.0, "b": 10.0}


def test_a_group_is_trained_under_the_profiler(tool):
    took = tool.profile("td3_bc", {"hidden": (8, 8)}, 2, 4, wider=2)
    assert took and all(each >= 0 for each in took.values())
