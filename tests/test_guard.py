"""Guards: what a policy does where its training data ends."""

from dataclasses import replace

import numpy as np
import pytest

import rewind
from rewind.guard import support_of
from tests.protection.facts import FIXTURES

RNG = np.random.default_rng(0)
INSIDE = RNG.uniform(0, 10, (5000, 1)).astype(np.float32)
# Two sensors that agree, a rare one, and one that never moves
DATA = np.hstack([INSIDE, INSIDE + RNG.normal(0, 0.1, INSIDE.shape), RNG.random(INSIDE.shape) < 0.02, 0 * INSIDE + 7])
DATA = DATA.astype(np.float32)
ACTIONS = RNG.uniform([10, 0], [60, 1], (5000, 2)).astype(np.float32)


def made(discrete=False, actions=ACTIONS, scale=1.0):
    """A random policy whose actions may leave those of the data."""
    rng, size = np.random.default_rng(1), actions.shape[1]
    layers = ([rng.normal(0, scale, (4, 16)), rng.normal(0, scale, (16, size))], [np.ones(16), np.zeros(size)])
    bounds = (-1, 1) if discrete else ([0, 0], [100, 1])
    return rewind.Policy(*layers, DATA.mean(0), DATA.std(0) + 1, *bounds, {}, discrete, support_of(DATA, actions))


ROWS = np.tile(DATA[:1], (6, 1))
ROWS[1:] = [[10.4, 10.3, 0, 7], [11, 11, 0, 7], [9, 1, 0, 7], [np.nan, 5, 0, 7], [5, 5, 0, 7.1]]
OUTSIDE = [False, False, True, True, True, True]


def test_the_data_is_inside_and_what_leaves_it_is_outside():
    support = made().support
    assert (support.novelty(DATA) <= 1).mean() >= 0.999
    assert (support.novelty(ROWS) > 1).tolist() == OUTSIDE
    assert support.novelty([np.inf, 5, 0, 7]) == np.inf
    assert support.explain(ROWS[0]) == ""
    assert support.explain(ROWS[2]).startswith("column 0 is 11; the training data goes from -0.4")
    assert "do not fit each other" in support.explain(ROWS[3]) and "column 0 is nan" in support.explain(ROWS[4])


def test_new_data_of_the_same_kind_is_rarely_outside():
    half = RNG.permutation(DATA)
    support = support_of(half[:2500], ACTIONS[:2500])
    assert (support.novelty(half[2500:]) > 1).mean() < 0.005


@pytest.mark.parametrize("seed", range(40))
def test_data_of_any_size_and_scale_is_inside_itself(seed):
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.choice([1, 2, 5, 500])), int(rng.integers(1, 20))
    mixed = rng.standard_normal((rows, columns)) @ rng.choice([-1.0, 0.0, 1.0], (columns, columns))
    offsets = 10.0 ** rng.uniform(-8, 7, columns) * rng.choice([-1, 0, 1], columns)
    data = (mixed * 10.0 ** rng.uniform(-8, 8, columns) + offsets).astype(np.float32)
    outside = support_of(data, data).novelty(data) > 1
    assert outside.sum() <= max(1, 0.001 * rows) * (rows > 5)


@pytest.mark.parametrize("fallback", [[20, 0.5], 20, lambda rows: np.full((len(rows), 2), 20)])
def test_a_guarded_policy_is_the_policy_inside_and_the_fallback_outside(tmp_path, fallback):
    policy = rewind.load_policy(made().save(tmp_path))
    guarded = rewind.load_policy(tmp_path, fallback=fallback)
    actions, fell_back = guarded.act(ROWS)
    assert fell_back.tolist() == OUTSIDE and (actions[2:, 0] == 20).all()
    assert np.array_equal(actions[:2], policy(ROWS[:2])) and np.array_equal(guarded(ROWS[2]), actions[2])
    assert np.array_equal(guarded(ROWS.reshape(2, 3, 4)), actions.reshape(2, 3, 2))
    assert np.isfinite(policy.action_low).all() and guarded.policy.provenance == {}
    wide = rewind.load_policy(tmp_path, fallback=fallback, limit=1.5)
    assert wide.outside(ROWS[[2, 3]]).tolist() == [False, True]


def test_clipped_actions_are_within_those_of_the_data(tmp_path):
    policy = rewind.load_policy(made(scale=3.0).save(tmp_path))
    clipped = rewind.load_policy(tmp_path, clip=True)
    free, kept = policy(DATA), clipped(DATA)
    assert free[:, 0].max() > 61 and free[:, 0].min() < 9
    assert np.array_equal(kept, np.clip(free, ACTIONS.min(0), ACTIONS.max(0)))
    assert rewind.load_policy(clipped.save(tmp_path / "again")).clip


def test_a_clipped_discrete_policy_takes_no_action_that_the_data_lacks():
    taken = np.eye(4, dtype=np.float32)[RNG.choice([0, 2], 5000)]
    policy = made(discrete=True, actions=taken)
    assert set(policy(DATA)) - {0, 2}
    clipped = replace(policy, clip=True)
    assert set(clipped(DATA)) == {0, 2}
    guarded = rewind.GuardedPolicy(clipped, 3)
    assert np.array_equal(guarded(ROWS) == 3, OUTSIDE)


@pytest.mark.parametrize(
    ("fallback", "message"),
    [
        ([1, 2, 3], r"expected finite numbers of shape \(2,\)"),
        (np.nan, "finite numbers"),
        (lambda rows: np.zeros(2), r"of shape \(4, 2\)"),
    ],
)
def test_a_fallback_that_is_no_action_gets_one_line(fallback, message):
    with pytest.raises(rewind.UsageError, match=message):
        rewind.GuardedPolicy(made(), fallback)(ROWS)
    with pytest.raises(rewind.UsageError, match="whole numbers from 0 to 1"):
        rewind.GuardedPolicy(made(discrete=True), 2)
    with pytest.raises(rewind.UsageError, match="limit is 0; expected a number above 0"):
        rewind.GuardedPolicy(made(), 0, limit=0)


def test_a_fallback_outside_the_actions_of_the_data_is_a_warning(recwarn):
    with pytest.warns(match=r"the fallback, \[20.0, 5.0\], is outside the actions of the data: -?[\d.]+ to [\d.]+, "):
        rewind.GuardedPolicy(made(), [20, 5])
    recwarn.clear()
    rewind.GuardedPolicy(made(), [20, 0.5])
    rewind.GuardedPolicy(made(discrete=True), 1)
    assert not recwarn.list


def test_an_old_policy_can_be_guarded_against_nan_alone():
    old = FIXTURES / "policies" / "td3_bc"
    for asked in ({"fallback": 0.0}, {"clip": True}):
        with pytest.raises(rewind.UsageError, match="saved without the range of its training data"):
            rewind.load_policy(old, **asked)
    guarded = rewind.load_policy(old, fallback=0.5, limit=None)
    rows = np.zeros((2, guarded.policy.observation_size))
    rows[1, 0] = np.nan
    actions, fell_back = guarded.act(rows)
    assert fell_back.tolist() == [False, True] and (actions[1] == 0.5).all() and (actions[0] != 0.5).all()


def test_the_record_of_the_data_is_part_of_the_digest_and_is_checked(tmp_path):
    made().save(tmp_path)
    with np.load(tmp_path / "policy.npz") as archive:
        arrays = dict(archive)
    np.savez(tmp_path / "policy.npz", **{**arrays, "data_limit": np.float32(99)})
    with pytest.raises(rewind.DataError, match="its digest is another one"):
        rewind.load_policy(tmp_path)
    with pytest.raises(rewind.DataError, match="what is known of the training data is damaged"):
        replace(made().support, limit=np.nan)
    with pytest.raises(rewind.DataError, match="it does not fit"):
        replace(made(), support=support_of(DATA[:, :3], ACTIONS))


@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("limit", [1.0, 1.5, None])
def test_the_guarded_onnx_model_acts_as_the_guarded_policy(tmp_path, discrete, limit):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    from rewind.integrations.onnx_export import export_onnx

    taken = np.eye(4, dtype=np.float32)[RNG.choice([0, 2], 5000)] if discrete else ACTIONS
    policy = replace(made(discrete, taken, scale=3.0), clip=True)
    guarded = rewind.GuardedPolicy(policy, 3 if discrete else [20, 0.5], limit)
    export_onnx(guarded, tmp_path / "policy.onnx")
    session = runtime.InferenceSession(tmp_path / "policy.onnx", providers=["CPUExecutionProvider"])
    rows = np.vstack([ROWS, np.full((1, 4), np.inf, np.float32), DATA[:500]])
    actions, fell_back = session.run(["actions", "fell_back"], {"observations": rows})
    expected, outside = guarded.act(rows)
    assert np.array_equal(fell_back, outside) and outside[4] and outside[6]
    np.testing.assert_allclose(actions, expected, rtol=1e-5, atol=1e-4)
    metadata = session.get_modelmeta().custom_metadata_map
    assert metadata["fallback"] == ("3" if discrete else "[20.0, 0.5]")
    assert metadata["guard"].startswith("outside:" if limit else "not finite")


def test_a_model_that_differs_from_its_policy_is_not_written(tmp_path, monkeypatch):
    pytest.importorskip("onnx")
    from rewind.integrations import onnx_export

    graph = onnx_export._graph

    def wrong(policy, node):
        arrays, nodes = graph(policy, node)
        return arrays | {"mean": arrays["mean"] + np.float32(0.1)}, nodes

    monkeypatch.setattr(onnx_export, "_graph", wrong)
    with pytest.raises(rewind.RewindError, match="does not act as the policy"):
        onnx_export.export_onnx(made(), tmp_path / "policy.onnx")
    assert not list(tmp_path.iterdir())
