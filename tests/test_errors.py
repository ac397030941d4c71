"""Missing parts of the installation are named."""

import subprocess
import sys

import numpy as np
import pytest

from rewind import DataError, MissingExtra, TrajectoryReplay
from rewind.errors import require, unknown_name
from rewind.files import read_json, write_json
from tests.helpers import make


def test_a_missing_package_is_an_error_that_names_the_extra():
    with pytest.raises(MissingExtra, match=r"needs the package 'no_such_package'.*rewind-rl\[hdf5\]"):
        require("no_such_package.part", "hdf5")


@pytest.mark.parametrize(("package", "extra", "method"), [("torch", "torch", "as_torch"), ("jax", "jax", "as_jax")])
def test_batches_name_the_extra_they_need(monkeypatch, package, extra, method):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    memory = TrajectoryReplay(seed=0)
    memory.load_offline_dataset(make([3, 4], known=1.0))
    with pytest.raises(MissingExtra, match=rf"rewind-rl\[{extra}\]"):
        getattr(memory.sample(2), method)()


def test_the_command_names_its_extra():
    program = "import sys; sys.modules['tyro'] = None; from rewind.cli import main; main(['toy'])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode != 0 and "rewind-rl[cli]" in run.stderr
    assert "Traceback" not in run.stderr


def test_unknown_names_come_with_the_nearest_known_ones():
    assert "did you mean 'uqm_reward'" in str(unknown_name("priority", "uqm_rewrd", ["uqm_reward", "return"]))
    assert "known: a, b" in str(unknown_name("thing", "zzz", ["b", "a"]))


def test_batches_become_jax_arrays():
    pytest.importorskip("jax")
    memory = TrajectoryReplay(seed=0)
    memory.load_offline_dataset(make([3, 4], known=1.0))
    batch = memory.sample(2)
    other = batch.as_jax()
    assert type(other.observations).__module__.startswith("jax")
    assert np.array_equal(np.asarray(other.observations), batch.observations) and other.host is batch


def test_a_damaged_file_of_figures_is_named(tmp_path):
    write_json(tmp_path / "figures.json", {"a": 1})
    assert read_json(tmp_path / "figures.json") == {"a": 1}
    (tmp_path / "figures.json").write_text("{")
    with pytest.raises(DataError, match=r"figures\.json is damaged"):
        read_json(tmp_path / "figures.json")


@pytest.mark.parametrize("content", ["{}", "[]", "3", '{"config": {}}', '{"config": {"runs": [3]}}', '{"config": []}'])
def test_a_folder_whose_configuration_is_none_is_one_line(tmp_path, content):
    pytest.importorskip("jax")
    from rewind.training.session import prepare_folder

    (tmp_path / "group-0").mkdir()
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(DataError, match=r"is damaged: it is not the configuration of a training") as raised:
        prepare_folder(tmp_path, {"runs": []}, {}, resume=True)
    assert "\n" not in str(raised.value) and (tmp_path / "config.json").read_text() == content


@pytest.mark.parametrize("line", [b"\xff\xfe{}\n", b"{}\n", b"[]\n"])
def test_damaged_logs_are_one_line(tmp_path, line):
    pytest.importorskip("jax")
    from rewind.evaluation.rows import read_jsonl
    from rewind.report.train_folder import read_metrics
    from rewind.training.log import JsonLines

    log = tmp_path / "group-0" / "metrics.jsonl"
    log.parent.mkdir()
    log.write_bytes(line)
    for read in (lambda: JsonLines(log.parent, 10, 1), lambda: read_metrics(tmp_path), lambda: read_jsonl(log)):
        with pytest.raises(DataError, match=r"metrics\.jsonl") as raised:
            read()
        assert "\n" not in str(raised.value) and log.read_bytes() == line
