"""Bit-for-bit the same on a GPU: operations without a race, and the very programs the run began with.

On the CPU nothing is needed. On a GPU some operations add in whatever order threads arrive, and the compiler times
several versions of a kernel and keeps the fastest, which may be another one tomorrow. The first is an option of XLA;
against the second the compiled programs are kept in the run's folder, and a resumed run takes those.
"""

import os
from pathlib import Path
from typing import Any

import jax

from rewind.errors import UsageError

FLAG = "--xla_gpu_deterministic_ops=true"


def make_deterministic(folder: Path | None) -> None:
    """Switch it on for this process. XLA reads its options once, so this must come before JAX's first computation."""
    flags = os.environ.get("XLA_FLAGS", "")
    if FLAG not in flags:
        if _started() and jax.default_backend() != "cpu":
            raise UsageError(f"JAX has started without it: set XLA_FLAGS={FLAG} in the environment")
        os.environ["XLA_FLAGS"] = f"{flags} {FLAG}".strip()
    if folder is not None:
        config: Any = jax.config
        config.update("jax_compilation_cache_dir", str(folder / "compiled"))
        config.update("jax_persistent_cache_min_compile_time_secs", 0)


def _started() -> bool:
    from jax.extend import backend

    started = getattr(backend, "backends_are_initialized", None)
    if started is None:
        from jax._src import xla_bridge

        started = xla_bridge.backends_are_initialized
    return bool(started())
