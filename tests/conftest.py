"""For all tests: what JAX compiles is kept until the last of them, for the processes that they start too.

Most of the time of these tests is compilation, and many train the same small program again and again.
"""

import os
import shutil
import signal
import tempfile

import pytest

import rewind.envs  # noqa: F401  before anybody imports MuJoCo, which decides how to draw when it is imported

COMPILED = tempfile.mkdtemp(prefix="rewind-compiled-")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", COMPILED)  # which JAX reads when it is imported
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

# A shell starts what runs in its background deaf to Ctrl-C, and so would be what the tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def beside(monkeypatch):
    """As if the engine were on a GPU: evaluations go to their thread."""
    monkeypatch.setattr("rewind.evaluation.scoring.Scorer.beside", True)


@pytest.fixture(scope="module")
def quick_compilation():
    """For tests of laws, which hold whether or not programs are made fast: compiling takes most of their time."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def pytest_unconfigure():
    shutil.rmtree(COMPILED, ignore_errors=True)
