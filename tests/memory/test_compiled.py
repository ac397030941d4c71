"""With and without Numba the same stream, to the bit."""

import hashlib
import importlib
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from rewind import PrioritizedReplay, TrajectoryReplay, UniformReplay
from rewind.memory import PRIORITIES
from tests.helpers import make


def digest():
    """Everything the memories do on some data, as one number."""
    warnings.simplefilter("ignore")
    result = hashlib.sha256()
    data = make(np.random.default_rng(0).integers(1, 30, 60))
    memories = [
        TrajectoryReplay(priority, reuse=reuse, alpha=alpha, stagger=alpha > 1, seed=3)
        for priority in ("uniform", *PRIORITIES)
        for reuse, alpha in (("on_finish", 1.0), ("epoch", 2.0), ("replacement", 0.5), ("on_finish", 6.0))
    ]
    memories += [TrajectoryReplay(order=order, stagger=True, seed=3) for order in ("forward", "shuffled")]
    memories += [UniformReplay(seed=3), PrioritizedReplay(seed=3)]
    for memory in memories:
        memory.load_offline_dataset(data)
        for _ in range(8):
            plan = memory.plan(11, 50)
            memory.update_uncertainty(np.abs(np.sin(plan.indices)), plan)
            memory.update_priorities(np.cos(plan.indices), plan)
            for array in (plan.indices, plan.fresh, plan.trajectories):
                result.update(array.tobytes())
        result.update(memory.gather(plan, 3).next_observations.tobytes())
    return result.hexdigest()


def test_numba_and_python_play_the_same_rows():
    pytest.importorskip("numba")
    program = "from tests.memory.test_compiled import digest; from rewind.compiled import HAVE_NUMBA; "
    program += "print(HAVE_NUMBA, digest())"
    answers = {}
    for numba in ("0", "1"):
        environment = {**os.environ, "REWIND_NUMBA": numba}
        root = Path(__file__).parents[2]
        run = subprocess.run(
            [sys.executable, "-c", program], env=environment, cwd=root, capture_output=True, text=True, check=True
        )
        answers[numba] = run.stdout.split()
    assert answers["0"][0] == "False" and answers["1"][0] == "True"
    assert answers["0"][1] == answers["1"][1]


def test_the_first_compile_says_what_it_does_and_the_second_run_is_silent(tmp_path):
    pytest.importorskip("numba")
    script = tmp_path / "loop.py"
    script.write_text(
        "import numpy as np, rewind\n"
        "memory = rewind.UniformReplay(seed=0)\n"
        "memory.load_offline_dataset([{'observations': np.zeros((3, 1)), 'actions': np.zeros((2, 1)),\n"
        "                              'rewards': [0, 1], 'terminated': True}])\n"
        "memory.sample(2)\n"
    )
    environment = {**os.environ, "REWIND_NUMBA": "1", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, str(script)]
    first, second = (
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True) for _ in range(2)
    )
    assert first.stderr.startswith(f"{script}:5: UserWarning: Numba compiles Rewind's loops")
    assert first.stderr.count("Numba compiles") == 1 and first.stdout == second.stdout == second.stderr == ""


def test_the_core_imports_numpy_alone():
    program = (
        "import sys; import rewind; "
        "heavy = {'numba', 'torch', 'jax', 'h5py', 'matplotlib', 'tyro', 'tqdm', 'gymnasium', 'minari', 'scipy'}; "
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    environment = {**os.environ, "REWIND_NUMBA": "0"}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_a_change_in_an_inlined_file_or_an_imported_constant_is_compiled_again(tmp_path, monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.syspath_prepend(tmp_path)
    names = ("loop_constant", "loop_inner", "loop_outer")

    def result(factor, added):
        (tmp_path / "loop_constant.py").write_text(f"FACTOR = {factor}\n")
        (tmp_path / "loop_inner.py").write_text(
            "from rewind.compiled import inlined\n"
            "from loop_constant import FACTOR\n"
            f"@inlined\ndef inner(x):\n    return FACTOR * x + {added}\n"
        )
        (tmp_path / "loop_outer.py").write_text(
            "from rewind.compiled import compiled\n"
            "from loop_inner import inner\n"
            "@compiled\ndef outer(x):\n    return inner(x)\n"
        )
        for name in names:
            monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        monkeypatch.setattr(sys, "dont_write_bytecode", True)  # files of one second and one size
        outer = importlib.import_module("loop_outer").outer
        return outer(10), sum(outer.stats.cache_hits.values())

    assert result(2, 1) == (21, 0) and result(2, 1) == (21, 1)
    assert result(2, 3) == (23, 0) and result(4, 3) == (43, 0)
