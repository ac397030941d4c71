"""Timings on noisy machines: side by side, in turns, medians."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import rewind
from rewind.compiled import HAVE_NUMBA


def side_by_side(jobs: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each job. All jobs take turns, so that a disturbance hits them alike."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            begin = time.perf_counter()
            job()
            seconds[name].append(time.perf_counter() - begin)
    return {name: float(np.median(values)) for name, values in seconds.items()}


def machine() -> dict[str, Any]:
    """What a measurement was made on."""
    return {
        "rewind": rewind.__version__,
        "numba": HAVE_NUMBA,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:  # noqa: PTH123  only there on Linux
            names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
        return names[0]
    except (OSError, IndexError):
        return platform.processor() or platform.machine()
