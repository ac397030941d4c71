"""Agents of discrete actions, from data to a policy elsewhere."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("equinox")
pytest.importorskip("gymnasium")

from rewind import UsageError, load, load_policy
from rewind.evaluation import evaluate
from rewind.evaluation.scoring import Scorer
from rewind.rebuilt.quick import quick
from rewind.training import make_runs, train
from rewind.training.policies import save_policies
from rewind.training.spec import agent_data
from tests.training.small import QUIET, SMALL


@pytest.fixture(scope="module")
def cart():
    return quick("rewind/cartpole-mixed-v0", rows=300)


def test_whole_numbers_become_one_hot_and_anything_else_is_an_error(cart):
    runs = make_runs(cart, "dqn", samplers=["tr", "baseline", "lower_uqm_unc"], betas=[0.5], **SMALL)
    assert cart.actions.ndim == 1 and {run.agent.action_size for run in runs} == {2}
    hot = agent_data(type(runs[0].agent), cart)
    assert np.array_equal(hot.actions.argmax(1), cart.actions) and (hot.actions.sum(1) == 1).all()
    assert agent_data(type(runs[0].agent), hot) is hot
    with pytest.raises(UsageError, match="actions of DQN are whole numbers from 0 on, or one-hot"):
        make_runs(replace(cart, actions=cart.actions + np.float32(0.5)), "dqn")
    with pytest.raises(UsageError, match="choose dqn, discrete_iql or discrete_bc"):
        make_runs(cart, "td3_bc")


@pytest.mark.parametrize("algorithm", ["dqn", "discrete_bc"])
def test_codes_that_never_occur_are_named_once(cart, algorithm, recwarn):
    def told():
        return [str(one.message) for one in recwarn if "codes" in str(one.message)]

    train(cart, make_runs(cart, algorithm, **SMALL), steps=4, **QUIET)
    assert told() == []
    apart = replace(cart, actions=5 + 10 * cart.actions)
    train(apart, make_runs(apart, algorithm, samplers=["tr", "baseline"], **SMALL), steps=4, **QUIET)
    assert len(told()) == 1 and "2 of the codes 0 to 15 occur; code them 0, 1, or a policy may choose" in told()[0]


def test_a_policy_of_discrete_actions_is_evaluated_saved_and_exported(cart, tmp_path):
    runs = make_runs(cart, "dqn", samplers=["tr", "lower_uqm_unc"], betas=[0.5], **SMALL)
    scorer = Scorer("CartPole-v1", 2)
    scorer.check(cart.observations.shape[1:], cart.actions.shape[1:])
    trained = train(cart, runs, scorer, steps=8, **QUIET)
    assert all(8 <= result.records[-1]["return"] <= 500 for result in trained)
    folders = save_policies(trained, tmp_path, {"environment": "CartPole-v1"})
    for number, result in enumerate(trained):
        policy = load_policy(folders[number])
        chosen = policy(cart.observations)
        assert chosen.shape == (cart.rows,) and policy.discrete and set(chosen) <= {0, 1}
        assert np.array_equal(result.act(cart.observations).argmax(1), chosen)
        assert evaluate(policy, "CartPole-v1", episodes=1).returns.shape == (1, 1)
        guarded = load_policy(folders[number], fallback=0)
        assert guarded.outside(cart.observations).mean() < 0.01 and guarded.outside(cart.observations[0] + 9)
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    from rewind.integrations.onnx_export import export_onnx

    export_onnx(policy, tmp_path / "policy.onnx")
    assert onnx.load(tmp_path / "policy.onnx").graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.INT64
    session = runtime.InferenceSession(tmp_path / "policy.onnx")
    (exported,) = session.run(None, {"observations": cart.observations})
    assert np.array_equal(exported, chosen)


def test_wrong_actions_for_a_discrete_environment_are_an_error():
    with pytest.raises(UsageError, match=r"takes whole numbers, or one-hot \(runs, episodes, action\) = \(1, 2, 2\)"):
        evaluate(lambda observations: np.zeros((1, 2, 3)), "CartPole-v1", episodes=2)


def test_quick_data_is_the_same_each_time_and_ends_as_its_environment_does(cart):
    again = quick("rewind/cartpole-mixed-v0", rows=300)
    assert again.fingerprint == cart.fingerprint and cart.rows >= 300 and (cart.rewards == 1).all()
    grid = quick("rewind/gridworld-mixed-v0", rows=2000)
    assert np.array_equal(grid.terminated, grid.returns == 1) and (grid.observations.sum(1) == 1).all()
    assert not grid.terminated.all() and (grid.lengths[~grid.terminated] == 100)[:-1].all()
    assert load("rewind/gridworld-mixed-v0").name == "rewind/gridworld-mixed-v0"


def test_dict_observations_train_as_the_vectors_of_their_keys_in_alphabetical_order(cart):
    place, poles = cart.observations[:, :2], cart.observations[:, 2:]
    finals = cart.final_observations
    parts = {"pole": poles, "cart": place}  # held as cart, pole: the columns of the original
    dicts = replace(cart, observations=parts, final_observations={"cart": finals[:, :2], "pole": finals[:, 2:]})
    (one,), (other,) = (
        train(data, make_runs(data, "dqn", betas=[0.5], **SMALL), steps=20, **QUIET) for data in (cart, dicts)
    )
    assert np.array_equal(one.act(cart.observations), other.act(cart.observations))
    image = {"observations": np.zeros((cart.rows, 4, 4), np.uint8)}
    finals = {"image": np.zeros((len(cart), 4, 4), np.uint8)}
    with pytest.raises(UsageError, match=r"observation 'image' has shape \(4, 4\); agents take vectors"):
        make_runs(replace(cart, observations={"image": image["observations"]}, final_observations=finals), "dqn")
