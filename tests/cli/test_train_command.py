"""`rewind train`, end to end, small."""

import errno
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

for package in ("jax", "equinox", "optax", "tyro", "gymnasium"):
    pytest.importorskip(package)

import jax
from tests.helpers import make

import rewind
from rewind.agents import AGENTS
from rewind.cli import main, train_job
from rewind.cli.train_job import default_folder
from rewind.cli.train_options import AgentOptions, DataOptions, MemoryOptions, OutputOptions, TrainOptions
from rewind.data import save_npz
from rewind.evaluation import Curve, evaluation_steps
from rewind.evaluation.rows import read_jsonl
from rewind.evaluation.scoring import Scorer
from rewind.rebuilt.point import wander
from rewind.statistics import interval
from rewind.table import number
from rewind.training import Trained, make_runs
from rewind.training.policies import save_policies, to_policy
from rewind.training.view import make_normaliser

KITCHEN = Path(__file__).parents[2].parent / "shared" / "data" / "kitchen-complete-v0.hdf5"
TINY = ["--hidden", "8", "8", "--batch-size", "8", "--log-every", "10"]


@pytest.fixture(scope="module")
def points(tmp_path_factory):
    path = tmp_path_factory.mktemp("points") / "points.npz"
    save_npz(wander("umaze", 40), path)
    return str(path)


def run(*arguments):
    main(["train", *map(str, arguments)])


def fails(capsys, *arguments):
    """The one line that is printed for bad input."""
    capsys.readouterr()  # progress of what came before
    with pytest.raises(SystemExit) as stop:
        run(*arguments)
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("rewind: ") and error.count("\n") == 1, error
    return error


@pytest.mark.skipif(not KITCHEN.exists(), reason="shared data is not here")
def test_a_file_nobody_here_wrote_is_trained_on_without_a_simulator(tmp_path, capsys):
    pytest.importorskip("h5py")
    run(
        "--dataset", KITCHEN, "--samplers", "baseline", "tr", "--betas", "1", "0.5", "--seeds", "0", "1",
        "--steps", "20", "--out", tmp_path / "run", "--json", tmp_path / "figures.json", *TINY,
    )  # fmt: skip
    output = capsys.readouterr().out
    assert "no simulator" in output and "action_distance" in output
    results = json.loads((tmp_path / "figures.json").read_text())
    # The baseline carries nothing, so that beta changes nothing: it is trained once.
    assert [row["variant"] for row in results["variants"]] == ["baseline", "tr beta 1", "tr beta 0.5"]
    assert all(row["td_error"] > 0 for row in results["variants"])
    assert len(list((tmp_path / "run/policies").iterdir())) == 6


def test_training_in_a_maze_is_scored_resumed_and_its_policy_used(points, tmp_path, capsys):
    out = tmp_path / "run"
    arguments = ["--dataset", points, "--samplers", "tr", "avg_reward", "--seeds", "0", "1", "--out", out, *TINY]
    arguments += ["--episodes", "2", "--evaluate-every", "20"]
    run(*arguments, "--steps", "40")
    output = capsys.readouterr().out
    assert "evaluated on rewind/PointMaze-umaze-v0" in output and "interval" in output
    saved = json.loads((out / "config.json").read_text())
    assert saved["config"]["command"]["environment"] == "rewind/PointMaze-umaze-v0"
    assert saved["options"]["evaluate_every"] == 20 and saved["config"]["runs"][0]["agent"]["discount"] == 0.99
    assert saved["command"]["data"]["dataset"] == points
    assert saved["data"]["name"] == "rewind/point-umaze-wander-v0" and saved["data"]["trajectories"] == 40
    first = json.loads((out / "results.json").read_text())["runs"]
    assert first[0]["curve"]["steps"] == [20, 40]

    records = map(json.loads, (out / "group-0/metrics.jsonl").read_text().splitlines())
    played = {(r["step"], r["run"]): r["evaluation_seed"] for r in records if "evaluation_seed" in r}
    # Runs of one seed play the same episodes, whatever their sampler; each evaluation plays new ones.
    assert played[20, 0] == played[20, 2] and len(set(played.values())) == 4

    run(*arguments, "--steps", "60", "--resume")
    longer = json.loads((out / "results.json").read_text())["runs"]
    assert longer[0]["curve"]["steps"] == [20, 40, 60]
    assert longer[0]["curve"]["scores"][:2] == first[0]["curve"]["scores"]
    main(["report", str(out)])
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Training report" in page and "Avg. reward" in page
    policy = rewind.load_policy(longer[0]["policy"])
    assert policy.environment == "rewind/PointMaze-umaze-v0" and policy(np.zeros((5, 4))).shape == (5, 2)

    error = fails(capsys, *arguments, "--steps", "60", "--resume", "--set", "alpha=1")
    assert "holds another configuration: runs[0].agent.alpha: was 2.5, is 1.0" in error
    assert "resume it" in fails(capsys, *arguments, "--steps", "60")
    assert "is at step 60 already" in fails(capsys, *arguments, "--steps", "40", "--resume")


def test_longer_training_keeps_its_own_distance_of_evaluations(points, tmp_path):
    arguments = ["--dataset", points, "--algorithm", "bc", "--out", tmp_path, "--episodes", "1", *TINY]
    for steps in (40, 60):
        run(*arguments, "--steps", steps, "--resume")
        (only,) = json.loads((tmp_path / "results.json").read_text())["runs"]
        assert only["curve"]["steps"] == list(range(2, steps + 1, 2))  # 2: a twentieth of 40


def interrupt(*arguments):
    raise KeyboardInterrupt


def test_ctrl_c_saves_and_the_status_says_so(points, tmp_path, capsys, monkeypatch):
    evaluate = Scorer.evaluate

    def interrupted(*arguments):
        os.kill(os.getpid(), signal.SIGINT)
        return evaluate(*arguments)

    arguments = ["--dataset", points, "--algorithm", "bc", "--out", tmp_path, "--episodes", "1", *TINY]
    arguments += ["--evaluate-every", "20"]
    with monkeypatch.context() as patch, pytest.raises(SystemExit) as stop:
        patch.setattr(Scorer, "evaluate", interrupted)
        run(*arguments, "--steps", "40")
    assert stop.value.code == 130
    assert "stopped at step 20 of 40" in capsys.readouterr().err

    main(["report", str(tmp_path), "--markdown", str(tmp_path / "report.md")])
    assert "- Unfinished runs: 1\n" in (tmp_path / "report.md").read_text(encoding="utf-8")
    assert f"{tmp_path} has not finished: reported up to its evaluation at step 20" in capsys.readouterr().err

    with monkeypatch.context() as patch:
        patch.setattr("rewind.evaluation.rows.whole_file", no_space)
        error = fails(capsys, *arguments, "--steps", "40", "--resume")
    assert "No space left on device; the training is finished: make room" in error
    with monkeypatch.context() as patch, pytest.raises(SystemExit) as stop:
        patch.setattr("rewind.evaluation.rows.whole_file", interrupt)
        run(*arguments, "--steps", "40", "--resume")
    assert stop.value.code == 130 and "the training is finished: the same command with" in capsys.readouterr().err
    with monkeypatch.context() as patch, pytest.raises(SystemExit) as stop:
        patch.setattr("rewind.evaluation.rows.whole_file", unread)
        patch.setattr("os.dup2", lambda *files: None)  # what the command does with a standard output of its own
        patch.setattr(sys.stdout, "fileno", lambda: 1)
        run(*arguments, "--steps", "40", "--resume")
    assert stop.value.code == 141 and capsys.readouterr().err == ""
    run(*arguments, "--steps", "40", "--resume")
    (only,) = json.loads((tmp_path / "results.json").read_text())["runs"]
    assert only["curve"]["steps"] == [20, 40]

    config = json.loads((tmp_path / "config.json").read_text())
    assert config["runs"][0]["steps"] == 40
    config["config"]["runs"][0]["seed"] = 7
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(SystemExit):
        main(["report", str(tmp_path)])
    assert "two trainings were mixed" in capsys.readouterr().err


def unread(path):
    raise BrokenPipeError(errno.EPIPE, "Broken pipe")


def no_space(path):
    raise OSError(errno.ENOSPC, "No space left on device", str(path))


def test_the_default_folder_tells_trainings_apart(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    command = TrainOptions(DataOptions("a/x.npz"))
    first = default_folder(command, DATA)
    assert first.parent == Path("runs") and first.name.startswith("x-td3_bc-")
    others = [
        replace(command, agent=AgentOptions(seeds=(1,))),
        replace(command, memory=MemoryOptions(("baseline",))),
        replace(command, data=DataOptions("a/x.npz", top=0.5)),
    ]
    folders = {first, *(default_folder(other, DATA) for other in others), default_folder(command, make([9] * 21))}
    assert len(folders) == 5
    longer = replace(command, agent=AgentOptions(steps=7), output=OutputOptions(resume=True, log_every=3))
    assert default_folder(longer, DATA) == first, "it is resumed for more steps"
    assert default_folder(replace(command, data=DataOptions("b/x.npz")), DATA) == first, "the same data elsewhere"
    first.mkdir(parents=True)
    capsys.readouterr()
    resumed = replace(longer, agent=replace(longer.agent, betas=(0.25,)))
    assert default_folder(resumed, DATA) != first and f"--out resumes another: {first}" in capsys.readouterr().out
    assert default_folder(longer, DATA) == first and not capsys.readouterr().out
    Path("runs/x-td3_bc").mkdir(parents=True)
    assert default_folder(longer, DATA).name == "x-td3_bc", "as earlier versions called it"
    assert default_folder(command, DATA) == first


def test_an_option_that_is_added_renames_no_default_folder():
    @dataclass(frozen=True)
    class LaterOptions(AgentOptions):
        added: bool = False

    command = TrainOptions(DataOptions("x.npz"), AgentOptions(seeds=(1,)))
    later = replace(command, agent=LaterOptions(seeds=(1,)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train_job, "TrainOptions", partial(TrainOptions, agent=LaterOptions()))
        assert default_folder(later, DATA) == default_folder(command, DATA)
        added = replace(later, agent=LaterOptions(seeds=(1,), added=True))
        assert default_folder(added, DATA) != default_folder(command, DATA)
    seeded = replace(command, data=DataOptions("x.npz", hold_out_seed=1))
    assert default_folder(seeded, DATA) == default_folder(command, DATA), "nothing is held out"


def test_one_priority_and_one_beta_may_be_called_so(points, tmp_path):
    run("--dataset", points, "--priority", "uqm_reward", "--beta", "0.75", "--steps", "4", "--env", "none",
        "--out", tmp_path / "run", *TINY)  # fmt: skip
    (described,) = json.loads((tmp_path / "run/config.json").read_text())["config"]["runs"]
    assert (described["sampler"]["name"], described["agent"]["beta"]) == ("uqm_reward", 0.75)


def test_targets_are_bounded_by_the_rewards_as_the_agent_sees_them(points, tmp_path, capsys):
    for rewards, algorithm in (("raw", "iql"), ("minus_one", "td3_bc")):
        run("--dataset", points, "--bounded", "--rewards", rewards, "--steps", "4", "--env", "none",
            "--algorithm", algorithm, "--out", tmp_path / rewards, *TINY)  # fmt: skip
    found = [json.loads((tmp_path / name / "config.json").read_text())["config"]["runs"][0]["agent"] for name in
             ("raw", "minus_one")]  # fmt: skip
    for name in ("raw", "minus_one"):
        (result,) = json.loads((tmp_path / name / "results.json").read_text())["runs"]
        assert np.isfinite(result["q"]) and result["q_excess"] >= 0
        row = read_jsonl(tmp_path / name / "rows.jsonl")[-1]
        assert (row["q"], row["q_excess"]) == (result["q"], result["q_excess"])
    assert found[1]["target_low"] == pytest.approx(found[0]["target_low"] - 100, rel=1e-4)
    assert "iql, rebrac, td3_bc can" in fails(capsys, "--dataset", points, "--algorithm", "edac", "--bounded")


def test_numbers_are_swept_and_shapes_set(points, tmp_path, capsys):
    run("--dataset", points, "--algorithm", "edac", "--set", "eta=0,1", "ensemble=3", "--steps", "4",
        "--env", "none", "--out", tmp_path / "run", *TINY)  # fmt: skip
    runs = json.loads((tmp_path / "run/config.json").read_text())["config"]["runs"]
    assert [each["agent"]["eta"] for each in runs] == [0.0, 1.0]
    assert {each["agent"]["ensemble"] for each in runs} == {3}
    found = json.loads((tmp_path / "run/results.json").read_text())
    mean = np.mean([each["td_error"] for each in found["runs"] if "eta 0" in each["name"]])
    assert found["variants"][0]["td_error"] == pytest.approx(mean)
    assert f"policies/000 ({found['runs'][0]['name']}) ... 001 (" in capsys.readouterr().out
    main(["report", str(tmp_path / "run"), "--markdown", str(tmp_path / "report.md")])
    told = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert all(f"| TR{name} | {number(found['variants'][at]['td_error'])} |" in told
               for at, name in enumerate((" (eta 0.0)", "")))  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--algorithm", "td3bc"], "unknown algorithm 'td3bc': did you mean 'td3_bc'"),
        (["--samplers", "uqm_rewards"], "unknown sampler 'uqm_rewards': did you mean 'uqm_reward'"),
        (["--set", "critic_rat=1"], "unknown number of TD3BC 'critic_rat': did you mean 'critic_rate'"),
        (["--set", "alpha=much"], "--set alpha=much: expected a number"),
        (["--set", "alpha"], "--set alpha: expected NAME=NUMBER"),
        (["--set", "alpha=1,1"], "--set alpha=1,1: expected different values"),
        (["--set", "beta=1"], "--set beta: it comes from --betas"),
        (["--checkpoint-minutes", "nan"], "checkpoint_minutes is nan; expected 0 or more"),
        (["--set", "discount=2"], "discount is 2; expected a number from 0 to 1"),
        (["--set", "critic_rate=-1"], "critic_rate is -1; expected at least 0"),
        (["--betas", "2"], "--betas has 2; expected numbers from 0 to 1"),
        (["--betas", "paper"], "the paper gives no beta"),
        (["--seeds", "1", "1"], "--seeds is 1 1; expected different values"),
        (["--seeds", "-1"], "--seeds has -1; expected 0 or more"),
        (["--evaluation-seed", "-2"], "--evaluation-seed has -2; expected 0 or more"),
        (["--hidden", "8", "0"], "hidden is (8, 0); expected at least 1"),
        (["--steps", "0"], "--steps is 0"),
        (["--block", "0"], "--block is 0; expected at least 1"),
        (["--log-every", "0"], "--log-every is 0; expected at least 1"),
        (
            ["--samplers", "return", "--weighting", "softmax", "--rank-exponent", "2"],
            "--rank-exponent 2 is for --weighting rank, not for --weighting softmax: leave one of them out",
        ),
        (["--samplers", "tr", "--weighting", "softmax", "--rank-exponent", "2"], "is for --weighting rank, not for"),
        (
            ["--samplers", "return", "--weighting-temperature", "2"],
            "--weighting-temperature 2 is for --weighting softmax or proportional",
        ),
        (["--rank-exponent", "2"], "--rank-exponent 2: no sampler ranks trajectories; add a priority to --samplers"),
        (["--samplers", "baseline", "tr", "--weighting", "softmax"], "--weighting softmax: no sampler ranks"),
        (["--steps", "5"], "expected a multiple of the agent's period"),
        (["--rewards", "minus_ones"], "unknown reward transform 'minus_ones': did you mean 'minus_one'"),
        (["--priority-alpha", "2"], "--priority-alpha is now --rank-exponent"),
        (["--reuse", "epochs"], "unknown reuse 'epochs': did you mean 'epoch'"),
        (["--env", "Hoper-v4"], "unknown environment 'Hoper-v4': did you mean 'Hopper-v4'"),
        (["--env", "Pendulum-v1"], "Pendulum-v1 has observations of shape (3,), the data of (4,)"),
        (["--device", "tpu"], "no device 'tpu' here; there is: "),
    ],
)
def test_bad_input_is_one_line_that_says_what_to_do(points, tmp_path, capsys, arguments, message):
    given = [] if "--steps" in arguments else ["--steps", "10"]
    assert message in fails(capsys, "--dataset", points, "--out", tmp_path / "run", *TINY, *given, *arguments)
    assert not (tmp_path / "run").exists()


def test_a_folder_where_training_could_not_begin_is_as_good_as_new(points, tmp_path, capsys):
    arguments = ["--dataset", points, "--out", tmp_path, "--env", "none", "--steps", "4", *TINY]
    assert "block is 7; expected a multiple" in fails(capsys, *arguments, "--block", "7")
    run(*arguments)
    assert "resume it" in fails(capsys, *arguments)


def test_a_folder_that_cannot_be_is_one_line(points, tmp_path, capsys):
    (tmp_path / "file").touch()
    error = fails(capsys, "--dataset", points, "--out", tmp_path / "file", "--env", "none", "--steps", "4", *TINY)
    assert f"{tmp_path / 'file'}: File exists" in error


def test_an_unknown_data_set_is_one_line_with_the_nearest(tmp_path, capsys):
    error = fails(capsys, "--dataset", "hopper-medium-v3", "--out", tmp_path / "run")
    assert "unknown data set 'hopper-medium-v3': did you mean 'hopper-medium-v2'" in error


def test_an_environment_whose_package_is_missing_is_named_before_training(points, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "gymnasium_robotics", None)
    error = fails(capsys, "--dataset", points, "--env", "AdroitHandPen-v1", "--out", tmp_path / "run", *TINY)
    assert "[robotics]'" in error and "--env none" in error
    assert not (tmp_path / "run").exists()


DATA = make([9] * 20, known=1.0)


@pytest.mark.parametrize("algorithm", sorted(name for name, kind in AGENTS.items() if not kind.discrete))
def test_a_saved_policy_acts_as_the_agent_to_a_millionth(algorithm, tmp_path):
    (described,) = make_runs(DATA, algorithm, hidden=(64, 64))
    state = described.agent.init(jax.random.PRNGKey(3), 8)
    weights = jax.tree.map(lambda leaf: np.asarray(3 * leaf), described.agent.policy(state))
    trained = Trained(described, weights, make_normaliser(DATA, True), alive=True)
    to_policy(trained, {"note": "x"}).save(tmp_path)
    policy = rewind.load_policy(tmp_path)
    observations = np.random.default_rng(0).standard_normal((200, 3))
    np.testing.assert_allclose(policy(observations), trained.act(observations), atol=1e-6)
    np.testing.assert_allclose(policy(observations[0]), policy(observations)[0], atol=1e-6)
    assert policy.provenance["note"] == "x"


def test_a_policy_that_acts_in_its_own_way_is_not_saved_and_a_line_says_so(tmp_path, capsys):
    class Shy(AGENTS["td3_bc"]):
        def act(self, policy, observations):
            return 0.1 * super().act(policy, observations)

    (usual,) = make_runs(DATA, "td3_bc", hidden=(8, 8))
    shy = replace(usual, agent=Shy(usual.agent.observation_size, usual.agent.action_size, hidden=(8, 8)))
    weights = jax.tree.map(np.asarray, usual.agent.policy(usual.agent.init(jax.random.PRNGKey(3), 8)))
    trained = [Trained(run, weights, make_normaliser(DATA, True), alive=True) for run in (shy, usual)]
    folders = save_policies(trained, tmp_path, {})
    assert folders == {1: tmp_path / "policies/001"} and folders[1].is_dir()
    assert "run 0: a policy of Shy cannot be saved" in capsys.readouterr().out


def test_a_policy_is_shown_by_its_sizes_not_by_its_numbers():
    policy = rewind.Policy([np.ones((3, 8)), np.ones((8, 2))], [np.zeros(8), np.zeros(2)], np.zeros(3), np.ones(3))
    assert repr(policy) == "Policy(no name: 3 observations, hidden (8), 2 actions)"


def test_a_saved_policy_needs_numpy_alone(tmp_path):
    policy = rewind.Policy([np.eye(3, 2)], [np.zeros(2)], np.zeros(3), np.ones(3))
    policy.save(tmp_path)
    blocked = ("jax", "equinox", "optax", "numba", "gymnasium", "torch", "h5py")
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({blocked!r}))\n"
        f"import rewind; print(*rewind.load_policy({str(tmp_path)!r})([0.1, 0.2, 0.3]))"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    np.testing.assert_allclose([float(number) for number in printed.split()], np.tanh([0.1, 0.2]), atol=1e-6)


def test_a_policy_is_checked_when_it_is_made_and_when_it_is_read(tmp_path):
    parts = ([np.ones((3, 2))], [np.zeros(2)], np.zeros(3), np.ones(3))
    for bounds in ((-np.inf, np.inf), (np.nan, 1), (1, -1), ([0, 0, 0], 1)):
        with pytest.raises(rewind.DataError, match="action_low"):
            rewind.Policy(*parts, *bounds)
    rewind.Policy(*parts, [0, 0], [100, 1]).save(tmp_path)
    about = (tmp_path / "policy.json").read_text()
    (tmp_path / "policy.json").write_text(about.replace("100.0", "101.0"))
    with pytest.raises(rewind.DataError, match="its digest is another one"):
        rewind.load_policy(tmp_path)
    (tmp_path / "policy.json").write_text(about)
    with np.load(tmp_path / "policy.npz") as archive:
        np.savez(tmp_path / "policy.npz", **{**archive, "mean": np.ones(3, np.float32)})
    with pytest.raises(rewind.DataError, match="its digest is another one"):
        rewind.load_policy(tmp_path)


def test_what_is_no_policy_is_said_clearly(tmp_path):
    with pytest.raises(rewind.DataError, match=r"no policy in .*expected a folder with policy\.json"):
        rewind.load_policy(tmp_path)
    policy = rewind.Policy([np.ones((3, 2))], [np.zeros(2)], np.zeros(3), np.ones(3))
    policy.save(tmp_path / "policies/000")
    with pytest.raises(rewind.DataError, match=r"policy\.json is a file; expected a folder"):
        rewind.load_policy(tmp_path / "policies/000/policy.json")
    with pytest.raises(rewind.DataError, match=r"there are 1 inside it, the first is .*policies/000"):
        rewind.load_policy(tmp_path)
    with pytest.raises(rewind.UsageError, match=r"shape \(4,\); this policy takes \(..., 3\)"):
        policy(np.zeros(4))
    archive = tmp_path / "policies/000/policy.npz"
    archive.write_bytes(archive.read_bytes()[:100])
    with pytest.raises(rewind.DataError, match="is incomplete or damaged"):
        rewind.load_policy(archive.parent)
    with pytest.raises(rewind.DataError, match="do not fit each other"):
        rewind.Policy([np.ones((3, 2))], [np.zeros(3)], np.zeros(3), np.ones(3))


def test_the_score_is_of_the_papers_evaluations_whatever_was_taken_between_them():
    steps = np.array(evaluation_steps(6000, 700))
    assert set(steps) >= {2000, 3000, 4000, 5000, 6000, 5600}
    one = Curve(steps, np.where(steps % 1000, 99.0, steps / 1000))
    assert (one.score, one.evaluations, one.last, one.best) == (4.0, 5, 6.0, 99.0)
    short = Curve(np.array([100, 200]), np.array([1.0, 2.0]))
    assert (short.score, short.evaluations) == (2.0, 1)


def test_an_interval_holds_the_mean_and_one_run_has_none():
    low, high = interval([0.0, 10.0, 20.0, 30.0])
    assert low < 15 < high and high - 15 == pytest.approx(3.18245 * np.sqrt(500 / 3 / 4), rel=1e-5)
    assert interval([1.0]) is None
