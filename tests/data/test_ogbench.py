"""OGBench's form: `terminals` end a trajectory, `masks` are the real terminals, and the last row is no transition."""

import numpy as np
import pytest

from rewind import TrajectoryReplay, WeightedTarget
from rewind.agents.settings import paper_row, paper_settings
from rewind.data import load
from rewind.data.ogbench import environment_id, load_ogbench, save_ogbench, suite_of
from rewind.errors import DataError, UsageError
from rewind.files import Npz
from rewind.run_spec import RunSpec

#            0  1  2  3  4 | 5  6  7  8 | 9
TERMINALS = [0, 0, 0, 0, 1, 0, 0, 0, 1, 1]
MASKS = [1, 0, 0, 1, 1, 1, 1, 0, 1, 0]
KEPT = [0, 1, 2, 3, 5, 6, 7]


def columns():
    rows = len(TERMINALS)
    return {
        "observations": np.arange(rows, dtype=np.float32)[:, None],
        "actions": np.arange(rows, dtype=np.float32)[:, None] / 10,
        "terminals": np.array(TERMINALS, bool),
        "rewards": np.array(MASKS, np.float32) * -1,
        "masks": np.array(MASKS, np.float32),
    }


def compact():
    data = columns()
    data["valids"] = 1.0 - data["terminals"]
    data["terminals"] = np.minimum(data["terminals"] + np.append(data["terminals"][1:], 1.0), 1.0)
    return data


def with_successors():
    data = columns()
    kept = {name: column[KEPT] for name, column in data.items()}
    kept["next_observations"] = data["observations"][np.array(KEPT) + 1]
    kept["terminals"] = data["terminals"][np.array(KEPT) + 1]
    return kept


@pytest.mark.parametrize("form", [columns, compact, with_successors])
def test_each_form_gives_the_same_trajectories(form):
    data = load(form())
    assert data.lengths.tolist() == [4, 3]  # row 9 is a trajectory without a transition
    np.testing.assert_array_equal(data.observations[:, 0], KEPT)
    np.testing.assert_array_equal(data.final_observations[:, 0], [4, 8])
    np.testing.assert_array_equal(data.terminals, np.array(MASKS)[KEPT] == 0)
    assert data.terminated.tolist() == [False, True] and data.final_known.all()


@pytest.mark.parametrize("timeouts", ["timeouts", "truncations"])
def test_data_with_time_outs_is_not_ogbenchs(timeouts, tmp_path):
    log = {**columns(), timeouts: np.zeros(len(TERMINALS), bool)}
    np.savez(tmp_path / "log.npz", **log)
    for data in (load(log), load(tmp_path / "log.npz")):
        assert data.lengths.tolist() == [5, 4, 1] and data.terminated.all()
        assert data.notes["not_used"] == ["masks"]


def test_terminals_inside_a_trajectory_do_not_split_it_and_cut_the_carried_target():
    """With frozen values, y is the lambda-return up to the next terminal, whichever row a sweep has come from."""
    data, discount, beta = load(columns()), 0.9, 0.25
    values = np.sin(np.arange(data.rows + 1))
    expected = np.empty(data.rows)
    for row in reversed(range(data.rows)):
        carried = values[row] if row in data.ends else (1 - beta) * expected[min(row + 1, 6)] + beta * values[row]
        expected[row] = data.rewards[row] + discount * carried * ~data.terminals[row]
    memory, target = TrajectoryReplay(seed=0), WeightedTarget(discount, beta)
    memory.load_offline_dataset(data)
    seen = set()
    for _ in range(20):
        batch = memory.sample(2)
        np.testing.assert_allclose(target(batch, values[batch.indices]), expected[batch.indices])
        assert not batch.fresh[~batch.tails].any()  # sweeps start at the last row, not at an inner terminal
        seen |= set(batch.indices.tolist())
    assert seen == set(range(data.rows))


def test_without_masks_nothing_is_terminal():
    data = compact()
    del data["masks"]
    assert not load(data).terminals.any()


def test_a_cut_file_ends_with_its_last_row():
    data = {name: column[:3] for name, column in columns().items()}
    assert load(data).lengths.tolist() == [2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"masks": np.full(10, 0.5)}, "masks is 0.5 at row 0"),
        ({"valids": np.ones(9)}, "valids has shape"),
        ({"actions": np.zeros((9, 1))}, "9 rows"),
        ({"terminals": np.ones(10)}, "empty"),
    ],
)
def test_wrong_columns_are_errors(change, message):
    with pytest.raises(DataError, match=message):
        load({**columns(), **change})


def test_boundaries_of_ogbench_are_not_a_choice(tmp_path):
    np.savez(tmp_path / "file.npz", **columns())
    for dataset in (columns(), tmp_path / "file.npz"):
        with pytest.raises(UsageError, match="leave"):
            load(dataset, boundaries="flags")


def test_names_tell_tasks():
    assert environment_id("cube-single-play-v0") == "cube-single-singletask-v0"
    assert environment_id("rewind/ogbench-scene-noisy-task3-v0") == "scene-singletask-task3-v0"
    assert environment_id("puzzle-3x3-play-singletask-task5-v0") == "puzzle-3x3-singletask-task5-v0"
    assert environment_id("hopper-medium-v2") is None


def test_its_suite_is_known_by_the_name_alone():
    for name in ("rewind/ogbench-cube-single-play-task2-v0", "cube-single-play-singletask-v0"):
        assert suite_of(name) == RunSpec(name, "iql").suite == "ogbench"
        assert paper_settings("iql", name) == {"expectile": 0.9, "temperature": 1.0}
        assert paper_row("td3_bc", name) is None  # nobody has published numbers
    assert paper_settings("iql", "rewind/ogbench-scene-play-task2-v0")["temperature"] == 10.0
    assert (suite_of("hopper-medium-v2"), suite_of("rewind/antmaze-umaze-v1"), suite_of("own")) == (
        "mujoco",
        "antmaze",
        None,
    )


def test_data_without_rewards_needs_ogbench_names():
    data = columns()
    del data["rewards"], data["masks"]
    with pytest.raises(DataError, match="no rewards"):
        load({**data, "qpos": np.zeros((10, 21))})


def test_a_missing_file_of_a_task_is_one_line(tmp_path):
    with pytest.raises(DataError, match=r"cube-single-play-v0\.npz, which is not in"):
        load(tmp_path / "cube-single-play-singletask-task2-v0")


def test_an_altered_file_is_an_error(tmp_path):
    save_ogbench(columns(), "own", {"made": {}}, tmp_path / "own.npz")
    data = load_ogbench(Npz(tmp_path / "own.npz"))
    assert data.name == "own" and data.notes["digest"] == data.digest and data.notes["made"] == {}
    arrays = dict(np.load(tmp_path / "own.npz"))
    arrays["actions"][3] += 1
    np.savez(tmp_path / "own.npz", **arrays)
    with pytest.raises(DataError, match="altered"):
        load(tmp_path / "own.npz")


def test_a_file_is_relabelled_by_the_package_itself(tmp_path):
    """Rewards and masks of two tasks of one file are those of OGBench's own loader."""
    pytest.importorskip("ogbench")
    import gymnasium
    from ogbench.relabel_utils import relabel_dataset

    rows = 40
    qpos = np.zeros((rows, 21), np.float32)
    qpos[:, 14:17] = np.linspace([0.3, -0.2, 0.02], [0.5, 0.2, 0.02], rows)
    states = {"observations": np.zeros((rows, 28), np.float32), "actions": np.zeros((rows, 5), np.float32)}
    file = {**states, "terminals": np.arange(rows) % 20 == 19, "qpos": qpos}
    np.savez(tmp_path / "cube-single-play-v0.npz", **file)
    data = load(tmp_path / "cube-single-play-singletask-task2-v0")
    expected = {"qpos": qpos}
    relabel_dataset("cube-single", gymnasium.make("cube-single-singletask-task2-v0"), expected)
    kept = ~file["terminals"]
    np.testing.assert_array_equal(data.rewards, expected["rewards"][kept])
    np.testing.assert_array_equal(data.terminals, expected["masks"][kept] == 0)
    assert data.name == "cube-single-play-singletask-task2-v0"
    assert data.notes["environment"] == "cube-single-singletask-task2-v0" and data.lengths.tolist() == [19, 19]
