"""`rewind export` and `rewind watch`."""

import sys
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("tyro")

from rewind import Policy, UsageError, load_policy
from rewind.cli import main
from rewind.guard import support_of


def policy(environment, observation, action, folder, bounds=(-1, 1)):
    """Random, with two layers and a normaliser."""
    rng = np.random.default_rng(0)
    made = Policy(
        [rng.standard_normal((observation, 16)), rng.standard_normal((16, action))],
        [rng.standard_normal(16), rng.standard_normal(action)],
        rng.standard_normal(observation),
        rng.uniform(0.5, 2.0, observation),
        *bounds,
        {"environment": environment},
    )
    return made, made.save(folder)


def test_the_onnx_model_acts_as_the_policy(tmp_path, capsys):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    made, folder = policy("Hopper-v4", 5, 3, tmp_path / "policy", ([0, -1, 2], [100, 1, 2.5]))
    main(["export", str(folder), "--onnx", str(tmp_path / "policy.onnx")])
    assert "actions (rows, 3)" in capsys.readouterr().out
    session = runtime.InferenceSession(str(tmp_path / "policy.onnx"), providers=["CPUExecutionProvider"])
    observations = np.random.default_rng(1).standard_normal((50, 5)).astype(np.float32)
    (actions,) = session.run(["actions"], {"observations": observations})
    np.testing.assert_allclose(actions, made(observations), rtol=1e-5, atol=1e-5)
    assert (actions >= [0, -1, 2]).all() and (actions <= [100, 1, 2.5]).all()
    assert session.get_modelmeta().custom_metadata_map == {
        "environment": "Hopper-v4",
        "action_low": "[0.0, -1.0, 2.0]",
        "action_high": "[100.0, 1.0, 2.5]",
    }


@pytest.mark.parametrize(("path", "error"), [("policy.txt", "does not end in .onnx"), ("a/b.onnx", "no folder")])
def test_export_refuses_another_suffix_and_makes_no_folder(tmp_path, capsys, path, error):
    _, folder = policy(None, 5, 3, tmp_path / "policy")
    with pytest.raises(SystemExit):
        main(["export", str(folder), "--onnx", str(tmp_path / path)])
    assert error in capsys.readouterr().err and [each.name for each in tmp_path.iterdir()] == ["policy"]


def test_a_limit_without_a_fallback_is_an_error(tmp_path, capsys):
    _, folder = policy("Hopper-v4", 5, 3, tmp_path / "policy")
    for limit in ("2", "1"):
        with pytest.raises(SystemExit) as stop:
            main(["export", str(folder), "--onnx", str(tmp_path / "policy.onnx"), "--limit", limit])
        error = capsys.readouterr().err
        assert stop.value.code == 2 and f"--limit {limit} without --fallback guards nothing" in error
    with pytest.raises(SystemExit):
        main(["export", str(folder), "--onnx", str(tmp_path / "policy.onnx"), "--fallback"])
    assert "--fallback is empty; expected the action" in capsys.readouterr().err
    for limit in (2.0, None):
        with pytest.raises(UsageError, match=f"limit is {limit} without a fallback, so nothing is guarded"):
            load_policy(folder, limit=limit)
    assert not (tmp_path / "policy.onnx").exists()


def test_the_command_exports_a_guard_and_says_so_and_a_policy_without_a_record_gets_one_line(tmp_path, capsys):
    onnx = pytest.importorskip("onnx")
    made, folder = policy(None, 5, 3, tmp_path / "old")
    arguments = ["--onnx", str(tmp_path / "policy.onnx"), "--fallback", "0.5", "--clip"]
    with pytest.raises(SystemExit):
        main(["export", str(folder), *arguments])
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "saved without the range of its training data" in error
    rng = np.random.default_rng(0)
    support = support_of(rng.random((50, 5)), rng.uniform(-0.5, 0.5, (50, 3)))
    replace(made, support=support).save(tmp_path / "new")
    main(["export", str(tmp_path / "new"), *arguments])
    assert "fell_back (rows,), where the action is 0.5" in capsys.readouterr().out
    names = [output.name for output in onnx.load(tmp_path / "policy.onnx").graph.output]
    assert names == ["actions", "fell_back"]


def frames(path):
    return pytest.importorskip("imageio.v3").imread(path)


def test_a_point_maze_is_filmed_from_above(tmp_path, capsys):
    for package in ("gymnasium", "matplotlib", "imageio"):
        pytest.importorskip(package)
    _, folder = policy("rewind/PointMaze-umaze-v0", 4, 2, tmp_path)
    main(["watch", str(folder), "--frames", "12"])
    assert "drawn by: from above" in capsys.readouterr().out
    film = frames(folder / "episode.gif")
    assert film.ndim == 4 and len(film) > 1 and film.std() > 5
    assert (film[0] != film[-1]).any()


def test_a_film_can_be_an_mp4(tmp_path):
    for package in ("gymnasium", "matplotlib", "imageio", "imageio_ffmpeg"):
        pytest.importorskip(package)
    _, folder = policy("rewind/PointMaze-umaze-v0", 4, 2, tmp_path)
    main(["watch", str(folder), "--frames", "12", "--out", str(tmp_path / "x.mp4")])
    assert (tmp_path / "x.mp4").stat().st_size > 500


def test_a_long_episode_plays_faster_and_a_fast_simulation_slower():
    for package in ("gymnasium", "matplotlib"):
        pytest.importorskip(package)
    from rewind.report.watch import film_episode, pace

    idle = Policy([np.zeros((4, 2))], [np.zeros(2)], np.zeros(4), np.ones(4))
    film = film_episode(idle, "rewind/PointMaze-umaze-v0", 0, most_frames=60, size=60)
    assert (film.steps, len(film.frames)) == (150, 39)  # every fourth, and the last
    assert (film.frames_per_second, film.speed) == (15, pytest.approx(4 * 15 / 10))
    assert pace(125.0) == (30, pytest.approx(0.24))  # Hopper
    assert pace(20.0) == (20, 1)


@pytest.mark.parametrize(
    ("package", "film", "extra"),
    [("gymnasium", "x.gif", "envs"), ("imageio", "x.gif", "video"), ("imageio_ffmpeg", "x.mp4", "video")],
)
def test_a_film_that_lacks_a_package_names_its_extra(tmp_path, capsys, monkeypatch, package, film, extra):
    _, folder = policy("rewind/PointMaze-umaze-v0", 4, 2, tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SystemExit):
        main(["watch", str(folder), "--out", str(tmp_path / film)])
    said = capsys.readouterr().err
    assert f"'{package}', which is not installed: pip install " in said and f"[{extra}]'" in said


def first_action(environment, observation, actions, folder):
    """A policy that always takes the first of its discrete actions."""
    layer, bias = np.zeros((observation, actions)), np.eye(actions)[0]
    mean, scale = np.zeros(observation), np.ones(observation)
    return Policy([layer], [bias], mean, scale, provenance={"environment": environment}, discrete=True).save(folder)


def test_a_grid_world_draws_its_walls_goal_and_agent(tmp_path, capsys):
    pytest.importorskip("gymnasium")
    pytest.importorskip("imageio")
    from rewind.envs.gridworld import AGENT, FLOOR, GOAL, PIXELS, WALL, GridWorld

    env = GridWorld()
    folder = first_action("rewind/GridWorld-large-v0", len(env.numbers), 4, tmp_path)
    main(["watch", str(folder), "--frames", "101"])
    assert "drawn by: its own renderer" in capsys.readouterr().out
    cells = frames(folder / "episode.gif")[:, ::PIXELS, ::PIXELS]
    assert ((cells == WALL).all(-1) == env.maze.walls).all() and (cells[0][env.goal] == GOAL).all()
    assert {tuple(colour) for colour in cells[0].reshape(-1, 3).tolist()} == {FLOOR, WALL, GOAL, AGENT}
    agent = np.argwhere((cells == AGENT).all(-1))  # frame, row, column
    assert len(agent) == len(cells) > 1 and (np.diff(agent, axis=0) == (1, 0, 1)).all()  # to the right


@pytest.mark.parametrize(("environment", "observation", "action"), [("CartPole-v1", 4, 2), ("Acrobot-v1", 6, 3)])
def test_a_film_that_lacks_pygame_says_so_in_one_line(tmp_path, capsys, monkeypatch, environment, observation, action):
    pytest.importorskip("gymnasium")
    pytest.importorskip("imageio")
    folder = first_action(environment, observation, action, tmp_path)
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(SystemExit):
        main(["watch", str(folder)])
    error = capsys.readouterr().err
    assert "'pygame', which is not installed: pip install pygame" in error and error.count("\n") == 1


def test_an_ant_that_nothing_can_render_is_drawn_from_above(tmp_path, monkeypatch, capsys):
    for package in ("mujoco.batch", "matplotlib", "imageio"):
        pytest.importorskip(package)
    from rewind.envs.batched import MujocoEnv
    from rewind.errors import UsageError

    def cannot(self, height, width):
        raise UsageError("MuJoCo cannot draw here")

    monkeypatch.setattr(MujocoEnv, "_make_renderer", cannot)
    monkeypatch.chdir(tmp_path)
    _, folder = policy("rewind/AntMaze-umaze-v2", 29, 8, tmp_path)
    main(["watch", str(folder), "--frames", "4"])
    assert "drawn by: from above" in capsys.readouterr().out
    assert len(frames(folder / "episode.gif")) >= 1


@pytest.mark.parametrize(
    ("environment", "arguments", "message"),
    [
        (None, [], "was trained without a simulator; choose an environment: --env NAME"),
        ("rewind/PointMaze-umaze-v0", ["--out", "film.avi"], "expected a video with the ending .gif or .mp4"),
        ("rewind/PointMaze-umaze-v0", ["--frames", "1"], "--frames is 1"),
        ("rewind/PointMaze-umaz-v0", [], "unknown environment 'rewind/PointMaze-umaz-v0': did you mean"),
        ("evil:Env-v0", [], "names the environment 'evil:Env-v0', which would import a module that the file chose"),
        ({"id": "x"}, [], "names the environment {'id': 'x'}"),
        ("rewind/AntMaze-umaze-v2", [], "rewind/AntMaze-umaze-v2 has observations of shape (29,), this policy of (4,)"),
    ],
)
def test_bad_input_is_one_line(tmp_path, capsys, monkeypatch, environment, arguments, message):
    pytest.importorskip("gymnasium")
    if environment and "Ant" in environment:
        pytest.importorskip("mujoco.batch")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "evil.py").write_text("open('imported', 'w')")
    _, folder = policy(environment, 4, 2, tmp_path / "policy")
    with pytest.raises(SystemExit):
        main(["watch", str(folder), *arguments])
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not (tmp_path / "imported").exists()
