"""An action is supported where something like it was done in similar states."""

from dataclasses import replace

import numpy as np
import pytest

from rewind.data import from_episodes

pytest.importorskip("optax")

from rewind.evaluation.fqe import FitSettings
from rewind.evaluation.offline import LogView, OfflineEvaluation
from rewind.evaluation.offline_record import concerns_of, policy_figures
from rewind.evaluation.offline_table import LOG, best_supported, offline_table
from rewind.evaluation.support import Support
from rewind.statistics import Estimate


def log(kind, episodes=40, length=10):
    """Left of 0 the log does 1, right of it -1 or 0, with noise where actions are continuous."""
    stream, made = np.random.default_rng(0), []
    for _ in range(episodes):
        states = stream.uniform(-1, 1, (length + 1, 1)).astype(np.float32)
        actions = kind(states[:length, 0], stream)
        made.append({"observations": states, "actions": actions, "rewards": np.ones(length), "terminated": True})
    return from_episodes(made)


def continuous(states, stream):
    return (-np.sign(states) + 0.1 * stream.standard_normal(len(states)))[:, None].astype(np.float32)


def discrete(states, stream):
    return (states < 0).astype(int)


def test_what_is_usual_elsewhere_but_never_done_in_such_states_is_unsupported():
    policies = {"as logged": lambda s: -np.sign(s), "swapped": np.sign, "nothing": np.zeros_like}
    support = Support(LogView(log(continuous), policies))
    assert support.supports("as logged") and support.unsupported("as logged") < 0.05
    assert not support.supports("swapped") and support.unsupported("swapped") > 0.9
    assert not support.supports("nothing")


def test_a_discrete_action_is_unsupported_where_no_neighbour_has_it():
    policies = {"as logged": lambda s: (s[:, 0] < 0).astype(int), "always 1": lambda s: np.ones(len(s), int)}
    support = Support(LogView(log(discrete), policies))
    assert support.supports("as logged") and support.unsupported("always 1") == pytest.approx(0.5, abs=0.1)
    assert not support.supports("always 1")


def test_a_log_that_does_rare_things_allows_as_many():
    data = log(lambda states, stream: stream.integers(50, size=len(states)))  # ten neighbours show at most ten of 50
    support = Support(LogView(data, {"some": lambda s: (np.abs(s[:, 0]) * 50).astype(int)}))
    assert support.allowed > 0.5 and support.unsupported("some") > 0.5
    assert Support(LogView(log(discrete), {"one": lambda s: np.ones(len(s), int)})).allowed == pytest.approx(0.05)


def test_distances_do_not_depend_on_units():
    data, policies = log(continuous), {"swapped": np.sign}
    metres = Support(LogView(data, policies))
    scaled = replace(data, actions=1000 * data.actions)
    millimetres = Support(LogView(scaled, {"swapped": lambda s: 1000 * np.sign(s)}))
    assert millimetres.limit == pytest.approx(metres.limit, rel=1e-3)
    assert millimetres.unsupported("swapped") == metres.unsupported("swapped")


@pytest.mark.parametrize(("episodes", "length"), [(1, 30), (2, 3), (1, 1)])
def test_a_short_log_is_looked_at_as_far_as_it_goes(episodes, length):
    data = log(continuous, episodes, length)
    policies = {"the log's own": lambda states: data.actions, "far": lambda states: data.actions + 100}
    support = Support(LogView(data, policies))
    assert support.supports("the log's own") and support.unsupported("the log's own") <= max(0.1, 1 / data.rows)
    assert not support.supports("far") and support.unsupported("far") == 1.0


def test_the_first_choice_is_named_with_the_first_that_the_log_supports():
    given = {"a": False, "b": False, "c": True}
    policies = [{"name": name, "supported": held, "unsupported": 0.1} for name, held in given.items()]
    assert "In 10% of the states the log shows nothing like what a does" in best_supported({"policies": policies})
    assert "Of those that it shows, prefer c." in best_supported({"policies": policies})
    assert "that holds for all of them" in best_supported({"policies": policies[:2]})
    assert best_supported({"policies": policies[2:]}) == best_supported({"policies": [{"name": "old"}]}) == ""


FIGURES = {"name": "a", "estimate": [2.0, 1.0, 3.0], "drift": 0.6, "outside": 0.0, "unsupported": 0.05,
           "supported": True, "between": []}  # fmt: skip


def fitted(drift=(0.0, 0.0), left=(0.0, 0.0)):
    """The log's own policy and one called a, whose interval is about as wide as their drift is counted in."""
    spread = np.full(6, 2.0) + np.array([-0.36, 0.36, -0.36, 0.36, -0.36, 0.36])
    return OfflineEvaluation(
        (LOG, "a"), np.full((2, 6), 2.0), np.array([spread, spread]), np.array(drift), np.array(left), 0.99,
        Estimate(2.0, 1.0, 3.0), 0, 9.0, 100, FitSettings(),
    )  # fmt: skip


def test_a_policy_that_the_log_does_not_support_is_a_concern():
    held_out, settled = {"view": {"hold_out": 0.1}}, fitted()
    (concern,) = concerns_of({**FIGURES, "unsupported": 0.12, "supported": False}, settled, held_out)
    assert concern.startswith("12% of its actions are unlike what the log shows in similar states")
    assert concerns_of(FIGURES, settled, held_out) == []
    for count, told in ((1, "1 trajectory"), (2, "2 trajectories")):
        (concern,) = concerns_of(FIGURES, replace(settled, trajectories=count), held_out)
        assert concern == f"only {told}: the interval may be too narrow"


def test_a_fit_that_still_moves_is_a_concern_the_logs_own_too():
    concerns = [concerns_of(FIGURES, fitted(**moves), {"view": {"hold_out": 0.1}}) for moves in (
        {"drift": (0.0, 0.6)}, {"drift": (0.6, 0.0)}, {"drift": (0.0, 0.2), "left": (0.0, 4.0)},
        {"drift": (0.0, 0.05), "left": (0.0, 4.0)}, {"drift": (0.0, 0.2), "left": (0.0, 0.2)},
    )]  # fmt: skip
    assert [len(one) for one in concerns] == [1, 1, 1, 0, 0]
    assert concerns[0][0].startswith("the fit still moved, by 0.6") and concerns[1][0].startswith(
        "the fit of the log's"
    )


def test_a_policy_that_is_between_the_levels_of_a_switch_is_a_concern():
    def switched(states, stream):
        return np.stack([states > 0, stream.uniform(-1, 1, len(states))], 1).astype(np.float32)

    policies = {
        "switches": lambda s: np.concatenate([s > 0, s], 1),
        "half": lambda s: np.concatenate([0.5 + 0 * s, s], 1),
    }
    view = LogView(log(switched), policies)
    support = Support(view)
    between = {name: policy_figures(view, name)["between"] for name in policies}
    assert between == {"switches": [], "half": [0]} and support.limit > 0
    (concern,) = concerns_of({**FIGURES, "between": [0]}, fitted(), {"view": {"hold_out": 0.1}})
    assert concern.startswith("action column 0 has few values in the log, like a switch")


def test_what_all_policies_share_is_said_once_and_intervals_have_equal_digits():
    def policy(name, concerns):
        return {"name": name, "estimate": [-27.611, -55.43, 0.2138], "against_log": [1.0, -2.0, 12345.6], "tied": True,
                "distance": 0.5, "concerns": concerns, "supported": True}  # fmt: skip

    log_itself = {"estimate": [0.0, 0.0, 0.0], "monte_carlo": [-0.001, None, None], "cut": 0}
    record = {"policies": [policy("a", ["few", "far"]), policy("b", ["few"])], "log": log_itself}
    record |= {"held_out": True, "discount": 0.99, "trajectories": 6}
    lines = offline_table(record).splitlines()
    assert lines[-2:] == ["all policies: few", "a: far"]
    assert "-27.61 [-55.43, 0.21]  1 [-2, 12,346]" in lines[1] and "  0 [0, 0] " in lines[3]
    assert "is -0.001." in lines[4]
    alone = offline_table({**record, "policies": record["policies"][:1]}).splitlines()
    assert alone[-2:] == ["a: few", "a: far"]
