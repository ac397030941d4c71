"""Behaviour policies are trained, stopped, resumed and chosen."""

import json
import shutil

import numpy as np
import pytest

jax = pytest.importorskip("jax")
pytest.importorskip("equinox")
pytest.importorskip("mujoco")

from rewind.agents.agent import Transitions
from rewind.agents.edac import EDAC
from rewind.agents.networks import MLP
from rewind.errors import DataError, UsageError
from rewind.rebuilt.policy import load_behaviour
from rewind.training.options import Stopped
from rewind_lab.behaviour import judge
from rewind_lab.behaviour.judge import Snapshot, best_run, choose, ship
from rewind_lab.behaviour.online import AllPlayers, BehaviourPlan, Online, Players, TimeOver, snapshots
from rewind_lab.behaviour.sac import SAC, draw, insert, make_ring, pack, unpack
from rewind_lab.behaviour.shipped import described, shipped
from rewind_lab.behaviour.walk import Walk

TINY = {"seeds": (0, 7), "copies": 4, "rounds": 4, "random": 64, "batch_size": 16, "capacity": 512, "early": 96}


def random_batch(stream, rows=16):
    draw_ = stream.standard_normal
    return Transitions(
        *(jax.numpy.asarray(array, jax.numpy.float32) for array in (
            draw_((1, rows, 5)), np.tanh(draw_((1, rows, 2))), draw_((1, rows)), draw_((1, rows, 5)))),
        jax.numpy.asarray(stream.random((1, rows)) < 0.1), jax.numpy.ones((1, rows), bool),
    )  # fmt: skip


def test_sac_is_edac_with_two_critics_and_no_diversity():
    """The loss of the critics is all that it has of its own."""
    sizes = {"observation_size": 5, "action_size": 2, "hidden": (8, 8), "ensemble": 2}
    (batch,) = random_batch(np.random.default_rng(0)).split(1)
    critics = MLP(jax.random.PRNGKey(0), [7, 8, 8, 1], ensemble=2)
    own = {name for name, value in vars(SAC).items() if callable(value) and not name.startswith("_")}
    assert own == {"critic_loss"}
    found = []
    for agent in (SAC(**sizes), EDAC(**sizes, eta=0.0)):
        judged = jax.jit(jax.value_and_grad(agent.critic_loss, has_aux=True))
        (loss, (q, _)), gradients = judged(critics, batch, batch.rewards)
        found.append(jax.tree.leaves((loss, q, gradients)))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_a_ring_keeps_the_newest():
    ring = make_ring(6, 2)
    for first in range(0, 10, 2):
        ring = insert(ring, np.full((2, 2), first, np.float32))
    assert sorted(np.asarray(ring.rows)[:, 0].tolist()) == [4, 4, 6, 6, 8, 8]
    assert (int(ring.size), int(ring.position)) == (6, 4)


def test_rows_come_out_as_they_went_in():
    stream = np.random.default_rng(0)
    agent = SAC(3, 2)
    given = (
        stream.random((4, 3)),
        stream.random((4, 2)),
        stream.random((4, 3)),
        stream.random(4),
        stream.random(4) > 0.5,
    )
    batch = unpack(agent, jax.numpy.asarray(pack(*given)))
    for ours, theirs in zip(
        (batch.observations, batch.actions, batch.next_observations, batch.rewards, batch.terminals), given, strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert bool(batch.fresh.all())


def test_players_store_the_state_before_a_reset_and_never_call_a_timeout_terminal():
    plan = BehaviourPlan("HalfCheetah-v4", **TINY)
    players = Players(plan)
    players.env.max_episode_steps = 3
    rows = players.play(4, None).reshape(2, 4, 4, -1)  # (runs, rounds, copies, width)
    seen, following, terminal = rows[..., :17], rows[..., 23:40], rows[..., -1]
    assert not terminal.any()
    np.testing.assert_array_equal(seen[:, 1:3], following[:, :2])  # within the episode the next is the next
    assert not np.allclose(seen[:, 3], following[:, 2])  # a new episode begins
    assert [len(each) for each in players.take_ended()] == [4, 4]


def test_a_resumed_training_plays_other_episodes_than_it_began_with():
    plan = BehaviourPlan("HalfCheetah-v4", **TINY)
    begun, again, resumed = (Players(plan, step).play(2, None) for step in (0, 0, 64))
    np.testing.assert_array_equal(begun, again)
    assert not np.isclose(begun[..., 17:23], resumed[..., 17:23]).any()  # actions


def test_every_walk_has_a_run_of_every_seed():
    walks = (Walk("umaze", ends=False), Walk("open"))
    plan = BehaviourPlan("ant", **TINY, walks=walks)
    together = AllPlayers(plan, 0)
    rows = together.play(2, None)
    alone = [Players(plan, 0, walk).play(2, None) for walk in walks]
    np.testing.assert_array_equal(rows, np.concatenate(alone))
    assert [len(together.take_ended()), len(together.take_counts())] == [4, 4]


def test_sizes_that_make_no_progress_are_refused(tmp_path):
    for wrong in ({"rounds": 0}, {"copies": 0}, {"steps": 0}):
        with pytest.raises(UsageError, match=f"{next(iter(wrong))} is 0"):
            Online(BehaviourPlan("Hopper-v4", **{**TINY, **wrong}), tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def online(tmp_path_factory):
    """A training that was stopped by its budget and resumed to the end."""
    folder = tmp_path_factory.mktemp("hopper")
    with pytest.raises(TimeOver, match="time limit reached at step") as over:
        Online(BehaviourPlan("Hopper-v4", steps=320, **TINY), folder).train(budget=0.0)
    assert isinstance(over.value, Stopped) and over.value.exit_status == 0  # as was asked for
    stopped = Online(BehaviourPlan("Hopper-v4", steps=320, **TINY), folder, resume=True)
    assert 0 < stopped.step < 320
    with (folder / "curve.jsonl").open("a") as file:  # as if it had gone on after the checkpoint, and been killed
        file.writelines(json.dumps({"step": step, "run": 0}) + "\n" for step in (stopped.step, 310))
    stopped.train()
    return stopped


@pytest.fixture(scope="module")
def trained(online):
    """Its folder."""
    return online.out


def test_the_host_draws_the_actions_the_agent_would(online):
    stream = np.random.default_rng(0)
    seen, noise = (stream.standard_normal((2, 5, size)).astype(np.float32) for size in (11, 3))
    ours = draw(*online.learners.actors(), seen, noise)
    theirs = jax.vmap(lambda actor, s, n: actor.sample(s, n)[0])(online.learners.state.actor.params, seen, noise)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_training_leaves_snapshots_that_differ(trained):
    found = list(snapshots(trained))
    assert [step for step, _, _ in found] == [96, 192, 288, 320]
    assert [w.shape for w in found[0][1]] == [(2, 11, 256), (2, 256, 256), (2, 256, 6)]
    assert not np.allclose(found[1][1][0], found[-1][1][0])


def test_a_finished_training_can_be_gone_on_with_from_its_end(online, tmp_path):
    shutil.copytree(online.out, tmp_path, dirs_exist_ok=True)
    longer = Online(BehaviourPlan("Hopper-v4", steps=352, **TINY), tmp_path, resume=True)
    assert longer.step == online.step == 320
    jax.tree.map(np.testing.assert_array_equal, longer.learners.state, online.learners.state)
    longer.train()
    assert longer.learners.rings.size.tolist() == [352, 352]  # all is kept, though it was more than planned at first
    np.testing.assert_array_equal(longer.learners.rings.rows[:, :320], online.learners.rings.rows)
    assert [step for step, _, _ in snapshots(tmp_path)][-2:] == [320, 352]


def test_what_came_after_the_checkpoint_is_in_the_curve_once(trained):
    steps = [json.loads(line)["step"] for line in (trained / "curve.jsonl").read_text().splitlines()]
    assert steps and 310 not in steps


def test_a_folder_is_not_overwritten_and_resumed_only_as_it_was(trained):
    with pytest.raises(UsageError, match="already contains a training"):
        Online(BehaviourPlan("Hopper-v4", steps=320, **TINY), trained)
    with pytest.raises(UsageError, match="discount"):
        Online(BehaviourPlan("Hopper-v4", steps=320, discount=0.9, **TINY), trained, resume=True)


@pytest.mark.parametrize("task", ["Hoper-v4", "Pendulum-v1", "Ant-v4"])
def test_tasks_that_cannot_be_trained_on_are_refused_with_those_that_can(task, tmp_path):
    with pytest.raises(UsageError, match=f"{task}.*known: HalfCheetah-v4, Hopper-v4, Walker2d-v4, ant"):
        Online(BehaviourPlan(task), tmp_path)


def test_fewer_steps_than_there_were_change_nothing(trained):
    before = (trained / "config.json").read_bytes()
    Online(BehaviourPlan("Hopper-v4", steps=160, **TINY), trained, resume=True).train()
    assert (trained / "config.json").read_bytes() == before


def test_a_training_shorter_than_a_period_has_a_curve_too(trained):
    lines = [json.loads(line) for line in (trained / "curve.jsonl").read_text().splitlines()]
    assert {line["run"] for line in lines if line["step"] == 320} == {0, 1}


def snapshot(run, step, mean):
    return Snapshot(run, step, [np.full((1, 1), mean)], [np.zeros(1)], np.array([mean]))


def test_choosing_by_the_stated_rule(monkeypatch):
    """Returns are the weights: expert is the best of its run, medium a third of it, stages lie before and below."""
    monkeypatch.setattr(judge, "judge", lambda task, found, episodes, seed=0: list(found))
    own = [snapshot(0, step, mean) for step, mean in ((10, 5.0), (20, 1200.0), (30, 900.0), (40, 3300.0), (50, 3000.0))]
    other = [snapshot(1, step, mean) for step, mean in ((10, 400.0), (20, 2000.0), (30, 9000.0))]
    chosen = choose("Hopper-v4", sorted(own + other, key=lambda one: one.step), run=0)
    assert chosen["hopper-expert"].step == 40
    assert (chosen["hopper-medium"].run, chosen["hopper-medium"].step) == (0, 20)
    stages = [(one.run, one.step) for name, one in chosen.items() if "replay" in name]
    assert stages == [(0, 10), (1, 10), (0, 20)]


def test_shipping_writes_policies_that_load(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(judge, "FINAL_EPISODES", 2)
    (trained / "curve.jsonl").write_text(
        "\n".join(json.dumps({"step": 320, "run": run, "return": 10.0 * run}) for run in range(2)) + "\n"
    )
    assert best_run(trained) == 1
    policies = ship(trained, tmp_path, episodes=2)
    assert {"hopper-expert", "hopper-medium", "hopper-replay-0"} <= set(policies)
    loaded = load_behaviour(tmp_path / "hopper-expert.npz")
    assert loaded.meta["environment"] == "Hopper-v4" and loaded.meta["seed"] == 7
    with pytest.raises(UsageError, match="no run 2; expected 0 to 1"):
        ship(trained, tmp_path, run=2)
    assert loaded.mode(np.zeros((3, 11))).shape == (3, 3)
    assert all("score" in row for row in described(policies))


def test_every_policy_that_ships_is_described():
    assert [row["policy"] for row in described(shipped())] == list(shipped())


def test_shipping_from_an_empty_folder_says_so(tmp_path):
    with pytest.raises(DataError, match="contains no training"):
        ship(tmp_path, tmp_path)


def test_a_training_without_finished_episodes_says_what_to_do(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    (tmp_path / "run" / "curve.jsonl").write_text("")
    with pytest.raises(DataError, match=r"no episode ended.*--seed-index"):
        ship(tmp_path / "run", tmp_path)
    with pytest.raises(UsageError, match="episodes is 0"):
        ship(tmp_path / "run", tmp_path, run=0, episodes=0)


def test_curves_need_finished_episodes_and_are_named_after_their_folders(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    from rewind_lab.behaviour import plot as behaviour_plot

    folder = tmp_path / "Hopper-v4"
    folder.mkdir()
    for content, told in (
        ("", "no finished episodes"),
        ('{"step": 1, "run": 0}\n', "no finished episodes"),
        ("x", "not a curve"),
    ):
        (folder / "curve.jsonl").write_text(content)
        with pytest.raises(DataError, match=told):
            behaviour_plot.draw_curves([folder / "curve.jsonl"], tmp_path)
    (folder / "curve.jsonl").write_text('{"step": 1, "run": 0, "return": 2.0}\n')
    shown = []
    monkeypatch.setattr(behaviour_plot, "save", lambda figure, folder, name: shown.append(figure))
    behaviour_plot.draw_curves([folder / "curve.jsonl"], tmp_path)
    assert shown[0].axes[0].get_title(loc="left") == "Hopper-v4"


def test_damaged_folders_are_named(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    (tmp_path / "run" / "snapshots" / "step-0000000192.npz").write_bytes(b"x")
    with pytest.raises(DataError, match=r"step-0000000192\.npz is damaged; delete it"):
        ship(tmp_path / "run", tmp_path, run=0)
    (tmp_path / "run" / "config.json").write_text("{")
    with pytest.raises(DataError, match=r"config\.json is damaged"):
        Online(BehaviourPlan("Hopper-v4", steps=320, **TINY), tmp_path / "run", resume=True)
