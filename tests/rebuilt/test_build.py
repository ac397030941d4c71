"""Building: the same arrays however many processes play, and a cache that survives what happens to caches."""

import errno
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rewind import DataError, UsageError
from rewind.cli.data import DataBuild
from rewind.data import load, save_npz
from rewind.errors import CacheError
from rewind.rebuilt import build as building
from rewind.rebuilt import orders
from rewind.rebuilt.build import build, load_rebuilt, read_built
from rewind.rebuilt.orders import make_order
from rewind.rebuilt.policy import BehaviourPolicy
from rewind.rebuilt.recipes import GIVEN
from rewind.rebuilt.recipes import recipes as find_recipes
from tests.rebuilt.policies import random_policy, shorten, write_policies

pytest.importorskip("gymnasium")

POINT = "rewind/pointmaze-umaze-v0"
SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache folder of the test's own, and a short recipe."""
    monkeypatch.setenv("REWIND_DATA", str(tmp_path / "cache"))
    shorten(monkeypatch, POINT, width=4, horizon=40, size=400)
    return tmp_path / "cache"


def names(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def command(*arguments):
    """`rewind data build` as another process."""
    program = [sys.executable, "-m", "rewind.cli", "data", "build", *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), *sys.path])}
    return subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )


def steady(value, actions=3, observations=11):
    """Always the same action."""
    return BehaviourPolicy(
        [np.zeros((observations, actions))], [np.full(actions, value)], log_std=np.full(actions, -20.0)
    )


@pytest.mark.parametrize("name", [POINT, "rewind/hopper-medium-expert-v1", "rewind/antmaze-umaze-v1"])
def test_the_same_arrays_at_any_number_of_processes(name, tmp_path, monkeypatch):
    if name != POINT:
        pytest.importorskip("mujoco")
        task = "ant" if "ant" in name else "hopper"
        names = ("v1/hopper-medium", "hopper-expert", "v1/ant-fast", "v1/ant-slow")
        folder = write_policies(tmp_path / "policies", task, *names)
        monkeypatch.setattr(orders, "POLICIES", folder)
        shorten(monkeypatch, name, width=3, horizon=30, size=300)
    one, two = (read_built(build(name, threads=threads, force=True)) for threads in (1, 2))
    assert one.digest == two.digest == one.notes["digest"]
    assert one.rows == one.notes["made"]["recipe"]["size"] and one.final_known.all()
    other = read_built(build(name, seed=1))
    assert other.digest != one.digest
    if "ant" in name:  # the goal is another too
        goals = [data.notes["made"]["recipe"]["maze"]["target"] for data in (one, two, other)]
        assert goals[0] == goals[1] != goals[2]


def test_a_smaller_size_is_the_beginning_of_a_larger_one(tmp_path):
    pytest.importorskip("mujoco")
    random_policy(11, 3).save(tmp_path / "p.npz")
    sizes = (100, 170)
    small, large = (
        read_built(build("rewind/hopper-medium-v0", size=size, policy=tmp_path / "p.npz", threads=1)) for size in sizes
    )
    assert (small.rows, large.rows) == sizes
    np.testing.assert_array_equal(small.observations, large.observations[:100])
    np.testing.assert_array_equal(small.actions, large.actions[:100])
    np.testing.assert_array_equal(small.successors(np.arange(100)), large.successors(np.arange(100)))
    assert not small.terminated[-1] or large.ends[len(small) - 1] == 99


def test_medium_replay_takes_the_checkpoints_in_the_order_of_their_numbers_with_equal_shares(tmp_path, monkeypatch):
    pytest.importorskip("mujoco")
    (tmp_path / "policies").mkdir()
    for number, value in ((10, 0.3), (9, 0.2), (0, 0.1)):
        steady(value).save(tmp_path / "policies" / f"hopper-replay-{number}.npz")
    monkeypatch.setattr(orders, "POLICIES", tmp_path / "policies")
    shorten(monkeypatch, "rewind/hopper-medium-replay-v0", width=2)
    data = read_built(build("rewind/hopper-medium-replay-v0", size=100, threads=1))
    np.testing.assert_allclose(data.actions[:, 0], np.repeat([0.1, 0.2, 0.3], [33, 33, 34]), atol=1e-3)
    made = data.notes["made"]["policies"]
    assert [one["name"] for one in made] == ["hopper-replay-0", "hopper-replay-9", "hopper-replay-10"]
    assert [one["transitions"] for one in made] == [33, 33, 34]
    assert data.lengths.sum() == 100 and {33, 66, 100} <= set(np.cumsum(data.lengths).tolist())


def test_every_shipped_policy_makes_a_set_and_a_set_of_several_policies_needs_no_file_twice():
    names = [name for name, recipe in find_recipes().items() if GIVEN not in recipe.policies]
    used = {part.path for name in names for part in make_order(name).parts if part.path is not None}
    assert used == set(orders.POLICIES.rglob("*.npz"))
    assert len({path.read_bytes() for path in used}) == len(used)
    assert sum(path.stat().st_size for path in used) < 11e6  # nearly all of the wheel, which stays below 12 MB
    replay = [part.name for part in make_order("rewind/hopper-medium-replay-v1").parts]
    assert replay == [*(f"v1/hopper-replay-{stage:02}" for stage in range(10)), "v1/hopper-medium"]


def test_playing_on_after_the_own_goal_is_another_set_of_full_episodes():
    stopped, going = (read_built(build(POINT, keep_going=on, threads=1)) for on in (False, True))
    assert going.notes["made"]["recipe"]["maze"]["stop"] is False
    assert going.notes["made"]["episodes"] == 10  # of 40 steps each
    assert stopped.notes["made"]["reached_own_goal"] > 0.5 and stopped.notes["made"]["episodes"] > 10
    with pytest.raises(UsageError, match="keep_going is for mazes"):
        build("rewind/hopper-random-v0", keep_going=True)


def test_what_is_there_is_used_and_force_makes_it_again(cache, capfd):
    data = load(POINT)
    assert "building" in capfd.readouterr().err
    (file,) = cache.glob("*.npz")
    before = file.stat().st_mtime_ns
    assert load(POINT).digest == data.digest and data.name == POINT
    assert file.stat().st_mtime_ns == before and "building" not in capfd.readouterr().err
    build(POINT, force=True, threads=1)
    assert file.stat().st_mtime_ns > before and load(POINT).digest == data.digest
    assert names(cache) == [file.name]


def test_an_altered_or_cut_file_is_refused(cache):
    data = load(POINT)
    (file,) = cache.glob("*.npz")
    with np.load(file) as archive:
        arrays = dict(archive)
    arrays["rewards"][7] += 1
    np.savez(file, **arrays)
    with pytest.raises(DataError, match=r"altered or damaged.*delete rewind-pointmaze.*build it again"):
        load(POINT)
    with pytest.raises(DataError, match="altered or damaged"):
        load(file)  # by its path, which is the way to train on a smaller one
    save_npz(replace(data, rewards=arrays["rewards"]), file)  # honest, but not what the name means
    assert load(file).rewards[7] == data.rewards[7] + 1
    with pytest.raises(DataError, match="is not a rebuilt data set"):
        load(POINT)
    save_npz(data, file)
    file.write_bytes(file.read_bytes()[:-1000])
    with pytest.raises(DataError, match=r"not a readable \.npz file.*build it again"):
        load(POINT)


def test_the_build_of_an_earlier_version_names_the_later_one(tmp_path, monkeypatch, capsys):
    pytest.importorskip("mujoco")
    files = write_policies(tmp_path / "policies", "hopper", "hopper-medium", "v1/hopper-medium")
    monkeypatch.setattr(orders, "POLICIES", files)
    for version, named in ((0, True), (1, False)):
        shorten(monkeypatch, name := f"rewind/hopper-medium-v{version}", width=2, horizon=10, size=20)
        DataBuild(name).run()
        printed = capsys.readouterr().out
        assert ("Use rewind/hopper-medium-v1 otherwise" in printed) == named and "fragments" not in printed
    DataBuild(POINT).run()
    assert "fragments" in capsys.readouterr().out  # as D4RL counts in mazes


def test_two_builders_at_once_make_it_once(cache):
    arguments = (POINT, "--size", "10000", "--threads", "1")
    both = [command(*arguments) for _ in range(2)]
    outputs = [process.communicate(timeout=100) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert sum("building" in error for _, error in outputs) == 1
    digests = [next(line for line in out.splitlines() if line.startswith("digest")) for out, _ in outputs]
    assert digests[0] == digests[1] and len(names(cache)) == 1


def test_ctrl_c_leaves_whole_chunks_and_the_same_command_goes_on_to_the_same_data(cache, tmp_path, monkeypatch):
    arguments = (POINT, "--size", "20000", "--threads", "1")
    process = command(*arguments)
    deadline = time.monotonic() + 60
    while not list(cache.glob(".*.chunks/0*.npz")) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130 and "stopped" in error and "resumes from there" in error
    assert not list(cache.glob("*.npz"))
    kept = [path.stat().st_mtime_ns for path in cache.glob(".*.chunks/0*.npz")]
    assert kept
    process = command(*arguments)
    assert process.wait(timeout=100) == 0
    assert names(cache) == [file.name for file in cache.glob("*.npz")]
    went_on = read_built(next(cache.glob("*.npz")))
    monkeypatch.setenv("REWIND_DATA", str(tmp_path / "other"))
    process = command(*arguments)
    assert process.wait(timeout=100) == 0
    assert read_built(next((tmp_path / "other").glob("*.npz"))).digest == went_on.digest


def test_kept_chunks_of_other_versions_or_that_are_damaged_are_made_again(cache, monkeypatch):
    expected = load(POINT).digest
    (file,) = cache.glob("*.npz")
    for versions in ("{}", None):
        file.unlink()
        chunks = file.with_name(f".{file.name}.chunks")
        chunks.mkdir()
        building.write_json(chunks / building.VERSIONS, building.versions())
        if versions:
            (chunks / building.VERSIONS).write_text(versions)
        (chunks / "000-000000.npz").write_bytes(b"damaged")
        assert load(POINT).digest == expected


def test_a_folder_that_cannot_be_written_is_an_error_that_says_what_to_do(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    folders = [tmp_path / "file" / "cache"]
    if os.geteuid() != 0:  # root writes everywhere
        (tmp_path / "read-only").mkdir(mode=0o555)
        folders.append(tmp_path / "read-only")
    for folder in folders:
        monkeypatch.setenv("REWIND_DATA", str(folder))
        with pytest.raises(CacheError, match=r"cannot be written to .*set \$REWIND_DATA"):
            load(POINT)


def test_a_full_disk_leaves_nothing_behind(cache, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(building, "_collect", full)
        with pytest.raises(CacheError, match=r"No space left on device; set \$REWIND_DATA"):
            load(POINT)
    assert names(cache) == []
    with monkeypatch.context() as patched:
        patched.setattr(building, "save_npz", full)
        with pytest.raises(CacheError, match="No space left"):
            load(POINT)
    assert names(cache) == []


def test_unknown_names_get_the_nearest():
    for use in (load, build, load_rebuilt):
        with pytest.raises(
            UsageError, match=r"unknown (rebuilt )?data set 'rewind/hoper-medium-v0': did you mean 'rewind/hop"
        ):
            use("rewind/hoper-medium-v0")


def test_a_policy_that_does_not_fit_is_refused(tmp_path, monkeypatch, cache):
    pytest.importorskip("mujoco")
    random_policy(5, 3).save(tmp_path / "p.npz")
    with pytest.raises(
        DataError, match=r"takes 5 numbers and returns 3; rewind/hopper-medium-v0 needs .* 11 and returns 3"
    ):
        build("rewind/hopper-medium-v0", size=50, policy=tmp_path / "p.npz", threads=1)
    with pytest.raises(DataError, match="needs one that takes 29 and returns 8"):
        build("rewind/antmaze-umaze-v0", size=50, policy=tmp_path / "p.npz", threads=1)
    assert names(cache) == []
    for name in ("rewind/hopper-random-v0", "rewind/hopper-medium-expert-v0", POINT):
        with pytest.raises(UsageError, match="it takes no --policy"):
            build(name, policy=tmp_path / "p.npz")
    with pytest.raises(UsageError, match=r"rewind data build rewind/pen-expert-v0 --policy FILE"):
        load("rewind/pen-expert-v0")
    with pytest.raises(UsageError, match="give one with --policy FILE"):
        build("rewind/pen-expert-v0")
    monkeypatch.setattr(orders, "POLICIES", tmp_path)
    with pytest.raises(DataError, match=r"needs the policy .*hopper-expert\.npz"):
        build("rewind/hopper-expert-v0")


@pytest.mark.parametrize("wrong", [{"size": 0}, {"seed": -1}, {"threads": 0}])
def test_numbers_that_make_no_sense_are_refused(wrong):
    with pytest.raises(UsageError, match=f"{next(iter(wrong))} is"):
        build(POINT, **wrong)
