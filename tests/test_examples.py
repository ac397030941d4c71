"""The heating example, whose simulator knows the truth, and the notebooks."""

import json
import os
import re
import runpy
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import rewind
from heating.run import MAP, run_path
from heating.simulator import Flats, Thermostat, flats_like, worth, write_log

EXAMPLES = MAP.parents[1]
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def flats(count):
    rng = np.random.default_rng(0)
    hours = rng.integers(0, 48, count)
    return Flats(rng.normal(20, 1, count), rng.normal(19, 1, count), rng.normal(0, 2.5, count), hours)


def test_an_observation_tells_everything_about_a_flat():
    before = flats(50)
    again = flats_like(before.observe())
    for name in ("indoor", "wall", "weather", "half_hour"):
        np.testing.assert_allclose(getattr(again, name), getattr(before, name), atol=1e-4)


def test_the_messy_log_is_the_same_each_time_and_reads_as_days(tmp_path):
    pytest.importorskip("pyarrow")
    for name in ("log.csv", "again.csv"):
        write_log(tmp_path / name, flats=3, days=4)
    assert (tmp_path / "log.csv").read_bytes() == (tmp_path / "again.csv").read_bytes()
    data = rewind.load(tmp_path / "log.csv", map=MAP)
    assert len(data) == 12 and data.actions.shape[1:] == (1,) and {"sorted", "not_used"} <= set(data.notes)
    whole = data.lengths == 48
    assert whole.sum() > 9 and data.final_known[whole].all() and (whole | data.terminated).all()
    np.testing.assert_allclose(data.observations[data.starts][:, 4], 1.0)  # midnight
    assert data.actions.max() > 50 and data.actions.min() >= 0 and data.actions.max() <= 100


def test_the_log_of_a_policy_is_found_again_with_its_columns(tmp_path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("equinox")
    from rewind.data import save_npz
    from rewind.evaluation.offline_record import SavedPolicy, load_log

    write_log(tmp_path / "log.csv", flats=2, days=2)
    data = rewind.load(tmp_path / "log.csv", map=MAP)
    save_npz(data, tmp_path / "log.npz")
    for name in ("log.csv", "log.npz"):
        about = {"data": {"fingerprint": data.fingerprint, "notes": data.notes}}
        about["source"] = {"dataset": str(tmp_path / name)}
        policy = rewind.Policy([np.ones((7, 1))], [np.zeros(1)], np.zeros(7), np.ones(7), 0, 100, about)
        assert load_log([SavedPolicy("policy", tmp_path, policy)]).fingerprint == data.fingerprint


def test_to_heat_by_price_is_worth_more_than_the_thermostat():
    start = flats(100).observe()
    thermostat = Thermostat(100, np.random.default_rng(0))
    warm = worth(lambda seen: 35 + 30 * (np.where(seen[:, 6:] < 0.2, 22.0, 20.5) - seen[:, :1]), start)
    assert warm.mean() > worth(lambda seen: thermostat(seen)[:, None], start).mean() + 3


def test_notebooks_have_the_outputs_of_their_code_and_it_compiles():
    assert len(NOTEBOOKS) == 2
    tool = runpy.run_path(str(EXAMPLES.parent / "lab" / "tools" / "run_notebooks.py"))
    for path in NOTEBOOKS:
        book = json.loads(path.read_text(encoding="utf-8"))
        assert book["nbformat"] == 4 and book["cells"][0]["cell_type"] == "markdown"
        assert book["metadata"]["outputs_of"] == tool["notebook_digest"](book), "run `make notebooks`"
        printed = json.dumps([cell.get("outputs") for cell in book["cells"]])
        assert not re.search(r"/tmp/|/home/|/work/|/root/|/Users/|0x[0-9a-f]{6}|Traceback", printed)
        for cell in book["cells"]:
            if cell["cell_type"] == "code":
                assert cell["outputs"] and cell["execution_count"] is None
                source = "".join(cell["source"])
                if not source.startswith("!"):
                    compile(source.replace("!rewind report", "# "), path.name, "exec")


@pytest.mark.long
def test_the_estimate_on_held_out_days_ranks_policies_as_the_simulator_does(tmp_path, monkeypatch):
    for package in ("pyarrow", "equinox", "tyro", "jinja2", "onnx"):
        pytest.importorskip(package)
    rewind_command(tmp_path / "bin", monkeypatch)
    rows = run_path(tmp_path)
    assert (tmp_path / "run" / "report.html").stat().st_size > 10_000 and (tmp_path / "policy.onnx").exists()
    truths = [row["truth"] for row in rows]
    assert len(rows) == 3 and truths == sorted(truths, reverse=True)
    for row in rows:
        value, low, high = row["estimate"]
        reach = max(value - low, high - value)
        assert abs(value - row["truth"]) < 2 * reach  # twice what 95% of the estimates keep
        assert row["outside"] < 0.005
    offline = json.loads((tmp_path / "run" / "offline.json").read_text())
    assert truths[0] > offline["log"]["estimate"][0] + 3


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(tmp_path, monkeypatch, path):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    for package in ("torch",) if "swap" in path.name else ("pyarrow", "equinox", "tyro", "jinja2", "onnx"):
        pytest.importorskip(package)
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    rewind_command(tmp_path / "bin", monkeypatch)
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    nbclient.NotebookClient(
        book, timeout=900, kernel_name="python3", resources={"metadata": {"path": str(tmp_path / "examples")}}
    ).execute()
    if "csv" in path.name:
        assert (tmp_path / "examples" / "policy.onnx").exists()
        assert "[False  True]" in str(book.cells) and "column 2 is 85" in str(book.cells)


def rewind_command(folder: Path, monkeypatch):
    """The command `rewind` of the code under test, for the example and the shell of a notebook."""
    folder.mkdir()
    script = folder / "rewind"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rewind.cli "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    source = Path(rewind.__file__).parents[1]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")]))
