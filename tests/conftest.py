"""For all tests: what JAX compiles is kept until the last of them, for the processes that they start too.

Most of the time of these tests is compilation, and many train the same small program again and again.
"""

import gc
import importlib.util
import mmap
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

import rewind.envs  # noqa: F401  before anybody imports MuJoCo, which decides how to draw when it is imported

COMPILED = tempfile.mkdtemp(prefix="rewind-compiled-")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", COMPILED)  # which JAX reads when it is imported
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
# What is tested holds whether or not programs are made fast. `make test-long` makes them fast.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "true")
FUSION_EMITTERS = "xla_cpu_use_fusion_emitters"  # without them, a small program compiles in half the time


def xla_knows(flag):
    """Whether the installed XLA has a flag: it aborts on one that it does not have."""
    spec = importlib.util.find_spec("jaxlib")
    library = Path(spec.origin).parent / "libjax_common.so" if spec else None
    if library is None or not library.exists():
        return False
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(flag.encode()) >= 0


if (
    os.environ["JAX_DISABLE_MOST_OPTIMIZATIONS"] == "true"
    and "XLA_FLAGS" not in os.environ
    and xla_knows(FUSION_EMITTERS)
):
    os.environ["XLA_FLAGS"] = f"--{FUSION_EMITTERS}=false"

gc.set_threshold(100_000, 50, 100)  # a trace makes many objects, and collecting them took a twentieth of the time

# A shell starts what runs in its background deaf to Ctrl-C, and so would be what the tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def beside(monkeypatch):
    """As if the engine were on a GPU: evaluations go to their thread."""
    monkeypatch.setattr("rewind.evaluation.scoring.Scorer.beside", True)


def pytest_unconfigure():
    shutil.rmtree(COMPILED, ignore_errors=True)
