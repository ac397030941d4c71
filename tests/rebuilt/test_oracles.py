"""OGBench's sets, made by its own oracles: one file for all tasks, the same whoever plays what."""

from dataclasses import replace

import numpy as np
import pytest

from rewind.data import load
from rewind.errors import UsageError
from rewind.rebuilt import build as building
from rewind.rebuilt import oracles
from rewind.rebuilt.collect import Episodes, join
from rewind.rebuilt.oracles import SIZES, OraclePlayer, _in_sight, play_oracles, write_oracles
from rewind.rebuilt.orders import make_order
from rewind.rebuilt.recipes import find_recipe, is_rebuilt, recipes

NAME = "rewind/ogbench-cube-single-play-v0"


def test_five_tasks_have_one_file():
    names = [NAME, *(f"rewind/ogbench-cube-single-play-task{number}-v0" for number in range(1, 6))]
    assert len({make_order(name).path for name in names}) == 1
    assert not is_rebuilt("rewind/ogbench-cube-single-play-task6-v0") and not is_rebuilt(
        "rewind/hopper-medium-task1-v0"
    )
    assert [name for name in recipes() if "ogbench" in name and "cube" not in name] == [
        f"rewind/ogbench-{task}-{kind}-v0" for task in ("scene", "puzzle-3x3") for kind in ("play", "noisy")
    ]
    with pytest.raises(UsageError, match="takes no --policy"):
        make_order(NAME, policy="mine.npz")


def test_only_scenes_with_the_cube_in_sight_or_in_the_drawer_are_kept():
    def cube(y, z):
        qpos = np.zeros((3, 25))
        qpos[1, 15:17] = y, z
        return _in_sight(qpos)

    assert cube(0.0, 0.02) and cube(-0.35, 0.07) and cube(0.28, 0.02)
    assert not cube(0.29, 0.02) and not cube(-0.3, 0.02) and not cube(-0.35, 0.09)


def test_a_file_has_a_final_row_for_each_trajectory(tmp_path):
    """Also one that the size has cut; and the columns that OGBench's own loader reads."""
    recipe = find_recipe("rewind/ogbench-puzzle-3x3-noisy-v0")
    wide, rows = sum(SIZES["puzzle-3x3"]), 7
    states = np.arange((rows + 1) * wide, dtype=np.float32).reshape(-1, wide)
    episode = Episodes(
        states[:-1], np.ones((rows, 5), np.float32), np.zeros(rows, np.float32), np.array([rows]), np.array([False]),
        states[-1:],
    )  # fmt: skip
    write_oracles(join([episode, episode]).cut(10), recipe, {}, tmp_path / "file.npz")
    with np.load(tmp_path / "file.npz") as file:
        np.testing.assert_array_equal(np.flatnonzero(file["terminals"]), [7, 11])
        assert file["button_states"].dtype == np.int64 and file["qpos"].shape == (12, 23)
        both = np.concatenate([file["observations"], file["qpos"], file["button_states"]], axis=1)
        np.testing.assert_array_equal(both, states[[0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3]])
        np.testing.assert_array_equal(file["actions"][:, 0], [1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 0])


def test_an_episode_depends_on_its_number_alone_and_its_file_is_rewarded_by_task(tmp_path):
    pytest.importorskip("ogbench")
    recipe = replace(find_recipe(NAME), horizon=40, width=2)
    player = OraclePlayer(recipe)
    first, second = (play_oracles(player, recipe, 0, 0, chunk) for chunk in (0, 1))
    again = play_oracles(player, recipe, 0, 0, 0)  # after others, in the same environment
    for name in ("observations", "actions", "finals"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
        assert not np.array_equal(getattr(first, name), getattr(second, name))
    assert np.abs(first.actions).max() <= 1 and first.actions.dtype == np.float32
    # An episode whose cube is at the target of task 2 in some states, and continues.
    made = {**make_order(NAME).notes(), "episodes": 2}
    observations = first.observations.copy()
    observations[10:13, 28 + 14 : 28 + 17] = (0.50, 0.01, 0.02)
    write_oracles(replace(first, observations=observations), recipe, {"made": made}, tmp_path / "file.npz")
    data = building.read_built(tmp_path / "file.npz", "rewind/ogbench-cube-single-play-task2-v0")
    np.testing.assert_array_equal(np.flatnonzero(data.terminals), [10, 11, 12])
    np.testing.assert_array_equal(data.rewards, np.where(data.terminals, 0, -1))
    assert data.lengths.tolist() == [40, 40] and data.observations.shape == (80, 28)
    assert data.notes["environment"] == "cube-single-singletask-task2-v0"
    assert load(tmp_path / "file.npz").notes["environment"] == "cube-single-singletask-v0"  # the default task


def test_what_a_reset_without_a_seed_or_another_episode_leaves_does_not_change_an_episode(monkeypatch):
    """A noisy oracle sees the old targets for one step after it gets another object."""
    pytest.importorskip("ogbench")
    recipe = replace(find_recipe("rewind/ogbench-scene-noisy-v0"), horizon=400, width=4)
    made = oracles.package_env

    def played(button, drawer, window):
        def leave(env):
            env = env.unwrapped
            env._target_button, env._target_button_states = button, np.array([button, 1])
            env._target_drawer_pos, env._target_window_pos = drawer, window
            env.model.site("drawer_handle_center_target").pos[1] = drawer
            env.model.site("window_handle_center_target").pos[0] = window

        def used(*args, **options):
            env = made(*args, **options)
            env.reset()
            leave(env)
            return env

        monkeypatch.setattr(oracles, "package_env", used)
        player = OraclePlayer(recipe)
        leave(player.env)
        return play_oracles(player, recipe, 0, 0, 0).actions

    np.testing.assert_array_equal(played(0, 0.0, 0.0), played(1, -0.16, 0.2))


@pytest.mark.long
def test_the_number_of_processes_does_not_change_the_data(tmp_path, monkeypatch):
    pytest.importorskip("ogbench")
    digests = set()
    for threads in (1, 3):
        monkeypatch.setenv("REWIND_DATA", str(tmp_path / str(threads)))
        path = building.build("rewind/ogbench-scene-noisy-v0", size=9000, threads=threads, progress=False)
        digests.add(building.read_built(path).digest)
    assert len(digests) == 1
