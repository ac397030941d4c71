"""`import rewind` brings NumPy, Numba where it is installed, and nothing else."""

import json
import os
import subprocess
import sys

PROGRAM = """
import json, sys
before = set(sys.modules)
import rewind
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def imported(numba):
    """The modules that `import rewind` loads in a new process."""
    environment = os.environ | {"REWIND_NUMBA": numba}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def packages(modules):
    return {name.split(".")[0] for name in modules} - sys.stdlib_module_names


def test_the_memory_needs_numpy_alone():
    assert packages(imported(numba="0")) == {"numpy", "rewind"}


def test_what_only_some_use_is_not_imported_by_all():
    assert packages(imported(numba="1")).isdisjoint({"filelock", "jinja2", "tyro", "tqdm", "h5py", "minari", "jax"})
    assert {"http.client", "asyncio", "multiprocessing", "rewind.agents"}.isdisjoint(imported(numba="0"))
