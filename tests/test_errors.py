"""Missing parts of the installation are named."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rewind import DataError, MissingExtra, TrajectoryReplay
from rewind.errors import install_command, printable, require, unknown_name
from rewind.files import read_json, write_json
from tests.helpers import make


def test_a_missing_package_is_an_error_that_names_the_extra():
    with pytest.raises(MissingExtra, match=r"needs the package 'no_such_package'.*pip install .*\[hdf5\]"):
        require("no_such_package.part", "hdf5")


ORIGINS = {
    "an index": (None, "pip install 'rewind-rl[hdf5]'", "pip install rewind-lab"),
    "a checkout": (("editable", "{}"), "pip install -e '{}[hdf5]'", "pip install -e '{}/lab'"),
    "a wheel": (
        ("wheel", "{}/rewind_rl-0.1.0-py3-none-any.whl"),
        "pip install 'rewind-rl[hdf5] @ file://{}/rewind_rl-0.1.0-py3-none-any.whl'",
        "pip install 'rewind-lab @ file://{}/rewind_lab-0.1.0-py3-none-any.whl'",
    ),
}


@pytest.mark.parametrize("origin", ORIGINS)
def test_the_command_installs_from_where_rewind_came_from(tmp_path, monkeypatch, origin):
    folder = tmp_path / "with (brackets)"
    (folder / "lab").mkdir(parents=True)
    (folder / "rewind_lab-0.1.0-py3-none-any.whl").touch()
    place, library, lab = ORIGINS[origin]
    about = tmp_path / "site" / "rewind_rl-0.1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: rewind-rl\nVersion: 0.1.0\n")
    if place is not None:
        kind, path = place
        url = {"url": Path(path.format(folder)).as_uri(), "dir_info": {"editable": kind == "editable"}}
        (about / "direct_url.json").write_text(json.dumps(url))
    monkeypatch.setattr(sys, "path", [str(about.parent)])

    def expected(text):
        return text.format(folder.as_uri().removeprefix("file://") if "@" in text else folder)

    assert install_command("rewind-rl", "hdf5") == expected(library)
    assert install_command("rewind-lab") == expected(lab)


def test_control_characters_are_shown_and_not_obeyed():
    assert printable("a name\x1b[2J\r\u202e, é\n") == "a name\\x1b[2J\\r\\u202e, é\n"


@pytest.mark.parametrize(("package", "extra", "method"), [("torch", "torch", "as_torch"), ("jax", "jax", "as_jax")])
def test_batches_name_the_extra_they_need(monkeypatch, package, extra, method):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    memory = TrajectoryReplay(seed=0)
    memory.load_offline_dataset(make([3, 4], known=1.0))
    with pytest.raises(MissingExtra, match=rf"\[{extra}\]"):
        getattr(memory.sample(2), method)()


def test_the_command_names_its_extra():
    program = "import sys; sys.modules['tyro'] = None; from rewind.cli import main; main(['toy'])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode != 0 and "[cli]" in run.stderr
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


def test_where_stderr_is_no_terminal_progress_is_a_line_now_and_then(monkeypatch, capsys):
    from rewind import progress

    monkeypatch.setattr(progress, "SOON", 0.0)
    monkeypatch.setattr(progress, "ENOUGH", 0.0)
    for wanted in (True, False):
        bar = progress.steps_bar("TD3BC, 1 run", 1000, 400, wanted)
        for _ in range(3):
            bar.update(100)
    lines = capsys.readouterr().err.splitlines()
    assert (
        len(lines) == 1 and lines[0].startswith("TD3BC, 1 run: 600 of 1,000 steps, ") and "min left" in lines[0]
    )  # the first update compiles


@pytest.mark.parametrize("line", [b"\xff\xfe{}\n", b"{}\n", b"[]\n"])
def test_damaged_logs_are_one_line(tmp_path, line):
    from rewind.evaluation.rows import read_jsonl
    from rewind.report.train_folder import read_metrics

    log = tmp_path / "group-0" / "metrics.jsonl"
    log.parent.mkdir()
    log.write_bytes(line)
    for read in (lambda: read_metrics(tmp_path), lambda: read_jsonl(log)):
        with pytest.raises(DataError, match=r"metrics\.jsonl") as raised:
            read()
        assert "\n" not in str(raised.value) and log.read_bytes() == line
