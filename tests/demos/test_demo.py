"""`rewind demo`, tiny, and what it says of what it found."""

import json

import numpy as np
import pytest

for package in ("jax", "equinox", "tyro", "gymnasium", "matplotlib"):
    pytest.importorskip(package)

from rewind import load_policy
from rewind.cli import main
from rewind.data import load
from rewind.demos.demo import UNIFORM, WAYS, WEIGHTED, WINDOW, _compare


def test_the_demo_makes_data_trains_all_ways_together_and_draws(tmp_path, capsys):
    arguments = ["--maze", "umaze", "--trajectories", "60", "--seeds", "2", "--steps", "51", "--episodes", "2"]
    main(["demo", "--out", str(tmp_path), *arguments, "--batch-size", "8", "--hidden", "8"])
    printed = capsys.readouterr().out
    assert "compared with uniform" in printed and all(name in printed for name in WAYS)
    assert "What backward order buys" in printed
    results = json.loads((tmp_path / "results.json").read_text())
    assert [row["variant"] for row in results["variants"]] == list(WAYS)
    assert all(row["seconds"] > 0 and row["update"] > 0 for row in results["variants"])
    assert results["curves"]["TR"][0]["steps"] == list(range(2, 53, 2))  # TD3+BC learns in twos
    assert len(load(tmp_path / "data.npz")) == 60
    assert load_policy(tmp_path / "policies/007").environment == "rewind/PointMaze-umaze-v0"
    for name in ("demo_curves.png", "demo_paths.svg"):
        assert (tmp_path / name).stat().st_size > 1000


def test_the_recomputed_target_is_the_carried_one_under_uniform_sampling():
    assert WAYS[WINDOW].beta == WAYS[WEIGHTED].beta and WAYS[WINDOW].sampler == WAYS[UNIFORM].sampler
    assert (1 - WAYS[WINDOW].beta) ** WAYS[WINDOW].window < 0.01  # what the window leaves out


def test_what_was_found_is_said_for_better_or_worse():
    uniform = np.array([10.0, 20.0, 30.0])
    assert "+5.0 [+5.0, +5.0]: better" in _compare(uniform, "TR", uniform + 5)
    assert "-5.0 [-5.0, -5.0]: worse" in _compare(uniform, "TR", uniform - 5)
    assert "no significant difference with 3 seeds" in _compare(uniform, "TR", uniform + np.array([-9, 0, 9]))
    assert "no interval from one seed" in _compare(uniform[:1], "TR", uniform[:1])


@pytest.mark.parametrize(("option", "value"), [("seeds", "0"), ("steps", "39"), ("noise", "-1"), ("data-seed", "-1")])
def test_what_makes_no_demo_is_refused_at_once(capsys, option, value):
    with pytest.raises(SystemExit):
        main(["demo", f"--{option}", value])
    assert f"--{option} is {value}" in capsys.readouterr().err


def test_mazes_for_data_are_no_mazes_for_the_demo(capsys):
    with pytest.raises(SystemExit):
        main(["demo", "--maze", "large-data"])
    assert "large-data" in capsys.readouterr().err
