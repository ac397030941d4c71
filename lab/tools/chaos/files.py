"""Files that were damaged: a training's, which is resumed; and inputs from anywhere, which are read."""

import contextlib
import io
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from small import BLOCK, STEPS, Child, go, result_of, result_path
from tests.data import test_fuzz

from rewind.errors import RewindError
from rewind.training import Stopped

LAST = 40  # steps that are left to train


def damaged(count, folder, expected, seed):
    """Training folders with one damaged file: resumed to the same end, or one line.

    Returns the process that tries it, and its report: a line each, with the name of the file.
    """
    own = folder / f"damaged-{seed}"
    report = own.with_suffix(".txt")
    return Child(_damage, count, own, expected, seed, report, log=own.with_suffix(".log")), report


def _damage(count, folder, expected, seed, report):
    rng = np.random.default_rng(seed)
    whole = folder / "whole"
    asked = []
    with contextlib.suppress(Stopped):
        go(whole, left=[STEPS - 100], stop=lambda: asked.append(0) or len(asked) == (STEPS - LAST) // BLOCK)
    paths = [path.relative_to(whole) for path in sorted(whole.rglob("*")) if path.is_file() and path.suffix != ".lock"]
    with report.open("w", buffering=1) as lines:
        for number in range(count):
            relative = paths[number % len(paths)]
            run = folder / "run"
            shutil.copytree(whole, run)
            how = _change(run / relative, rng)
            name = "checkpoints" if relative.suffix == ".checkpoint" else relative.name.split("-")[0]
            lines.write(f"{name} {_held(run, expected)} {how}\n")
            shutil.rmtree(run)


def _change(path, rng):
    content = path.read_bytes()
    how = int(rng.integers(6))
    if how == 0:
        path.unlink()
        return "removed"
    if how == 1 and path.suffix == ".jsonl":
        lines = content.splitlines(keepends=True)
        first, second = rng.integers(len(lines), size=2)
        lines[first] = lines[second]
        path.write_bytes(b"".join(lines))
        return f"line {second} also in place of line {first}"
    kind = int(rng.integers(4))
    *_, changed = test_fuzz.mutations(content, rng, kind + 1)
    path.write_bytes(changed)
    return f"mutation {kind}"


def _held(run, expected):
    result_path(run).unlink(missing_ok=True)
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            go(run)
    except RewindError as error:
        return bool(str(error)) and "\n" not in str(error)
    except BaseException as error:
        print(f"damaged: {type(error).__name__}: {error}", file=sys.stderr)
        return False
    return result_of(run) == expected[0] or "results are without it" in errors.getvalue()


def inputs(count):
    """Mutated inputs of all formats (tests/data/test_fuzz.py), until there are so many."""
    outcome, tried, failed = test_fuzz.outcome, [0], [0]

    def counted(read):
        tried[0] += 1
        try:
            return outcome(read)
        except BaseException as error:
            failed[0] += 1
            print(f"inputs: {type(error).__name__}: {error}", file=sys.stderr)
            return False

    test_fuzz.outcome = counted
    kinds = {}
    try:
        for name, test in _fuzzers():
            before = tried[0], failed[0]
            with tempfile.TemporaryDirectory() as folder:
                test(Path(folder))
            kinds[name] = tuple(now - then for now, then in zip((tried[0], failed[0]), before, strict=True))
            if tried[0] >= count:
                break
    finally:
        test_fuzz.outcome = outcome
    return kinds


def _fuzzers():
    yield "policies", test_fuzz.test_policies
    for name, columns in (("flat", test_fuzz.flat_log([3, 4], [True, False])), ("own", test_fuzz.own_columns())):
        yield f".npz, {name}", lambda folder, columns=columns: test_fuzz.test_npz(folder, columns)
    for own in (False, True):
        yield f".hdf5, {'own' if own else 'flat'}", lambda folder, own=own: test_fuzz.test_hdf5(folder, own)
