"""The catalogue, and the tables beside the agents, say what D4RL and the paper say."""

import json
import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from rewind.agents.settings import (
    agent_label,
    has_critics,
    paper_batch_size,
    paper_beta,
    paper_row,
    paper_settings,
    paper_view,
)
from rewind.cli.data import DataBuild, DataGet, DataInfo, DataList
from rewind.data import load
from rewind.data.catalogue import catalogue, entry, known_entry, normalised_score
from rewind.errors import UsageError
from rewind.rebuilt.quick import QUICK
from rewind.rebuilt.recipes import later_version, recipes

FACTS = Path(__file__).parents[2].parent / "shared" / "facts" / "d4rl.json"
MUJOCO = ("halfcheetah", "hopper", "walker2d")
KINDS = ("medium", "medium-replay", "medium-expert")
MAZES = ("umaze", "umaze-diverse", "medium-play", "medium-diverse", "large-play", "large-diverse")
HANDS = ("pen", "hammer", "door", "relocate")

# The appendix tables, transcribed.
PAPER_BETA = {
    **{f"halfcheetah-{kind}-v2": 1.0 for kind in KINDS},
    "hopper-medium-v2": 0.0,
    "hopper-medium-replay-v2": 1.0,
    "hopper-medium-expert-v2": 1.0,
    "walker2d-medium-v2": 0.0,
    "walker2d-medium-replay-v2": 0.5,
    "walker2d-medium-expert-v2": 0.5,
    "antmaze-umaze-v0": 0.95,
    "antmaze-umaze-diverse-v0": 0.25,
    "antmaze-medium-play-v0": 0.98,
    "antmaze-medium-diverse-v0": 0.75,
    "antmaze-large-play-v0": 0.75,
    "antmaze-large-diverse-v0": 0.98,
    "pen-cloned-v1": 0.5,
    "hammer-cloned-v1": 1.0,
    "door-cloned-v1": 1.0,
    "relocate-cloned-v1": 0.05,
    "pen-expert-v1": 0.5,
    "hammer-expert-v1": 0.5,
    "door-expert-v1": 0.0,
    "relocate-expert-v1": 0.0,
}
PAPER_ALPHA = {
    **{f"{task}-{kind}-v2": 2.5 for task in MUJOCO for kind in KINDS},
    "antmaze-umaze-v0": 2.5,
    "antmaze-umaze-diverse-v0": 50,
    "antmaze-large-play-v0": 50,
    "antmaze-large-diverse-v0": 50,
    "antmaze-medium-play-v0": 36,
    "antmaze-medium-diverse-v0": 25,
    "pen-cloned-v1": 0.0001,
    "hammer-cloned-v1": 0.01,
    "relocate-expert-v1": 0.01,
    "door-cloned-v1": 0.25,
    "relocate-cloned-v1": 0.25,
    "pen-expert-v1": 0.25,
    "hammer-expert-v1": 0.25,
    "door-expert-v1": 0.25,
}


def of_suite(suite):
    return [known for known in catalogue().values() if known.suite == suite]


def test_the_papers_23_data_sets_and_their_siblings_are_there():
    siblings = {f"{task}-{kind}-v2" for task in MUJOCO for kind in ("random", "expert", "full-replay")}
    siblings |= {f"antmaze-{maze}-v2" for maze in MAZES} | {f"{hand}-human-v1" for hand in HANDS}
    assert {name for name, known in catalogue().items() if known.paper} == set(PAPER_BETA)
    assert set(catalogue()) == set(PAPER_BETA) | siblings


def test_beta_and_alpha_are_those_of_the_papers_tables_and_absent_where_it_has_none():
    betas = {name: paper_beta(name) for name in catalogue()}
    alphas = {name: paper_settings("td3_bc", name).get("alpha") for name in catalogue()}
    assert {name: beta for name, beta in betas.items() if beta is not None} == PAPER_BETA
    assert {name: alphas[name] for name, known in catalogue().items() if known.paper} == PAPER_ALPHA
    assert all(alphas[known.name] == 2.5 for known in of_suite("mujoco"))
    assert all(alphas[k.name] is None for k in catalogue().values() if not k.paper and k.suite != "mujoco")


def test_iql_and_edac_settings_are_the_papers():
    expected = {"mujoco": (0.7, 3.0), "antmaze": (0.9, 10.0), "adroit": (0.7, 0.5)}
    scaled, eta = set(), {}
    for name, known in catalogue().items():
        td3_bc, iql, edac = (paper_row(algorithm, name) for algorithm in ("td3_bc", "iql", "edac"))
        assert (iql["expectile"], iql["temperature"]) == expected[known.suite]
        assert td3_bc["normalise_states"] and iql["normalise_states"]
        scaled |= {name} if iql["rewards"] == "return_range" else set()
        if known.suite == "antmaze":
            assert edac is None and paper_settings("edac", name) == {}
            assert td3_bc["rewards"] == iql["rewards"] == "minus_one"
            continue
        assert edac["ensemble"] == (3 if "medium-replay" in name else 10)
        assert edac["rewards"] == td3_bc["rewards"] == "raw" and not edac["normalise_states"]
        eta[name] = edac.get("eta")
    assert scaled == {"hopper-medium-v2", "hopper-medium-replay-v2"}
    assert eta["walker2d-medium-v2"] == eta["hopper-medium-expert-v2"] == 1
    assert eta["walker2d-medium-expert-v2"] == eta["halfcheetah-medium-expert-v2"] == 5
    assert (eta["pen-cloned-v1"], eta["pen-human-v1"], eta["door-expert-v1"]) == (10, 1000, 200)
    assert eta["hopper-random-v2"] is None


def test_a_rebuilt_set_has_the_numbers_of_its_namesake_and_other_data_the_defaults_of_the_agent():
    assert paper_settings("iql", "rewind/hopper-medium-v0") == paper_settings("iql", "hopper-medium-v2") != {}
    assert paper_beta("rewind/antmaze-umaze-v0") == 0.95 and paper_beta("rewind/pointmaze-large-v0") is None
    for name in (None, "somebody/data-v0"):
        seen = {algorithm: paper_view(algorithm, name) for algorithm in ("td3_bc", "iql", "edac", "bc", "of_others")}
        assert [algorithm for algorithm, view in seen.items() if view["normalise_states"]] == ["td3_bc", "iql"]
        assert all(view["rewards"] == "raw" for view in seen.values())
        assert paper_settings("td3_bc", name) == {}
    assert agent_label("td3_bc") == "TD3+BC" and agent_label("of_others") == "of_others"
    assert has_critics("iql") and has_critics("of_others") and not has_critics("bc")


def test_every_number_of_a_table_is_a_field_of_its_agent():
    pytest.importorskip("equinox")
    from rewind.agents import AGENTS
    from rewind.run_spec import SHAPES

    for algorithm, kind in AGENTS.items():
        assert kind.has("discount", "beta") == has_critics(algorithm)
        assert all(kind.has(*paper_settings(algorithm, name)) for name in catalogue())
        static = {field.name for field in fields(kind) if field.metadata.get("static")}
        assert static - {"observation_size", "action_size", "max_action"} <= set(SHAPES)


def test_suite_labels_are_the_papers():
    assert entry("hopper-medium-v2").label == "dense"
    assert {k.label for s in ("antmaze", "adroit") for k in of_suite(s)} == {"sparse"}


@pytest.mark.skipif(not FACTS.exists(), reason="the founders' facts are not beside this checkout")
def test_facts_of_the_23_are_those_collected_from_d4rl():
    facts = {name: fact for name, fact in json.loads(FACTS.read_text()).items() if name != "_meta"}
    assert set(facts) == {name for name, known in catalogue().items() if known.paper}
    for name, fact in facts.items():
        known = entry(name)
        assert (known.minimum_score, known.maximum_score) == (fact["min"], fact["max"])
        assert (known.address, known.suite, known.horizon) == (fact["url"], fact["suite"], fact["horizon"])
        assert (known.episodes, known.base_environment) == (fact["tfds_episode_count"], fact["base_env"])
        assert paper_beta(name) == fact["paper_beta"]
        assert paper_settings("td3_bc", name)["alpha"] == fact["paper_td3bc_alpha"]
        assert known.name == fact["env_id"]
        if "v2_url" in fact:
            assert entry(name.replace("-v0", "-v2")).address == fact["v2_url"]


def test_siblings_share_their_tasks_scores_and_environment():
    for known in catalogue().values():
        first = next(k for k in catalogue().values() if k.base_environment == known.base_environment)
        assert (known.minimum_score, known.maximum_score) == (first.minimum_score, first.maximum_score)
        if known.suite == "mujoco":
            assert known.environment == known.base_environment.replace("-v2", "-v4")


def test_every_set_has_its_own_file_under_its_own_folder():
    assert len({known.file for known in catalogue().values()}) == len(catalogue())
    assert all(known.address.endswith(f"/{known.folder}/{known.file}") for known in catalogue().values())


def test_antmaze_v0_needs_the_jump_test_and_all_antmaze_the_merge():
    for known in catalogue().values():
        jump = known.suite == "antmaze" and known.name.endswith("-v0")
        assert known.boundaries == ("flags+jump" if jump else "flags")
        assert known.merge_fragments == (known.suite == "antmaze")


def test_the_nearest_rebuilt_set_can_be_rebuilt_is_of_the_same_task_and_bears_its_own_name():
    for known in catalogue().values():
        assert known.rebuilt in recipes()
        assert known.rebuilt.removeprefix("rewind/").split("-")[0] == known.name.split("-")[0]
        same = f"rewind/{re.sub('-v[0-9]$', '-v0', known.name)}"
        while later := later_version(same) if same in recipes() else None:
            same = later
        assert known.rebuilt == same or same not in recipes()


def test_a_rebuilt_set_goes_by_the_d4rl_set_of_the_same_name():
    for rebuilt, stands_for in (
        ("rewind/hopper-medium-v0", "hopper-medium-v2"),
        ("rewind/hopper-random-v0", "hopper-random-v2"),
        ("rewind/hopper-medium-v1", "hopper-medium-v2"),
        ("rewind/antmaze-umaze-diverse-v0", "antmaze-umaze-diverse-v0"),
        ("rewind/antmaze-umaze-diverse-v1", "antmaze-umaze-diverse-v0"),
        ("rewind/pen-expert-v0", "pen-expert-v1"),
        ("rewind/pen-cloned-v0", "pen-cloned-v1"),
        ("rewind/pen-demos-v0", "pen-human-v1"),
    ):
        assert known_entry(rebuilt) is entry(stands_for)
    assert known_entry("hopper-medium-v2") is entry("hopper-medium-v2")
    assert known_entry("rewind/pointmaze-large-v0") is None is known_entry("somebody/hopper-medium-v0")
    assert known_entry(None) is None


def test_a_later_version_has_the_papers_numbers_of_the_same_d4rl_set():
    later = [name for name in recipes() if name.endswith("-v1") and known_entry(name) is not None]
    assert len(later) >= 15
    for name in later:
        known = known_entry(name)
        assert paper_beta(name) == paper_beta(known.name)
        for algorithm in ("td3_bc", "iql", "edac", "bc"):
            assert paper_row(algorithm, name) == paper_row(algorithm, known.name)
            assert paper_view(algorithm, name) == paper_view(algorithm, known.name)
    assert paper_row("td3_bc", "rewind/antmaze-large-play-v1")["alpha"] == 50.0
    assert paper_row("iql", "rewind/antmaze-large-play-v1")["expectile"] == 0.9


def test_reference_scores_are_0_and_100_and_in_between_it_is_linear():
    known = entry("hopper-medium-v2")
    ends = np.array([known.minimum_score, known.maximum_score])
    np.testing.assert_allclose(normalised_score(known.name, ends), [0, 100])
    np.testing.assert_allclose(normalised_score(known.name, [[ends.mean()]]), [[50]])
    assert isinstance(normalised_score(known.name, 1000.0), float)
    assert normalised_score("antmaze-umaze-v0", 0.85) == pytest.approx(85)


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(UsageError, match="did you mean 'hopper-medium-v2'"):
        entry("hoper-medium-v2")
    for unknown in (lambda: DataInfo("hopper-medium-v1").run(), lambda: load("hopper-medium-v1")):
        with pytest.raises(UsageError, match=r"did you mean 'rewind/hopper-medium-v1'\? known: rewind data list$"):
            unknown()
    with pytest.raises(UsageError, match="did you mean 'hopper-medium-v2' or "):
        DataInfo("hoper-medium-v2").run()
    with pytest.raises(UsageError, match="unknown suite 'adroid': did you mean 'adroit'"):
        DataList(suite="adroid").run()


def test_list_and_info_print_what_they_write(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("REWIND_DATA", str(tmp_path))
    (tmp_path / "pen-human-v1.hdf5").touch()
    DataList(suite="adroit", json=tmp_path / "list.json").run()
    written = json.loads((tmp_path / "list.json").read_text())["sets"]
    printed = capsys.readouterr().out
    assert [one["name"] for one in written] == [known.name for known in of_suite("adroit")]
    assert all(one["name"] in printed for one in written)
    assert [one["name"] for one in written if one["here"]] == ["pen-human-v1"]
    made = json.loads((tmp_path / "list.json").read_text())["rebuilt"]
    kinds = ("expert-v0", "expert-v1", "demos-v0", "cloned-v0")
    assert {one["name"] for one in made} == {f"rewind/{hand}-{kind}" for hand in HANDS for kind in kinds}
    assert all(one["name"] in printed and not one["here"] for one in made)
    DataInfo("rewind/hopper-medium-v0", json=tmp_path / "info.json").run()
    figures = json.loads((tmp_path / "info.json").read_text())
    assert figures["named after"] == "hopper-medium-v2" and figures["iql"]["rewards"] == "return_range"
    assert re.search(r"^size +1,000,000$", capsys.readouterr().out, re.MULTILINE)
    DataInfo("hopper-medium-v2", json=tmp_path / "info.json").run()
    figures = json.loads((tmp_path / "info.json").read_text())
    assert figures["iql"] == {"rewards": "return_range", "normalise_states": True, "expectile": 0.7, "temperature": 3.0}
    assert re.search(r"^iql\.expectile +0\.7$", capsys.readouterr().out, re.MULTILINE)
    DataInfo(task := "rewind/ogbench-cube-single-play-task2-v0", json=tmp_path / "info.json").run()
    figures = json.loads((tmp_path / "info.json").read_text())
    assert (figures["name"], figures["environment"]) == (task, "cube-single-singletask-task2-v0")
    assert figures["iql"] == paper_row("iql", task) and figures["td3_bc"] is None
    assert not list(tmp_path.glob(".*.tmp"))


def test_the_list_says_which_version_to_use_and_why(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("REWIND_DATA", str(tmp_path))
    DataList(suite="mujoco", json=tmp_path / "list.json").run()
    printed = capsys.readouterr().out
    assert "Use the -v1 set where there is one. Its ants fall" in printed
    rows = {line.split()[0]: line.split()[-2] for line in printed.splitlines() if line.startswith("rewind/")}
    assert rows["rewind/hopper-medium-v0"] == "no" and rows["rewind/hopper-medium-v1"] == "yes"
    assert rows["rewind/hopper-random-v0"] == rows["rewind/hopper-expert-v0"] == "yes"  # there is no other
    made = {one["name"]: one for one in json.loads((tmp_path / "list.json").read_text())["rebuilt"]}
    assert made["rewind/hopper-medium-v0"]["use instead"] == "rewind/hopper-medium-v1"
    assert made["rewind/hopper-medium-v1"]["use instead"] is None
    DataList(suite="pointmaze").run()
    assert "-v1" not in capsys.readouterr().out


def test_sets_of_discrete_actions_are_listed_and_shown_and_have_no_file(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("REWIND_DATA", str(tmp_path))
    DataList(suite="discrete").run()
    listed = {line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("rewind/")}
    assert listed == set(QUICK)
    for name, recipe in QUICK.items():
        DataInfo(name).run()
        assert re.search(rf"^environment +{recipe.environment}$", capsys.readouterr().out, re.MULTILINE)
        for command in (DataBuild, DataGet):
            with pytest.raises(UsageError, match=f"{name} needs no file: .* rewind data convert {name} FOLDER"):
                command(name).run()


def test_sets_of_discrete_actions_have_the_horizons_of_their_environments():
    gymnasium = pytest.importorskip("gymnasium")
    import rewind.envs  # noqa: F401  registers the grid world

    for recipe in QUICK.values():
        assert recipe.horizon == gymnasium.spec(recipe.environment).max_episode_steps


def test_a_rebuilt_set_is_shown_in_words_and_cannot_be_fetched(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("REWIND_DATA", str(tmp_path))
    DataInfo("rewind/hopper-medium-expert-v0").run()
    assert re.search(r"^policies +hopper-medium, hopper-expert$", capsys.readouterr().out, re.MULTILINE)
    with pytest.raises(UsageError, match="rewind data build rewind/hopper-medium-v0"):
        DataGet("rewind/hopper-medium-v0").run()


def test_rebrac_has_the_published_numbers_by_suite():
    mujoco, maze = (paper_row("rebrac", name) for name in ("hopper-medium-replay-v2", "rewind/antmaze-large-play-v1"))
    assert (mujoco["actor_penalty"], mujoco["critic_penalty"], mujoco["critic_rate"]) == (0.05, 0.5, 1e-3)
    assert (maze["rewards"], maze["discount"], maze["critic_rate"]) == ("times_100", 0.999, 5e-5)
    assert (maze["actor_penalty"], maze["critic_penalty"], maze["normalise_states"]) == (0.002, 0.001, False)
    for name in ("cube-single-play-singletask-task2-v0", "rewind/ogbench-cube-single-play-v0"):
        cube = paper_settings("rebrac", name)
        assert (cube["actor_penalty"], cube["critic_penalty"], cube["hidden"]) == (1.0, 0.0, (512,) * 4)
    sizes = [paper_batch_size("rebrac", name) for name in ("hopper-medium-v2", "antmaze-umaze-v0", None)]
    assert sizes == [1024, 256, 256] and "batch_size" not in paper_settings("rebrac", "hopper-medium-v2")
    published = [name for name, known in catalogue().items() if known.paper]
    assert all("actor_penalty" in paper_settings("rebrac", name) for name in published)
