"""Laws of the engine: many runs together are the runs alone."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

jax = pytest.importorskip("jax")
pytest.importorskip("equinox")

from rewind import DataError, TrajectoryReplay, UsageError
from rewind.agents import TD3BC, ReBRAC
from rewind.training import Options, Run, Sampler, Trainer, View, make_runs, train
from rewind.training.engine import Engine, seed_key
from rewind.training.group import Group, action_units, groups_of
from rewind.training.options import with_batch_size
from rewind.training.policies import to_policy
from rewind.training.spec import possible_q
from rewind.training.view import Source, best_fraction, make_normaliser, make_table
from tests.helpers import make
from tests.training.small import DATA, QUIET, SMALL


def final_policies(runs, steps=50, **settings):
    return [jax.tree.leaves(trained.policy) for trained in train(DATA, runs, steps=steps, **QUIET, **settings)]


def assert_close(first, second, tolerance=2e-4):
    for a, b in zip(first, second, strict=True):
        assert np.allclose(a, b, atol=tolerance * max(1.0, np.abs(a).max())), np.abs(a - b).max()


@pytest.mark.parametrize(
    "algorithm", ["td3_bc", *(pytest.param(name, marks=pytest.mark.long) for name in ("iql", "edac")), "bc"]
)
def test_a_run_in_a_group_equals_the_run_alone(algorithm):
    samplers = ["baseline", "tr", "uqm_reward", "max_reward" if algorithm == "bc" else "lower_uqm_unc"]
    settings = {"ensemble": 3, **SMALL} if algorithm == "edac" else SMALL
    several = {"seeds": [3, 4]} if algorithm == "bc" else {"betas": [1.0, 0.5], "seeds": [3]}
    runs = make_runs(DATA, algorithm, samplers=samplers, **several, **settings)
    assert len(runs) >= 7 and len(groups_of(runs)) == 1
    together = final_policies(runs, block=10)
    for number in (0, 5, -1):
        (alone,) = final_policies([runs[number]], block=10)
        assert_close(together[number], alone)
    assert not np.allclose(together[0][0], together[3][0])


def test_the_table_holds_what_the_memory_would_hand_out():
    normaliser = make_normaliser(DATA, True)
    table = make_table([Source(DATA, normaliser)])
    memory = TrajectoryReplay(seed=0)
    memory.load_offline_dataset(DATA)
    plain, windowed = (jax.jit(partial(table.batch, agent=TD3BC(3, 2, **more))) for more in ({}, {"window": 4}))
    for _ in range(20):
        plan = memory.plan(1, 8)
        batch, chunks = memory.gather(plan, 0), memory.gather(plan, 0, 4)
        found = plain(batch.indices, batch.fresh)
        assert np.allclose(found.observations, normaliser(batch.observations), atol=1e-6)
        alive = ~batch.terminals
        assert np.allclose(found.next_observations[alive], normaliser(batch.next_observations)[alive], atol=1e-6)
        assert np.allclose(found.actions, batch.actions) and np.allclose(found.rewards, batch.rewards)
        assert np.array_equal(found.terminals, batch.terminals) and found.window is None
        window = windowed(batch.indices, batch.fresh).window
        for name, expected in (("rewards", chunks.rewards), ("tails", chunks.tails), ("terminals", chunks.terminals)):
            assert np.array_equal(getattr(window, name)[chunks.valid], expected[chunks.valid])
        successors = normaliser(chunks.next_observations)
        alive = chunks.valid & ~chunks.terminals
        assert np.allclose(window.next_observations[alive], successors[alive], atol=1e-6)


def test_the_next_action_is_known_unless_the_trajectory_ends_there():
    data = make([4, 3, 5, 1, 6], terminated=0.5, known=0.5)
    cut = ~data.terminated
    assert data.terminated.any() and (cut & data.final_known).any() and (cut & ~data.final_known).any()
    table = make_table([Source(data, make_normaliser(data, False))])
    for trajectory, (start, length, played) in enumerate(zip(data.starts, data.lengths, data.transitions, strict=True)):
        rows = np.arange(start, start + played)
        batch = table.batch(rows, np.zeros(len(rows), bool), ReBRAC(3, 2))
        timesteps = rows - start
        terminal = (timesteps == length - 1) & data.terminated[trajectory]
        # Of a last step that is no transition the action is known, though its successor is not.
        assert np.array_equal(batch.next_known, timesteps < length - 1)
        assert np.array_equal(batch.terminals, terminal)
        known = np.asarray(batch.next_known)
        assert np.array_equal(batch.next_actions[known], data.actions[rows[known] + 1])
        window = table.batch(rows, np.zeros(len(rows), bool), ReBRAC(3, 2, window=3))
        assert window.next_actions.shape == (len(rows), 3, 2)
        assert np.array_equal(window.next_actions[:, 0], batch.next_actions)
        assert np.array_equal(window.next_known[:, 0], batch.next_known)


def test_a_window_recomputes_what_a_sweep_carries_and_any_sampler_takes_it():
    still = {"actor_rate": 0.0, "critic_rate": 0.0, "policy_noise": 0.0, "target_low": -1e9, "target_high": 1e9}
    carried = make_runs(DATA, "td3_bc", samplers=["tr"], betas=[0.4], **still, **SMALL)
    longest = int(DATA.lengths.max())
    windows = make_runs(DATA, "td3_bc", samplers=["tr", "baseline"], betas=[0.4], window=longest, **still, **SMALL)
    forward = [replace(windows[0], sampler=Sampler("tr", order="forward"))]
    runs = [*carried, *windows, *forward]
    assert [len(group) for group in groups_of(runs)] == [1, 3]
    targets = [trained.records[-1]["target"] for trained in train(DATA, runs, steps=50, log_every=50, **QUIET)]
    assert targets[0] == pytest.approx(targets[1], rel=1e-4)  # the networks stand still
    assert len({round(target, 3) for target in targets}) == 3


def test_normalised_states_have_mean_0_and_deviation_1():
    normaliser = make_normaliser(DATA, True)
    seen = normaliser(DATA.observations)
    assert np.allclose(seen.mean(0), 0, atol=1e-5) and np.allclose(seen.std(0), 1, atol=2e-3)


def test_shapes_split_the_groups_and_numbers_and_views_do_not():
    small = make_runs(DATA, "td3_bc", samplers=["tr", "return"], betas=[0.1, 0.9], seeds=[0, 1], **SMALL)
    other_shape = make_runs(DATA, "td3_bc", hidden=(8, 8))
    other_view = make_runs(DATA, "td3_bc", view=View(rewards="minus_one"), **SMALL)
    other_agent = make_runs(DATA, "iql", **SMALL)
    runs = [*small, *other_shape, *other_view, *other_agent]
    assert [len(group) for group in groups_of(runs)] == [9, 1, 1]
    trained = train(DATA, runs, steps=20, **QUIET)
    assert [result.run for result in trained[:-1]] == runs[:-1]
    assert trained[-1].run.name == other_agent[0].name  # whose learning rate knows its end now


def test_q_that_no_rewards_add_up_to_is_reported_once(capsys, monkeypatch):
    bounds = {"td3_bc": (-100, 0), "iql": (-100, 0), "edac": (-np.inf, np.inf), "bc": (-np.inf, np.inf)}
    for algorithm, expected in bounds.items():  # EDAC's Q has a bonus for entropy
        (run,) = make_runs(DATA, algorithm, **SMALL)
        sparse = replace(DATA, rewards=np.linspace(-1, 0, DATA.rows))
        assert possible_q(sparse, run.agent) == pytest.approx(expected, rel=1e-12)
    runs = make_runs(DATA, "td3_bc", seeds=[0, 1], **SMALL)
    train(DATA, runs, steps=60, log_every=20, **QUIET)
    assert "diverges" not in capsys.readouterr().err
    monkeypatch.setattr("rewind.training.group.possible_q", lambda data, agent: (50.0, 60.0))
    train(DATA, runs, steps=60, log_every=20, **QUIET)
    said = capsys.readouterr().err
    assert said.count("add up to between 50 and 60: its critic diverges") == 2 and said.count("at step 20,") == 2
    assert said.count("(`rewind train --bounded`, or `bound_targets`, would hold it)") == 2
    train(DATA, make_runs(DATA, "td3_bc", target_high=1e6, **SMALL), steps=60, log_every=20, **QUIET)
    assert capsys.readouterr().err.endswith("its critic diverges\n")  # it is bounded already


def test_how_far_q_is_beyond_is_of_each_runs_own_rewards(capsys, monkeypatch):
    """Two runs whose rewards, as they are told, leave Q a little and far beyond: one is reported."""
    ranges = iter([(-1.0, 1.0), (100.0, 300.0)])
    monkeypatch.setattr("rewind.training.group.possible_q", lambda data, agent: next(ranges))
    near, far = train(DATA, make_runs(DATA, "td3_bc", seeds=[0, 1], **SMALL), steps=40, log_every=20, **QUIET)
    for result, (low, high) in ((near, (-1.0, 1.0)), (far, (100.0, 300.0))):
        last = result.records[-1]
        assert last["q_excess"] == pytest.approx(max(0.0, last["q"] - high, low - last["q"]) / (high - low))
    assert near.records[-1]["q_excess"] == 0 and far.records[-1]["q_excess"] > 0.4
    said = capsys.readouterr().err
    assert said.count("diverges") == 1 and "add up to between 100 and 300" in said
    ranges = iter([(-500.0, 0.0), (-500.0, 0.0)])
    slightly = train(DATA, make_runs(DATA, "td3_bc", seeds=[0, 1], **SMALL), steps=40, log_every=20, **QUIET)
    assert all("q_excess" in result.records[-1] for result in slightly) and not capsys.readouterr().err


@pytest.mark.parametrize("algorithm, rates", [("td3_bc", {}), ("iql", {"value_rate": 1e-2})])
def test_bounds_hold_a_critic_that_would_go_on_growing(algorithm, rates):
    """A reward for every step and nothing that ends: one run is free, one bounded, one has bounds it never meets."""
    endless = replace(DATA, rewards=np.ones(DATA.rows, np.float32), terminated=np.zeros(len(DATA), bool))
    fast = {"target_rate": 1.0, "critic_rate": 1e-2, "discount": 1.0, **rates}
    bounds = [{}, {"target_low": -1.0, "target_high": 2.0}, {"target_low": -1e6, "target_high": 1e6}]
    runs = [run for each in bounds for run in make_runs(endless, algorithm, **SMALL, **fast, **each)]
    free, held, wide = (result.records[-1] for result in train(endless, runs, steps=200, log_every=100, **QUIET))
    assert free["target"] == wide["target"] > 4 and 1 < held["target"] <= 2
    described = [run.describe()["agent"] for run in runs]
    assert "target_high" not in described[0] and described[1]["target_high"] == 2.0
    with pytest.raises(UsageError, match="target_low is 0 and target_high -100"):
        make_runs(endless, algorithm, target_low=0.0, target_high=-100.0)


def test_a_run_that_explodes_is_masked_and_reported_and_the_others_go_on(capsys):
    runs = make_runs(DATA, "td3_bc", seeds=[0, 1], **SMALL)
    sick = Run(type(runs[0].agent)(3, 2, **SMALL, critic_rate=1e30), Sampler("tr"), 0, runs[0].view, "sick")
    trained = train(DATA, [runs[0], sick, runs[1]], steps=200, block=50, log_every=50, **QUIET)
    assert [result.alive for result in trained] == [True, False, True]
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(trained[1].policy))
    assert "run 1 (sick) is no longer finite" in capsys.readouterr().err
    (alone,) = final_policies([runs[1]], steps=200, block=50)
    assert_close(jax.tree.leaves(trained[2].policy), alone, 5e-3)


def test_engines_of_one_shape_share_their_programs():
    traced = []

    class Counted(TD3BC):
        def update(self, *arguments):
            traced.append(self)
            return super().update(*arguments)

    table, plan = make_table([Source(DATA, make_normaliser(DATA, False))]), np.zeros((1, 4, 8), int)
    for seed, settings in enumerate(({}, {"alpha": 1.0, "beta": 0.5}, {"hidden": (4, 4)})):
        before = len(traced)
        Engine([Counted(3, 2, **{**SMALL, **settings})], [seed], table, 8).run(plan, plan == 0)
        assert (len(traced) > before) == (seed != 1)  # numbers do not matter, sizes do


def test_uncertainty_comes_back_and_changes_the_ranks():
    runs = make_runs(DATA, "td3_bc", samplers=["lower_uqm_unc"], **SMALL)
    group = Group(DATA, runs, [0], batch_size=8, block=10)
    for _ in range(12):
        group.advance(1000)
    group.feed()
    probabilities = group.planner.memories[0].probabilities()
    assert len(set(probabilities)) > 20  # most trajectories have a rank of their own by now


def test_records_hold_losses_visits_and_the_planning_delay():
    runs = make_runs(DATA, "td3_bc", samplers=["baseline", "return", "lower_mean_unc"], **SMALL)
    trained = train(DATA, runs, steps=200, block=20, log_every=100, **QUIET)
    for result in trained:
        assert [record["step"] for record in result.records] == [100, 200]
        last = result.records[-1]
        assert {"critic_loss", "actor_loss", "q", "uncertainty", "planning_delay"} <= set(last)
        assert sum(last[f"visits_q{q}"] for q in (1, 2, 3, 4)) == pytest.approx(1.0)
    by_return = trained[1].records[-1]
    assert by_return["visits_q4"] > by_return["visits_q1"]
    assert trained[1].records[-1]["planning_delay"] == 0
    assert trained[2].records[-1]["planning_delay"] == pytest.approx(20 + 10)  # one plan ahead, and half a plan


def test_policies_act_on_raw_observations():
    (trained,) = train(DATA, make_runs(DATA, "td3_bc", **SMALL), steps=20, **QUIET)
    actions = trained.act(DATA.observations[:5])
    assert actions.shape == (5, 2) and np.abs(actions).max() <= 1


def test_behaviour_cloning_can_imitate_the_best_tenth():
    runs = make_runs(DATA, "bc", samplers=["baseline"], top=0.1, **SMALL)
    seen = runs[0].view.apply(DATA)
    assert len(seen) == 4 and seen.returns.min() >= np.sort(DATA.returns)[-4]
    train(DATA, runs, steps=20, **QUIET)


BAD = {
    "algorithm": (lambda: make_runs(DATA, "td3bc"), UsageError, "did you mean 'td3_bc'"),
    "sampler": (lambda: make_runs(DATA, samplers=["uqm_rewrd"]), UsageError, "did you mean 'uqm_reward'"),
    "rewards": (lambda: View(rewards="minus1").apply(DATA), UsageError, "did you mean 'minus_one'"),
    "beta of unknown data": (lambda: make_runs(DATA, betas=[None]), UsageError, "the paper gives no beta"),
    "beta": (lambda: make_runs(DATA, betas=[2.0]), UsageError, "expected a number from 0 to 1"),
    "setting": (lambda: make_runs(DATA, alfa=2.0), UsageError, "did you mean 'alpha'"),
    "option": (lambda: train(DATA, make_runs(DATA, **SMALL), stepz=8), UsageError, "did you mean 'steps'"),
    "no steps": (lambda: train(DATA, make_runs(DATA, **SMALL), steps=0), UsageError, "steps is 0"),
    "no batch": (lambda: train(DATA, make_runs(DATA, **SMALL), batch_size=-1), UsageError, "batch_size is -1"),
    "no block": (lambda: train(DATA, make_runs(DATA, **SMALL), block=0), UsageError, "block is 0; expected at least 1"),
    "resume from nowhere": (lambda: train(DATA, make_runs(DATA, **SMALL), resume=True), UsageError, "resume needs"),
    "no runs": (lambda: train(DATA, []), UsageError, "no runs"),
    "odd steps": (
        lambda: train(DATA, make_runs(DATA, **SMALL), steps=21, **QUIET),
        UsageError,
        "multiple of the agent",
    ),
    "odd block": (
        lambda: train(DATA, make_runs(DATA, **SMALL), steps=20, block=5, **QUIET),
        UsageError,
        "block is 5; expected a multiple",
    ),
    "batch larger than the data": (
        lambda: train(DATA, make_runs(DATA, **SMALL), steps=20, batch_size=10_000, progress=False),
        UsageError,
        "more than the",
    ),
    "dimensions": (
        lambda: train(make([9, 9], observation=4), make_runs(DATA, **SMALL), steps=20, **QUIET),
        DataError,
        r"observations have shape \(4,\); the agent expects \(3,\)",
    ),
    "actions out of bounds": (
        lambda: train(out_of_bounds(), make_runs(DATA, **SMALL, max_action=1.2), steps=20, **QUIET),
        DataError,
        r"the actions go from .* to 1\.5.*, but max_action is 1\.2",
    ),
    "actions beyond the bounds that are given": (
        lambda: train(out_of_bounds(), make_runs(DATA, view=View(action_bounds=((-1, 1),) * 2), **SMALL), **QUIET),
        DataError,
        "the actions go from .*, beyond action_bounds",
    ),
    "bounds of other actions": (
        lambda: train(DATA, make_runs(DATA, view=View(action_bounds=((0, 100),)), **SMALL), **QUIET),
        UsageError,
        "expected two numbers, the smaller first, for each of",
    ),
    "no such device": (
        lambda: train(DATA, make_runs(DATA, **SMALL), steps=20, device="tpu", **QUIET),
        UsageError,
        "no device 'tpu' here; there is:",
    ),
    "fused without a GPU": (
        lambda: train(DATA, make_runs(DATA, **SMALL), steps=20, device="cpu", fused=True, **QUIET),
        UsageError,
        "fused kernels are for NVIDIA GPUs",
    ),
}


def out_of_bounds():
    data = make([9, 9])
    data.actions[7, 1] = 1.5
    return data


@pytest.mark.parametrize(("call", "error", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_catalogued_data_brings_the_papers_settings():
    from dataclasses import replace

    named = replace(DATA, name="antmaze-medium-play-v0")
    (run,) = make_runs(named, "td3_bc", betas=[None])
    assert float(run.agent.alpha) == 36 and float(run.agent.beta) == pytest.approx(0.98)
    assert run.view == View("minus_one", True)
    (run,) = make_runs(named, "iql")
    assert float(run.agent.expectile) == pytest.approx(0.9) and float(run.agent.temperature) == 10
    (run,) = make_runs(replace(DATA, name="hopper-medium-replay-v2"), "edac")
    assert run.agent.ensemble == 3 and not run.view.normalise_states
    (run,) = make_runs(named, "td3_bc", alpha=1.5)
    assert float(run.agent.alpha) == 1.5


def test_seeds_may_be_any_iterable_and_periods_any_number():
    runs = make_runs(DATA, "td3_bc", samplers=["tr", "return"], seeds=iter(range(3)), period=3, **SMALL)
    assert len(runs) == 6
    trained = train(DATA, runs[:1], steps=150, block=30, log_every=30, **QUIET)
    assert len(trained[0].records) == 5


def test_options_and_settings_combine():
    (trained,) = train(DATA, make_runs(DATA, **SMALL), options=Options(**QUIET), steps=20, log_every=10)
    assert [record["step"] for record in trained.records] == [10, 20]


def test_runs_take_what_load_takes_and_single_values():
    data = {name: np.zeros((20, 3), np.float32) for name in ("observations", "actions")}
    data |= {"rewards": np.arange(20.0), "terminals": np.arange(20) % 5 == 4, "timeouts": np.zeros(20, bool)}
    (run,) = make_runs(data, samplers="return", betas=0.5)
    assert run.sampler.name == "return" and float(run.agent.beta) == 0.5
    with pytest.raises(UsageError, match=r"seeds is 3; expected several numbers: \[3\], or range\(3\)"):
        make_runs(data, seeds=3)
    with pytest.raises(UsageError, match=r"each action has shape \(\); agents take vectors"):
        make_runs(data | {"actions": np.zeros(20, int)})


def in_own_units():
    """A pump from 0 to 100, a valve from 0 to 1."""
    return replace(DATA, actions=np.array([50, 0.5]) + np.array([50, 0.5]) * DATA.actions)


@pytest.mark.parametrize("algorithm", ["td3_bc", "iql"])
def test_actions_in_their_own_units_give_the_same_policy_in_those_units(algorithm):
    view = View(normalise_states=True)
    runs = make_runs(DATA, algorithm, view=view, **SMALL)
    own_runs = make_runs(DATA, algorithm, view=replace(view, action_bounds=((0, 100), (0, 1))), **SMALL)
    (unit,), (own,) = train(DATA, runs, steps=20, **QUIET), train(in_own_units(), own_runs, steps=20, **QUIET)
    actions, expected = own.act(DATA.observations), 50 + 50 * unit.act(DATA.observations)
    np.testing.assert_allclose(actions[:, 0], expected[:, 0], atol=0.05)
    np.testing.assert_allclose(100 * actions[:, 1], expected[:, 1], atol=0.05)
    saved = to_policy(own, {})
    assert saved.action_low.tolist() == [0, 0] and saved.action_high.tolist() == [100, 1]
    np.testing.assert_allclose(saved(DATA.observations), actions, rtol=1e-3)


def test_without_bounds_policies_stay_within_the_data_where_it_goes_beyond_one():
    (run,) = make_runs(DATA, **SMALL)
    assert (action_units(DATA, run).scale == 1).all() and (action_units(DATA, run).mean == 0).all()
    data = in_own_units()
    with pytest.warns(UserWarning, match="actions are not within -1 and 1"):
        units = action_units(data, run)
    np.testing.assert_allclose(units.undo(-1), data.actions.min(0), atol=1e-4)
    np.testing.assert_allclose(units.undo(1), data.actions.max(0), rtol=1e-5)
    constant = replace(data, actions=np.full_like(data.actions, 7.0))
    with pytest.warns(UserWarning):
        units = action_units(constant, run)
    assert np.abs(units(constant.actions)).max() == 0 and np.allclose(units.undo(1), 7, atol=0.01)


def test_seeds_are_told_apart_by_all_their_bits_and_small_ones_keep_their_streams():
    for seed in (0, 7, 2**31, 2**32 - 1):
        assert (seed_key(seed) == jax.random.PRNGKey(seed)).all()
    seeds = (0, 1, 2**32, 2**32 + 1, 2**33, 2**64, 2**64 + 2**32)
    assert len({tuple(seed_key(seed).tolist()) for seed in seeds}) == len(seeds)
    with pytest.raises(UsageError, match="a seed is -1"):
        seed_key(-1)


def test_the_best_fraction_is_rounded_up_and_never_empty():
    returns = np.arange(30.0)[::-1]
    assert best_fraction(returns, 0.1).tolist() == [0, 1, 2]
    assert best_fraction(returns, 0.11).tolist() == [0, 1, 2, 3]
    assert best_fraction(np.zeros(3), 0.01).tolist() == [0]
    assert len(best_fraction(returns, 1.0)) == 30
    for wrong in (0.0, 1.1, float("nan")):
        with pytest.raises(UsageError, match="top"):
            View(top=wrong)


def test_a_run_in_python_has_the_numbers_that_the_command_gives_it():
    trained = train(DATA, make_runs(DATA, "iql", seeds=np.arange(1), **SMALL), steps=40, **QUIET)
    assert trained[0].run.agent.total_steps == 40  # its learning rate falls until then
    chosen = make_runs(DATA, "iql", total_steps=100, betas=np.float32(0.5), **SMALL)
    assert train(DATA, chosen, steps=40, **QUIET)[0].run.agent.total_steps == 100
    hopper = replace(DATA, name="rewind/hopper-medium-v1")
    td3_bc, rebrac = (make_runs(hopper, name)[0] for name in ("td3_bc", "rebrac"))
    for run, size in ((td3_bc, 256), (rebrac, 1024)):
        assert with_batch_size(Options(), [run], [hopper.name]).batch_size == size
    assert with_batch_size(Options(batch_size=8), [td3_bc, rebrac], [hopper.name] * 2).batch_size == 8
    with pytest.raises(UsageError, match="the papers have batches of 256 and 1024 here: give a batch_size"):
        train(hopper, [td3_bc, rebrac], steps=10)


def test_blocks_and_lines_of_the_log_are_whole_periods():
    (run,) = make_runs(DATA, "td3_bc", period=3, **SMALL)
    (trained,) = train(DATA, [run], steps=30, log_every=10, **QUIET)
    assert [record["step"] for record in trained.records] == [12, 24, 30]
    assert trained.block == 999


@pytest.mark.parametrize(("algorithm", "settings"), [("bc", {}), ("edac", {"ensemble": 1})])
def test_ranks_that_follow_critics_need_several(algorithm, settings):
    runs = make_runs(DATA, algorithm, samplers=["lower_uqm_unc"], **SMALL, **settings)
    first = make_runs(DATA, "td3_bc", **SMALL)  # of another group, before which the error comes
    with pytest.raises(UsageError, match=r"'lower_uqm_unc' ranks by how much critics disagree, but .* fewer than two"):
        Trainer(DATA, [*first, *runs], None, Options(steps=10, **QUIET))


def test_uniform_draws_are_trained_once_whatever_the_betas():
    runs = make_runs(DATA, "td3_bc", samplers=["baseline", "tr"], betas=[0.5, 0.25], seeds=range(2), **SMALL)
    assert [(run.sampler.name, run.agent.beta) for run in runs[::2]] == [("baseline", 1.0), ("tr", 0.5), ("tr", 0.25)]
    windows = make_runs(DATA, "td3_bc", samplers="baseline", betas=[0.5, 0.25], window=3, **SMALL)
    assert [run.agent.beta for run in windows] == [0.5, 0.25]
