"""Bit-for-bit the same on a GPU: operations without a race, and the very programs the run began with.

On the CPU nothing is needed. On a GPU some operations add in whatever order threads arrive, and the compiler times
several versions of a kernel and keeps the fastest, which may be another one tomorrow. The first is an option of XLA;
against the second the compiled programs are kept in the run's folder, and a resumed run takes those.
"""

import hashlib
import os
import platform
from pathlib import Path
from typing import Any

import jax

from rewind.errors import UsageError

FLAG = "--xla_gpu_deterministic_ops=true"
MOST = 1 << 30  # bytes of programs that are kept for other trainings


def make_deterministic(folder: Path | None) -> None:
    """Switch it on for this process. XLA reads its options once, so this must come before JAX's first computation."""
    flags = os.environ.get("XLA_FLAGS", "")
    if FLAG not in flags:
        if _started() and jax.default_backend() != "cpu":
            raise UsageError(f"JAX has started without it: set XLA_FLAGS={FLAG} in the environment")
        os.environ["XLA_FLAGS"] = f"{flags} {FLAG}".strip()
    if folder is not None:
        _keep(folder / "compiled")


def keep_programs() -> None:
    """Keep what is compiled for the next training of the same shapes: it takes most of the time to the first update.

    In the home folder, since it is code that runs, and by processor, since another one may lack instructions. Nothing
    changes where JAX was told another folder, or none can be made.
    """
    config: Any = jax.config
    if config.jax_compilation_cache_dir is not None:
        return
    try:
        cpuinfo_lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        cpuinfo_lines = []
    processor = [
        platform.machine(),
        platform.processor(),
        *sorted({line for line in cpuinfo_lines if line.startswith("flags")}),
    ]
    name = hashlib.blake2b("\n".join(processor).encode(), digest_size=6).hexdigest()
    folder = Path.home() / ".rewind" / "compiled" / name
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return
    if os.access(folder, os.W_OK):
        _keep(folder)
        config.update("jax_compilation_cache_max_size", MOST)


def _keep(folder: Path) -> None:
    config: Any = jax.config
    config.update("jax_compilation_cache_dir", str(folder))
    config.update("jax_persistent_cache_min_compile_time_secs", 0)


def _started() -> bool:
    from jax.extend import backend

    started = getattr(backend, "backends_are_initialized", None)
    if started is None:
        from jax._src import xla_bridge

        started = xla_bridge.backends_are_initialized
    return bool(started())
