"""A file of every reader goes through `rewind inspect`, and `rewind train` learns from it or says what it lacks."""

import json

import numpy as np
import pytest

for package in ("jax", "equinox", "optax", "tyro", "h5py", "pyarrow"):
    pytest.importorskip(package)

import h5py
from tests.data import layouts
from tests.data.layouts import lerobot, robomimic, steps, write

from rewind.cli import main

MANY = [7, 1, 9, 12, 5] * 4


def table(folder, kind):
    return [write(folder / f"log.{kind}", steps(MANY, [True, False] * 10)), "--episode", "id", "--terminal", "over"]


def rllib(folder):
    columns = steps(MANY, [True, False] * 10)
    seen = np.stack([columns["obs_a"], columns["obs_b"]], axis=1)
    columns = {"eps_id": columns["id"], "obs": seen, "rewards": columns["r"], "terminateds": columns["over"]}
    columns["actions"] = np.arange(len(seen)) % 3
    return [write(folder / "rllib.parquet", columns), "--algorithm", "dqn"]


def dict_npz(folder):
    columns = steps(MANY, [True, False] * 10)
    rows, parts = len(columns["r"]), {"state": np.stack([columns["obs_a"], columns["obs_b"]], axis=1)}
    parts["image"] = np.zeros((rows, 4, 4, 3), np.uint8)
    flat = {"actions": np.zeros((rows, 1)), "rewards": columns["r"], "terminals": columns["over"]}
    ends = np.append(np.diff(columns["id"]) != 0, True)
    seen = {f"observations/{key}": part for key, part in parts.items()}
    np.savez(folder / "dicts.npz", **flat, **seen, timeouts=ends & ~columns["over"])
    return [folder / "dicts.npz", "--keys", "state"]


FILES = {
    "dict observations": dict_npz,
    "csv": lambda folder: table(folder, "csv"),
    "parquet": lambda folder: table(folder, "parquet"),
    "rllib": rllib,
    "rllib json": lambda folder: [layouts.rllib(folder / "out.json")[0], "--algorithm", "dqn"],
    "rllib folder": lambda folder: [
        layouts.rllib(folder / "output-2026-11-17_05-00-00_worker-0_0.json", discrete=False)[0].parent,
        *("--horizon", "5"),
    ],
    "robomimic": lambda folder: [robomimic(folder / "demos.hdf5"), "--keys", "object", "--mask", "train"],
    "lerobot v2.1": lambda folder: [lerobot(folder / "pusht", "v2.1")[0]],
    "lerobot v3.0": lambda folder: [lerobot(folder / "pusht", "v3.0")[0], "--horizon", "5"],
}


@pytest.mark.long
@pytest.mark.parametrize("kind", FILES)
def test_a_file_is_inspected_and_trained_on_for_200_steps(tmp_path, capsys, kind):
    path, *options = map(str, FILES[kind](tmp_path))
    asked = [option for option in options if option not in ("--algorithm", "dqn")]
    main(["inspect", path, *asked, "--json", str(tmp_path / "figures.json")])
    assert json.loads((tmp_path / "figures.json").read_text())["transitions"] > 0
    small = ["--hidden", "8", "8", "--batch-size", "8", "--env", "none", "--out", str(tmp_path / "out")]
    main(["train", "--dataset", path, *options, "--steps", "200", *small])
    (run,) = json.loads((tmp_path / "out/results.json").read_text())["runs"]
    assert run["alive"] and np.isfinite(run["td_error"])


@pytest.mark.parametrize("kind", FILES)
def test_a_file_becomes_a_folder_on_the_disk_with_the_same_options(tmp_path, capsys, kind):
    (tmp_path / "in").mkdir()
    path, *options = map(str, FILES[kind](tmp_path / "in"))
    asked = [option for option in options if option not in ("--algorithm", "dqn")]
    main(["data", "convert", path, str(tmp_path / "folder"), *asked])
    figures = []
    for arguments in ([path, *asked], [str(tmp_path / "folder")]):
        main(["inspect", *arguments, "--json", str(tmp_path / "figures.json")])
        figures.append(json.loads((tmp_path / "figures.json").read_text()))
    assert figures[0] == figures[1]


def test_options_of_another_kind_of_file_are_refused_when_it_is_converted(tmp_path, capsys):
    with h5py.File(tmp_path / "log.hdf5", "w") as file:
        file["observations"] = np.zeros((3, 2))
    with pytest.raises(SystemExit):
        main(["data", "convert", str(tmp_path / "log.hdf5"), str(tmp_path / "folder"), "--episode", "id"])
    assert "episode makes no sense for this kind of data" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["robomimic", "lerobot v3.0", "csv"])
def test_policies_are_evaluated_again_on_the_data_as_it_was_read(tmp_path, capsys, kind):
    path, *options = map(str, FILES[kind](tmp_path))
    options += ["--horizon", "7"] if kind == "csv" else []
    small = ["--hidden", "8", "--batch-size", "8", "--env", "none", "--out", str(tmp_path / "out"), "--algorithm", "bc"]
    main(["train", "--dataset", path, *options, "--steps", "20", "--hold-out", "0.3", "--fit-steps", "20", *small])
    first = json.loads((tmp_path / "out/offline.json").read_text())
    main(["evaluate", str(tmp_path / "out"), "--offline", "--steps", "20"])
    assert json.loads((tmp_path / "out/offline.json").read_text())["policies"] == first["policies"]


def test_a_map_leads_from_a_table_to_a_policy_in_two_commands(tmp_path, capsys):
    path, *named = map(str, table(tmp_path, "csv"))
    main(["inspect", path, *named, "--write-map", str(tmp_path / "map.toml")])
    small = ["--hidden", "8", "--batch-size", "8", "--env", "none", "--out", str(tmp_path / "out"), "--algorithm", "bc"]
    main(["train", "--dataset", path, "--map", str(tmp_path / "map.toml"), "--steps", "20", *small])
    assert (tmp_path / "out/policies/000/policy.npz").exists()
    assert json.loads((tmp_path / "out/results.json").read_text())["data"]["notes"]["columns"]["episode"] == "id"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (rllib, "where actions are discrete, choose dqn, discrete_iql or discrete_bc"),
        (lambda folder: [layouts.rllib(folder / "out.json", packed=["obs"])[0]], "obs is packed (a compressed pickle"),
        (lambda folder: [lerobot(folder / "poor", "v3.0", reward=False)[0]], "no column next.reward for rewards"),
        (lambda folder: [robomimic(folder / "demos.hdf5"), "--keys", "agentview_image"], "or train your own network"),
    ],
)
def test_what_cannot_be_trained_on_is_one_line_that_says_what_is_missing(tmp_path, capsys, make, said):
    path, *options = map(str, make(tmp_path))
    options = options if "--algorithm" not in options else []
    with pytest.raises(SystemExit):
        main(["train", "--dataset", path, *options, "--steps", "200", "--env", "none"])
    lines = [line for line in capsys.readouterr().err.splitlines() if "guessed" not in line]
    assert len(lines) == 1 and said in lines[0], lines
