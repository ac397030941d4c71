"""Measure times on noisy machines: jobs take turns, and medians count."""

import os
import platform
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import rewind
from rewind.compiled import HAVE_NUMBA
from rewind.rebuilt.build import processor


def side_by_side(jobs: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each job. All jobs take turns, so that a disturbance affects all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            begin = time.perf_counter()
            job()
            seconds[name].append(time.perf_counter() - begin)
    return {name: float(np.median(values)) for name, values in seconds.items()}


def machine() -> dict[str, Any]:
    return {
        "rewind": rewind.__version__,
        "numba": HAVE_NUMBA,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "processor": processor(),
        "cores": os.cpu_count(),
    }
