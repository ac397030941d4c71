"""What older versions have written: policies load and act as before; trainings continue, or one line says why not."""

import json

import numpy as np
import pytest

for package in ("jax", "equinox", "optax", "tyro"):
    pytest.importorskip(package)

from tests.protection import facts
from tests.protection.facts import FIXTURES


@pytest.fixture(scope="module")
def recorded():
    return facts.expected("policies")


@pytest.mark.parametrize("algorithm", facts.ALGORITHMS)
def test_an_old_policy_takes_the_same_actions(recorded, algorithm):
    actions = facts.policy_actions(FIXTURES / "policies" / algorithm)
    np.testing.assert_allclose(actions, recorded["actions"][algorithm], rtol=0, atol=1e-6)


def one_clear_line(ended):
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.startswith("rewind: ") and ended.stderr.count("\n") == 1, ended.stderr


def content(folder):
    """Bytes of all files of a folder."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_old_checkpoint_continues_to_the_same_policies_or_gets_one_clear_line(recorded, tmp_path):
    facts.copied_training(tmp_path)
    training = tmp_path / "training"
    before = content(training)
    ended = facts.resume(tmp_path, 30)
    if ended.returncode != 0:
        one_clear_line(ended)
        assert content(training) == before
        return
    actions = facts.all_actions(training)
    assert actions.keys() == recorded["resumed"].keys()
    for name, values in actions.items():
        np.testing.assert_allclose(values, recorded["resumed"][name], rtol=0, atol=1e-5)
    old, new = (json.loads((path / "config.json").read_text())["config"] for path in (FIXTURES / "training", training))
    assert [(run["name"], run["seed"]) for run in new["runs"]] == [(run["name"], run["seed"]) for run in old["runs"]]
    assert (new["data"], new["batch_size"]) == (old["data"], old["batch_size"])
    lines = (training / "group-0" / "metrics.jsonl").read_text().splitlines()
    assert max(json.loads(line)["step"] for line in lines) == 30


def test_a_finished_old_training_resumes_to_itself_or_gets_one_clear_line(tmp_path):
    facts.copied_training(tmp_path)
    ended = facts.resume(tmp_path, 20)
    if ended.returncode != 0:
        one_clear_line(ended)
        return
    for name, actions in facts.all_actions(FIXTURES / "training").items():
        np.testing.assert_array_equal(facts.all_actions(tmp_path / "training")[name], actions)
    facts.succeeded(facts.command("report", tmp_path / "training"))  # as the line for an old folder says


@pytest.mark.parametrize("name", ["training", "scored"])
def test_an_old_training_folder_is_reported_or_gets_one_clear_line(name, tmp_path):
    page = tmp_path / "report.html"
    ended = facts.command("report", FIXTURES / name, "--out", page)
    if ended.returncode != 0:
        one_clear_line(ended)
        return
    assert "td3_bc" in page.read_text(encoding="utf-8").lower().replace("td3+bc", "td3_bc")
