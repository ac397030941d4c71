"""Real files, streams and environments; and what is wrong with a file is said."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.data.logs import ant_log, assert_equal, flat_log

from rewind import TrajectoryReplay
from rewind.data import from_d4rl, from_steps, load, load_hdf5, load_minari, save_hdf5, save_minari, save_npz
from rewind.data.catalogue import entry
from rewind.errors import DataError, MissingExtra, UsageError

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
KITCHEN, DOOR = SHARED / "kitchen-complete-v0.hdf5", SHARED / "door-human-demos.npz"


# Real files


@pytest.mark.skipif(not KITCHEN.exists(), reason="shared data is not here")
def test_kitchen_complete_is_what_its_readme_says():
    pytest.importorskip("h5py")
    data = load(KITCHEN)
    assert (len(data), data.rows) == (19, 3680)
    assert (data.observations.shape[1:], data.actions.shape[1:]) == ((60,), (9,))
    assert data.observations.dtype == data.actions.dtype == np.float32
    assert (data.returns.min(), data.returns.max(), round(data.returns.mean(), 1)) == (304, 355, 325.4)
    assert (data.rewards[data.ends] == 4).all()
    assert data.terminated.all() and data.name == "kitchen-complete-v0"


@pytest.mark.skipif(not DOOR.exists(), reason="shared data is not here")
def test_door_human_demonstrations_are_what_their_readme_says():
    data = load(DOOR)
    assert (len(data), data.rows) == (25, 6729)
    assert (data.observations.shape[1:], data.actions.shape[1:]) == ((39,), (28,))
    assert (round(data.returns.min()), round(data.returns.max()), round(data.returns.mean())) == (230, 1496, 794)
    assert np.abs(data.actions).max() > 1


@pytest.mark.skipif(not KITCHEN.exists(), reason="shared data is not here")
def test_real_ends_are_found_by_their_jumps_alone():
    """Flags taken away, the jump test finds every end of two real data sets, and nothing else."""
    pytest.importorskip("h5py")
    for data in (load(KITCHEN), load(DOOR)):
        columns = {name: getattr(data, name) for name in ("observations", "actions", "rewards")}
        columns["terminals"] = np.zeros(data.rows, bool)
        assert from_d4rl(columns, boundaries="flags+jump").ends.tolist() == data.ends.tolist()


# HDF5


@pytest.fixture
def write(tmp_path):
    h5py = pytest.importorskip("h5py")

    def write(columns, name="x.hdf5", **options):
        with h5py.File(tmp_path / name, "w") as file:
            for key, value in columns.items():
                file.create_dataset(key, data=value, **options)
            file["metadata/policy/weights"] = np.ones(3)
            file["infos/qpos"] = np.ones((7, 2))
        return tmp_path / name

    return write


@pytest.mark.parametrize("successors", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_file_is_read_like_its_columns(write, successors, dtype):
    log = flat_log([3, 4, 2], [True, False, False], successors=successors)
    log = {key: value.astype(dtype) if value.dtype.kind == "f" else value for key, value in log.items()}
    for options in ({}, {"compression": "gzip", "chunks": True}):
        data = load(write(log, **options))
        assert_equal(data, from_d4rl(log))
        assert data.notes == {"boundaries": "flags", "not_used": ["infos", "metadata"]}


def test_rules_reach_the_file(write):
    log, _ = ant_log(episodes=8)
    for rule in ("flags", "flags+jump", "timeouts_only"):
        for merge in (False, True):
            data = load(write(log), boundaries=rule, merge_fragments=merge)
            assert_equal(data, from_d4rl(log, boundaries=rule, merge_fragments=merge))
            assert data.notes["boundaries"] == rule and ("merged_fragments" in data.notes) == merge


def test_a_catalogued_file_is_read_by_its_own_rule(write, tmp_path, monkeypatch):
    log, _ = ant_log(episodes=8)
    known = entry("antmaze-umaze-v0")
    path = write(log, known.file)
    monkeypatch.setenv("REWIND_DATA", str(tmp_path))
    for source in (known.name, path):
        data = load(source)
        assert data.name == known.name
        assert data.notes["boundaries"] == "flags+jump" and data.notes["merged_fragments"] > 0
    by_flags = load(known.name, boundaries="flags", merge_fragments=False)
    assert by_flags.notes == {"boundaries": "flags", "not_used": ["infos", "metadata"]}


def test_the_papers_choice_goes_by_the_label_of_a_catalogued_or_rebuilt_set(capsys):
    log = flat_log([5, 5], [True, False])  # dense rewards
    for name, chosen in (
        ("pen-cloned-v1", "avg_reward"),
        ("rewind/pen-expert-v0", "avg_reward"),
        ("hopper-medium-v2", "lower_uqm_unc"),
        ("rewind/hopper-medium-v0", "lower_uqm_unc"),
        ("something else", "lower_uqm_unc"),
    ):
        memory = TrajectoryReplay(priority="paper", seed=0)
        memory.load_offline_dataset(from_d4rl(log, name))
        assert memory.choice.priority == chosen
        assert ("catalogue" in memory.choice.because) == (name != "something else")


def test_a_truncated_file(write):
    path = write(flat_log([300, 400], [True, False], size=20))
    whole = path.read_bytes()
    for share in (0.3, 0.9):
        path.write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises(DataError, match=r"x\.hdf5 is not a readable HDF5 file \(cut, damaged"):
            load(path)


def test_a_text_file_with_the_name_of_an_hdf5_file(tmp_path):
    pytest.importorskip("h5py")
    (tmp_path / "page.hdf5").write_text("<html>Please log in</html>")
    with pytest.raises(DataError, match="not a readable HDF5 file"):
        load(tmp_path / "page.hdf5")


@pytest.mark.parametrize("key", ["observations", "actions", "rewards", "terminals"])
def test_a_missing_key(write, key):
    log = flat_log([3, 4], [True, False])
    del log[key]
    with pytest.raises(DataError, match=rf"x\.hdf5: missing {key}; the data has: .*timeouts"):
        load(write(log))


def test_columns_of_different_lengths(write):
    log = flat_log([3, 4], [True, False])
    log["actions"] = log["actions"][:-1]
    with pytest.raises(DataError, match="actions has 6 rows, but rewards has 7"):
        load(write(log))
    log = flat_log([3, 4], [True, False])
    log["next_observations"] = log["next_observations"][:, :1]
    with pytest.raises(DataError, match="next_observations has shape"):
        load(write(log))


def test_a_group_where_an_array_should_be(write):
    log = flat_log([3, 4], [True, False])
    del log["rewards"]
    log["rewards/extrinsic"] = np.ones(7)
    with pytest.raises(DataError, match="rewards is not an array"):
        load(write(log))


def test_missing_terminals_are_explained(write):
    log = flat_log([3, 4], [True, False])
    del log["terminals"]
    with pytest.raises(DataError, match=r"missing terminals; the data has: .*rewards.*where an episode really ended"):
        load(write(log))


def test_names_that_lead_nowhere(tmp_path):
    with pytest.raises(DataError, match=r"no file .*x\.hdf5"):
        load(tmp_path / "x.hdf5")
    with pytest.raises(DataError, match="no file or folder"):
        load(tmp_path / "nothing")
    with pytest.raises(UsageError, match="did you mean 'hopper-medium-v2'"):
        load("hoper-medium-v2")
    kinds = r"is not a folder that can be read; expected .*data/metadata\.json.*info\.json.*output-.*\(rewind\.json\)"
    with pytest.raises(DataError, match=kinds + "$"):
        load(tmp_path)
    (tmp_path / "tables").mkdir()
    for name in ("b.csv", "a.csv", "notes.txt"):
        (tmp_path / "tables" / name).touch()
    with pytest.raises(DataError, match=kinds + r"; of its files give one, such as .*tables.a\.csv$"):
        load(tmp_path / "tables")
    (tmp_path / "x.log").write_text("1,2")
    with pytest.raises(DataError, match=r"unknown kind of file '\.log'.*known: .*\.csv.*docs/data.md, tables"):
        load(tmp_path / "x.log")
    with pytest.raises(DataError, match="cannot read trajectories from int"):
        load(3)


def test_options_that_make_no_sense_are_refused(tmp_path):
    data = from_d4rl(flat_log([3], [True]))
    save_npz(data, tmp_path / "x.npz")
    for source, options in (
        (data, {"boundaries": "flags"}),
        (list(data.episodes()), {"merge_fragments": True}),
        (flat_log([3], [True]), {"keys": ["observation"]}),
        (tmp_path / "x.npz", {"boundaries": "flags"}),
        (tmp_path / "x.npz", {"keys": ["observation"]}),
    ):
        with pytest.raises(UsageError, match="leave"):
            load(source, **options)


def test_a_missing_library_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "h5py", None)
    monkeypatch.setitem(sys.modules, "minari", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "x.hdf5").touch()
    (tmp_path / "x.csv").touch()
    with pytest.raises(MissingExtra, match=r"\[table\]"):
        load(tmp_path / "x.csv")
    with pytest.raises(MissingExtra, match=r"\[hdf5\]"):
        load(tmp_path / "x.hdf5")
    with pytest.raises(MissingExtra, match=r"\[minari\]"):
        load("D4RL/door/human-v2")


MEASURE = """
import sys
from rewind.data import load

def status(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key))

small, large, rule = sys.argv[1:]
options = {"boundaries": rule, "merge_fragments": True} if rule != "flags" else {}
load(small, **options)  # what the libraries themselves take
before = status("VmRSS")
data = load(large, **options)
print((status("VmHWM") - before) / data.nbytes)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux to measure memory")
@pytest.mark.parametrize(
    ("kind", "rule"), [("f4", "flags"), ("f8", "flags"), ("f4", "flags+jump"), ("npz", "flags"), ("minari", "flags")]
)
def test_reading_a_million_transitions_takes_at_most_one_and_a_half_times_their_arrays(
    tmp_path, kind, rule, monkeypatch
):
    h5py = pytest.importorskip("h5py")
    if kind == "minari":
        pytest.importorskip("minari")
        monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    rng = np.random.default_rng(0)
    source = {}
    for name, rows in (("small", 5_000), ("large", 1_000_000)):
        observations = np.cumsum(rng.normal(size=(rows, 11)).astype("f4"), axis=0)
        columns = {
            "observations": observations,
            "next_observations": np.roll(observations, -1, axis=0),
            "actions": rng.random((rows, 3)).astype("f4"),
            "rewards": rng.random(rows).astype("f4"),
            "terminals": np.zeros(rows, bool),
            "timeouts": np.arange(1, rows + 1) % 1000 == 0,
        }
        if rule != "flags":  # the test by step size, not by successors
            del columns["next_observations"]
        source[name] = tmp_path / f"{name}.{'npz' if kind == 'npz' else 'hdf5'}"
        if kind == "npz":
            save_npz(from_d4rl(columns), source[name])
            continue
        if kind == "minari":
            source[name] = save_minari(from_d4rl(columns), f"{name}-v0")
            continue
        with h5py.File(source[name], "w") as file:
            for key, value in columns.items():
                file[key] = value.astype(kind) if value.dtype.kind == "f" else value
    command = [sys.executable, "-c", MEASURE, str(source["small"]), str(source["large"]), rule]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    peak = float(done.stdout)
    print(f"peak {peak:.3f} times the arrays")
    assert 0.9 < peak <= 1.5


# Minari


@pytest.fixture
def dict_set(tmp_path, monkeypatch):
    """A small Minari data set with dict observations, made by Minari's own means."""
    minari = pytest.importorskip("minari")
    gymnasium = pytest.importorskip("gymnasium")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    spaces = gymnasium.spaces
    parts = {"observation": (3,), "achieved_goal": (2,), "grid": (2, 2)}
    space = spaces.Dict({key: spaces.Box(-np.inf, np.inf, shape) for key, shape in parts.items()})
    rng = np.random.default_rng(0)
    buffers = [
        minari.data_collector.EpisodeBuffer(
            observations={key: rng.normal(size=(length + 1, *shape)).astype("f4") for key, shape in parts.items()},
            actions=rng.normal(size=(length, 2)).astype("f4"),
            rewards=rng.normal(size=length),
            terminations=np.arange(length) == (length - 1 if length == 4 else -1),
            truncations=np.arange(length) == (length - 1 if length != 4 else -1),
        )
        for length in (4, 2)
    ]
    with pytest.warns(UserWarning):
        made = minari.create_dataset_from_buffers(
            "maze/test-v1", buffers, observation_space=space, action_space=spaces.Box(-1, 1, (2,))
        )
    return made, buffers


def test_dict_observations_stay_dicts_unless_keys_are_chosen(dict_set):
    _, buffers = dict_set
    data = load("maze/test-v1")
    assert list(data.observations) == ["achieved_goal", "grid", "observation"]
    for key, part in data.observations.items():
        np.testing.assert_array_equal(part[:4], buffers[0].observations[key][:4])
        np.testing.assert_array_equal(data.final_observations[key][1], buffers[1].observations[key][-1])
    save_minari(data, "maze/again-v0")
    assert load("maze/again-v0").digest == data.digest
    with pytest.raises(UsageError, match="the observations have"):
        load("maze/test-v1", keys=["observation", "goal"])


def test_dict_observations_are_put_side_by_side_in_the_order_given(dict_set):
    made, buffers = dict_set
    for source in (made, "maze/test-v1"):
        data = load(source, keys=["observation", "grid"])
        first = buffers[0].observations
        expected = np.concatenate([first["observation"], first["grid"].reshape(5, 4)], axis=1)
        np.testing.assert_array_equal(data.observations[:4], expected[:4])
        np.testing.assert_array_equal(data.final_observations[0], expected[4])
        assert data.lengths.tolist() == [4, 2]
        assert data.terminated.tolist() == [True, False] and data.final_known.all()
        assert data.notes["keys"] == ["observation", "grid"]


def test_part_of_a_minari_set(dict_set):
    made, _ = dict_set
    data = load_minari(made.filter_episodes(lambda episode: len(episode) == 2), keys=["observation"])
    assert data.lengths.tolist() == [2]


def test_a_minari_set_that_is_not_here(tmp_path, monkeypatch):
    pytest.importorskip("minari")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    with pytest.raises(DataError, match="minari download D4RL/door/human-v2"):
        load("D4RL/door/human-v2")
    (tmp_path / "x" / "data").mkdir(parents=True)
    (tmp_path / "x" / "data" / "metadata.json").write_text("{}")
    with pytest.raises(DataError, match="cannot be read as a Minari data set"):
        load(tmp_path / "x")


# Streams and environments


def steps_of(log):
    columns = (log[key] for key in ("observations", "actions", "rewards", "next_observations", "terminals", "timeouts"))
    return zip(*columns, strict=True)


def test_a_stream_of_steps_is_read_like_the_flat_log():
    log = flat_log([3, 1, 4], [True, False, False])
    assert_equal(from_steps(steps_of(log)), from_d4rl(log))


def test_a_stream_that_breaks_off_is_cut_there_with_its_final_observation_known():
    log = flat_log([3, 4], [False, False])
    log["timeouts"][:] = False
    data = from_steps(steps_of(log))
    assert data.lengths.tolist() == [3, 4]
    np.testing.assert_array_equal(data.final_observations, log["next_observations"][[2, 6]])


def test_a_stream_may_change_its_precision_on_the_way():
    log = flat_log([5], [True])
    log["observations"] = log["observations"].astype(np.float64)
    assert from_steps(steps_of(log)).lengths.tolist() == [5]


def test_a_step_that_is_none():
    with pytest.raises(DataError, match="step 0 is not"):
        from_steps([(1, 2, 3)])
    with pytest.raises(DataError, match="empty"):
        from_steps([])


def test_the_recorder_keeps_what_the_environment_did():
    gymnasium = pytest.importorskip("gymnasium")
    from rewind.data.recorder import RecordEpisodes

    env = RecordEpisodes(gymnasium.make("CartPole-v1", max_episode_steps=12))
    seen = []
    for episode in range(6):
        observation, _ = env.reset(seed=episode)
        ended, step = False, 0
        while not ended and not (episode == 5 and step == 3):  # the last one stays under way
            action = 1 if episode % 2 else step % 2
            successor, reward, terminated, truncated, _ = env.step(action)
            seen.append((observation, action, reward, successor, terminated, truncated))
            observation, ended, step = successor, terminated or truncated, step + 1
    data = env.trajectories("cart")
    assert_equal(data, from_steps(seen))
    assert len(data) == 6 and data.lengths[-1] == 3 and data.name == "cart"
    assert data.terminated.any() and not data.terminated.all() and data.final_known.all()
    env.reset()
    assert len(env.trajectories()) == 6, "a reset cuts, and keeps, what was under way"
    save = data.fingerprint
    env.step(0)
    assert data.fingerprint == save


def test_the_recorder_keeps_dicts_or_the_keys_that_are_chosen():
    gymnasium = pytest.importorskip("gymnasium")
    from rewind.data.recorder import RecordEpisodes

    class Maze(gymnasium.Env):
        observation_space = gymnasium.spaces.Dict(
            {"at": gymnasium.spaces.Box(-9, 9, (2,)), "goal": gymnasium.spaces.Box(-9, 9, (1,))}
        )
        action_space = gymnasium.spaces.Box(-1, 1, (2,))
        now = np.zeros(2, np.float32)  # written into, as simulators do

        def observe(self):
            return {"at": self.now, "goal": np.ones(1, np.float32)}

        def reset(self, *, seed=None, options=None):
            self.now[:] = 0
            return self.observe(), {}

        def step(self, action):
            self.now += action
            return self.observe(), 1.0, bool(self.now[0] > 2), False, {}

    env, whole = RecordEpisodes(Maze(), keys=["goal", "at"]), RecordEpisodes(Maze())
    for each in (env, whole):
        assert set(each.reset()[0]) == {"at", "goal"}
        for _ in range(3):
            each.step(np.array([1, 0], np.float32))
    data = env.trajectories()
    assert np.array_equal(whole.trajectories().observations["at"], data.observations[:, 1:])
    assert data.observations.tolist() == [[1, 0, 0], [1, 1, 0], [1, 2, 0]]
    assert data.final_observations.tolist() == [[1, 3, 0]] and data.terminated.all()
    with pytest.raises(UsageError, match="reset"):
        env.step(np.zeros(2, np.float32))


def test_a_memory_loads_files_directly(tmp_path):
    pytest.importorskip("h5py")
    data = from_d4rl(flat_log([3, 4], [True, False]))
    save_hdf5(data, tmp_path / "x.hdf5")
    memory = TrajectoryReplay(seed=0)
    memory.load_offline_dataset(str(tmp_path / "x.hdf5"))
    assert memory.sample(2).indices.tolist() in ([2, 6], [6, 2])
    assert load_hdf5(tmp_path / "x.hdf5").fingerprint == data.fingerprint


def test_the_recipe_of_the_docs_reads_rlds_steps_without_the_invalid_last_action():
    page = (Path(__file__).parents[2] / "docs/data/rlds.md").read_text(encoding="utf-8")
    recipe = page.partition("```python\n")[2].partition("```")[0]

    def steps(length, terminal):
        for at in range(length + 1):
            last = at == length
            yield {
                "observation": {"state": np.full(2, at, np.float32)}, "action": np.full(1, 99.0 if last else at),
                "reward": 99.0 if last else 1.0, "is_first": at == 0, "is_last": last, "is_terminal": last and terminal,
            }  # fmt: skip

    found = {"episodes": [{"steps": steps(3, True)}, {"steps": steps(2, False)}, {"steps": steps(0, True)}]}
    exec(recipe, found)
    data = found["data"]
    assert data.lengths.tolist() == [3, 2] and data.terminated.tolist() == [True, False] and data.final_known.all()
    assert data.rewards.max() == 1 and data.actions.max() == 2 and data.final_observations[:, 0].tolist() == [3, 2]
