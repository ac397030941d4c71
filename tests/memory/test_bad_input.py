"""Bad calls: each gets an error that says what was expected, and leaves the memory as it was."""

import numpy as np
import pytest

from rewind import DataError, PrioritizedReplay, TrajectoryReplay, UniformReplay, UsageError
from tests.helpers import make


def memory_on(priority="lower_mean_unc", seed=0):
    memory = TrajectoryReplay(priority, seed=seed)
    memory.load_offline_dataset(make([5, 3, 8, 2, 7], known=1.0))
    return memory


SETTINGS = {
    "unknown priority": ({"priority": "uqm_rewards"}, "did you mean 'uqm_reward'"),
    "tr as a priority": ({"priority": "tr"}, "'tr' is a sampler and no priority: plain .* is priority='uniform'"),
    "TR as a priority": ({"priority": "TR"}, "is priority='uniform'"),
    "baseline as a priority": ({"priority": "baseline"}, r"uniform sampling is UniformReplay\(\)"),
    "priority of a wrong type": ({"priority": object()}, "expected a name or one number per trajectory"),
    "unknown reuse": ({"reuse": "onfinish"}, "did you mean 'on_finish'"),
    "negative alpha": ({"alpha": -1.0}, "alpha is -1.0; expected a number of at least 0"),
    "NaN alpha": ({"alpha": float("nan")}, "alpha is nan"),
    "negative seed": ({"seed": -1}, "seed is -1; expected a non-negative integer"),
    "seed of a wrong type": ({"seed": "zero"}, "seed is 'zero'"),
    "zero capacity": ({"capacity": 0}, "capacity is 0; expected a positive number"),
}


@pytest.mark.parametrize(("settings", "message"), SETTINGS.values(), ids=SETTINGS)
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises(UsageError, match=message):
        TrajectoryReplay(**settings)


def test_priorities_of_the_wrong_number_or_kind():
    data = make([5, 3], known=1.0)
    with pytest.raises(DataError, match="3 priorities for 2 trajectories"):
        TrajectoryReplay([1.0, 2.0, 3.0]).load_offline_dataset(data)
    with pytest.raises(DataError, match="priority of trajectory 1 is nan"):
        TrajectoryReplay([1.0, float("nan")])
    with pytest.raises(UsageError, match=r"priority has shape \(1, 2\)"):
        TrajectoryReplay([[1.0, 2.0]])


def test_an_alpha_beyond_floating_point():
    with pytest.raises(UsageError, match=r"alpha 200\.0 is too large for 100 trajectories"):
        TrajectoryReplay("return", alpha=200.0).load_offline_dataset(make(np.full(100, 2), known=1.0))


CALLS = {
    "batch size 0": (lambda m: m.sample(0), UsageError, "batch_size is 0; expected a positive integer"),
    "batch size 1.5": (lambda m: m.sample(1.5), UsageError, "batch_size is 1.5"),
    "batch size True": (lambda m: m.sample(True), UsageError, "batch_size is True"),
    "no steps": (lambda m: m.plan(0, 3), UsageError, "steps is 0"),
    "another batch size": (lambda m: m.sample(4), UsageError, "batch_size is 4, but 3 slots are in the middle"),
    "wrong shape": (lambda m: m.update_uncertainty([1, 2]), DataError, r"shape \(2,\); expected \(3,\), one value"),
    "NaN": (lambda m: m.update_uncertainty([1, np.nan, 1]), DataError, r"uncertainty is nan at step 0, slot 1 \(row"),
    "strings": (lambda m: m.update_uncertainty(["a", "b", "c"]), DataError, "uncertainty has dtype"),
    "beyond float32": (lambda m: m.update_uncertainty([1, 1e39, 1]), DataError, r"uncertainty of 1e\+39"),
    "values before the plan": (lambda m: m.update_uncertainty(m._last, np.ones(3)), UsageError, "plan is a ndarray"),
    "no plan to fill": (lambda m: m.plan(1, 3, into=3), UsageError, r"the plan is a int; expected what plan\("),
    "a step too far": (lambda m: m.gather(m._last, 1), UsageError, "step is 1; expected a whole number below 1"),
    "plan of a wrong shape": (lambda m: m.update_uncertainty(np.ones((2, 3)), m._last), DataError, "expected"),
}


@pytest.mark.parametrize(("call", "error", "message"), CALLS.values(), ids=CALLS)
def test_bad_calls_leave_the_memory_as_it_was(call, error, message):
    memory, untouched = memory_on(), memory_on()
    for each in (memory, untouched):
        each.sample(3)
    with pytest.raises(error, match=message):
        call(memory)
    for each in (memory, untouched):
        each.update_uncertainty([1.0, 2.0, 3.0])
    for _ in range(20):
        first, second = memory.sample(3), untouched.sample(3)
        assert np.array_equal(first.indices, second.indices)
        for each, batch in ((memory, first), (untouched, second)):
            each.update_uncertainty(np.abs(batch.rewards))


@pytest.mark.parametrize("kind", [TrajectoryReplay, UniformReplay, PrioritizedReplay])
def test_a_memory_without_data_says_so(kind):
    for call in (
        lambda memory: memory.sample(1),
        lambda memory: memory.plan(1, 1),
        lambda memory: memory.state_dict(),
        lambda memory: memory.add([]),
    ):
        with pytest.raises((UsageError, DataError), match=r"memory is empty|data is empty"):
            call(kind())


@pytest.mark.parametrize("kind", [TrajectoryReplay, UniformReplay, PrioritizedReplay])
def test_feedback_without_a_sample_is_an_error(kind):
    memory = kind(seed=0)
    memory.load_offline_dataset(make([5, 3], known=1.0))
    with pytest.raises(UsageError, match="before any sample"):
        memory.update_uncertainty([1.0])


def test_transition_priorities_check_their_settings():
    with pytest.raises(UsageError, match="eps is -1"):
        PrioritizedReplay(eps=-1)


@pytest.mark.parametrize("kind", [UniformReplay, TrajectoryReplay, PrioritizedReplay])
def test_a_memory_left_without_transitions_says_so(kind):
    """What had any made room for single steps that were cut."""

    def episode(steps):
        arrays = {"observations": np.zeros((steps, 2)), "actions": np.zeros((steps, 1)), "rewards": np.zeros(steps)}
        return {**arrays, "terminated": False}

    memory = kind(seed=0, capacity=6)
    memory.load_offline_dataset([episode(4)])
    memory.add([episode(3), *[episode(1) for _ in range(6)]])
    with pytest.raises(DataError, match="nothing to replay"):
        memory.plan(2, 3)
