"""RLlib's JSON files, made exactly as its writer makes them; and files that lie."""

import json

import numpy as np
import pytest

pytest.importorskip("h5py")
pytest.importorskip("pyarrow")  # of the other layouts
from tests.data.layouts import rllib

from rewind import DataError, UsageError, load


@pytest.mark.parametrize("discrete", [True, False])
def test_a_file_is_its_episodes_with_true_successors_however_lines_cut_them(tmp_path, discrete):
    path, columns = rllib(tmp_path / "out.json", discrete=discrete)
    data = load(path)
    assert data.lengths.tolist() == [6, 3, 5] and data.terminated.tolist() == [True, False, True]
    assert data.final_known.all() and data.name == "out" and data.notes["boundaries"] == "column eps_id"
    for name, column in (("observations", "obs"), ("actions", "actions"), ("rewards", "rewards")):
        np.testing.assert_array_equal(getattr(data, name), columns[column])
    assert data.actions.dtype == (np.int64 if discrete else np.float32)
    np.testing.assert_array_equal(data.final_observations, columns["new_obs"][data.ends])
    assert data.notes["not_used"] == ["unroll_id", "action_logp", "infos"]


def test_lines_in_another_order_several_files_and_a_batch_of_one_policy_are_the_same_data(tmp_path):
    path, _ = rllib(tmp_path / "out.json")
    lines = path.read_text().splitlines()
    folder = tmp_path / "log"
    folder.mkdir()
    multi = {"type": "MultiAgentBatch", "count": 4, "policy_batches": {"default_policy": json.loads(lines[2])}}
    (folder / "output-2026-11-17_05-00-00_worker-1_0.json").write_text("\n".join([lines[0], "", json.dumps(multi)]))
    (folder / "output-2026-11-17_05-00-00_worker-2_0.json").write_text("\n".join([lines[3], lines[1]]) + "\n")
    one, other = load(path), load(folder)
    assert other.digest == one.digest and "not in order" in other.notes["sorted"] and other.name == "log"


def test_agents_of_one_episode_are_trajectories_of_their_own_and_ids_may_be_texts(tmp_path):
    path, _ = rllib(tmp_path / "out.json", lengths=(4, 4), terminated=(True, True), per_line=8)
    batch = json.loads(path.read_text())
    batch |= {"eps_id": ["ab"] * 8, "agent_index": [0] * 4 + [1] * 4}
    path.write_text(json.dumps(batch))
    assert load(path).lengths.tolist() == [4, 4]


def test_dones_of_an_earlier_version_are_split_by_the_rule_of_tables(tmp_path):
    path, _ = rllib(tmp_path / "old.json", lengths=(5, 3, 5, 5), terminated=(False, True, False, False), old=True)
    assert load(path).terminated.tolist() == [False, True, False, False]
    assert load(path, horizon=0).terminated.all()
    with pytest.raises(UsageError, match="keys makes no sense for this kind of data"):
        load(path, keys=["obs"])


def test_extras_are_kept_and_a_file_without_ends_is_one_line(tmp_path):
    path, columns = rllib(tmp_path / "out.json", per_line=14)
    data = load(path, extras=["action_logp"])
    np.testing.assert_array_equal(data.extras["action_logp"], columns["action_logp"].astype(np.float32))
    assert data.notes["not_used"] == ["unroll_id", "infos"]
    with pytest.raises(DataError, match="line 1: missing costs; the batch has: type, obs"):
        load(path, extras="costs")
    batch = json.loads(path.read_text())
    path.write_text(json.dumps({key: batch[key] for key in ("type", "obs", "actions", "rewards", "terminateds")}))
    with pytest.raises(
        DataError, match="the ends of its trajectories are unknown; expected one of the columns eps_id, t,"
    ):
        load(path)


def test_packed_columns_are_one_line_that_says_how_to_write_them_plainly(tmp_path):
    path, _ = rllib(tmp_path / "out.json", packed=["obs", "new_obs"])
    with pytest.raises(
        DataError, match=r"out\.json, line 1: obs is packed .*JsonWriter\(path, compress_columns=\[\]\)"
    ):
        load(path)
    batch = json.loads(path.read_text().splitlines()[0])
    path.write_text(json.dumps({**batch, "obs": ["BCJNGGhA"] * 4}))  # packed step by step
    with pytest.raises(DataError, match="obs is packed"):
        load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("del batch['rewards']", r"line 2: missing rewards; the batch has: type, obs, new_obs, actions, "),
        ("del batch['new_obs']", r"line 2: new_obs is on this line or on the first one, but not on both"),
        ("batch['t'].pop()", r"line 2: t has shape \(3,\), but there are 4 rewards"),
        ("batch['obs'][1].pop()", r"line 2: obs has steps of different shapes"),
        ("batch['obs'] = [[1.0, 2.0]] * 4", r"line 2: obs has shape \(2,\) in each step, on the first line \(4,\)"),
        ("batch['rewards'][2] = None", r"line 2: step 2, column rewards: null; expected a number for each step"),
        ("batch['rewards'][2] = float('nan')", r"line 2 step 2, column rewards: missing, NaN or infinite"),
        ("batch['new_obs'][0][1] = float('nan')", r"line 2 step 0, column new_obs: missing, NaN or infinite"),
        ("batch['terminateds'][0] = 2", r"line 2: terminateds is 2 at row 0; expected 0 or 1"),
        ("batch['t'][1] = 4", r"line 2 step 1: the same episode and time as line 2 step 0, but other values"),
        ("batch['obs'] = {'a': [[1.0]] * 4}", r"line 2: obs holds object; expected numbers"),
        ("batch['type'] = 'Episode'", r"line 2: not a batch of RLlib's: expected \{\"type\": \"SampleBatch\""),
        ("batch |= {'type': 'MultiAgentBatch', 'policy_batches': {'a': {}, 'b': {}}}", r"steps of 2 policies \(a, b\)"),
    ],
)  # fmt: skip
def test_a_file_that_lies_is_one_line(tmp_path, change, message):
    path, _ = rllib(tmp_path / "out.json")
    lines = path.read_text().splitlines()
    batch = json.loads(lines[1])
    exec(change, {"batch": batch})
    lines[1] = json.dumps(batch)
    path.write_text("\n".join(lines))
    with pytest.raises(DataError, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_what_is_not_such_a_file_is_one_line(tmp_path):
    path, _ = rllib(tmp_path / "out.json")
    half = path.read_bytes()[:-40]
    for content, message in (
        (half, r"line 4: invalid JSON \(cut or damaged\)"),
        (b"", "has no steps"),
        (b"[1, 2]", "line 1: not a batch of RLlib's"),
        (b"\x89HDF\r\n\xff", "line 1: invalid JSON"),
        (b"[" * 100_000, "line 1: invalid JSON"),
        (json.dumps({"type": "SampleBatch", "obs": [], "actions": [], "rewards": []}).encode(), "has no steps"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match=message) as caught:
            load(path)
        assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match=r"no file .*gone\.json"):
        load(tmp_path / "gone.json")
