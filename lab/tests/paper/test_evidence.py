"""The runs of the evidence: what each part wants, and that a GPU would not stumble over any of them."""

from collections import Counter
from dataclasses import replace

import pytest

from rewind.agents.settings import paper_settings
from rewind.rebuilt.point import wander
from rewind.run_spec import PRECISION
from rewind_lab.paper import halves
from rewind_lab.paper.choice import KindSetting, Setting, choice_text
from rewind_lab.paper.costs import CostEstimate, pack
from rewind_lab.paper.definitions import EVIDENCE, RunChoice, in_order, load_definitions
from rewind_lab.paper.results import Index, read_index

DEFINITIONS = load_definitions(EVIDENCE)
WANTED = DEFINITIONS.wanted(RunChoice())
CHOSEN = Setting(
    "2026-12-01", 'it "won"', 7, KindSetting("tr", 0.75, bounded=True), KindSetting("tr", 0.75, bounded=True)
)
CONTROLS = {"rewind/antmaze-medium-play-v1", "rewind/antmaze-large-diverse-v1"}
CONTROLS |= {"rewind/ogbench-cube-single-play-task4-v0"}


def variants(*tables):
    """Of each table's runs one for each way to train, whatever the data set of its suite and the seed."""
    found = {}
    for name in tables or WANTED:
        for spec in WANTED[name]:
            key = (spec.suite, spec.algorithm, spec.sampler, spec.beta, spec.settings, spec.reuse, spec.stagger)
            found.setdefault(key, spec)
    return list(found.values())


def test_every_part_of_the_issue_has_its_tables():
    parts = {}
    for table in DEFINITIONS.tables.values():
        parts.setdefault(table.part, []).append(table.name)
    assert sorted(parts) == ["0", "a", "b", "c", "d", "e", "f", "recommendation"]
    assert all(
        name.startswith(f"{part}_") for part, names in parts.items() if len(part) == 1 and part > "0" for name in names
    )


def test_the_controls_are_the_ones_that_explain_the_disagreements():
    tables = [name for name in WANTED if name.startswith("e_") and not name.startswith("e_stagger")]
    assert {spec.dataset for spec in WANTED["e_stagger"]} < set(halves.ONE_LENGTH)
    assert {spec.stagger for spec in WANTED["e_stagger"]} == {False, True}
    assert {spec.dataset for name in tables for spec in WANTED[name]} == CONTROLS
    for dataset in CONTROLS:
        runs = [spec for name in tables for spec in WANTED[name] if spec.dataset == dataset]
        assert {spec.seed for spec in runs} == set(range(8)) and {spec.algorithm for spec in runs} == {"td3_bc"}
        orders = {dict(spec.settings).get("order", "backward") for spec in runs if spec.sampler == "tr"}
        assert orders == {"backward", "forward", "shuffled"}
        windows = {
            (dict(spec.settings)["window"], spec.beta)
            for spec in runs
            if spec.sampler == "baseline" and "window" in dict(spec.settings)
        }
        assert windows == {(5, 0.75), (16, 0.75), (5, 0.0)}
        assert {spec.reuse for spec in runs} == {"on_finish", "epoch"}
        assert {dict(spec.settings).get(PRECISION) for spec in runs} == {None, "highest"}
        usual = paper_settings("td3_bc", dataset).get("alpha", 2.5)
        assert {dict(spec.settings).get("alpha", usual) for spec in runs} >= {2.5, 10.0, 36.0}


def test_what_is_wanted_of_the_held_back_half_opens_with_the_choice(tmp_path, monkeypatch):
    held_back = set(halves.held_back_half())
    monkeypatch.setattr(halves, "CHOICE", tmp_path / "none.toml")
    closed = {spec for spec in in_order(DEFINITIONS.wanted(RunChoice())) if spec.dataset in held_back}
    assert {spec.sampler for spec in closed} == {"baseline"}
    assert {name for spec in closed for name, _ in spec.settings} <= set(halves.ALLOWED)
    (tmp_path / "choice.toml").write_text(choice_text(CHOSEN))
    monkeypatch.setattr(halves, "CHOICE", tmp_path / "choice.toml")
    opened = {spec for spec in in_order(DEFINITIONS.wanted(RunChoice())) if spec.dataset in held_back}
    assert closed < opened and {"tr", "uqm_reward"} <= {spec.sampler for spec in opened}
    mazes = [spec for spec in opened if spec.dataset == "rewind/antmaze-umaze-v1" and spec.algorithm == "td3_bc"]
    # Part a: seven methods, three of them with bounds, three with layer norm. The test: uniform and bounded 0.75.
    assert len(mazes) == 8 * (7 + 3 + 3) + 16 * 2


def test_all_runs_can_be_packed_and_have_an_estimate():
    estimate = CostEstimate(Index(), points=DEFINITIONS.defaults.points, fused=True)
    runs = in_order(WANTED)
    groups = list(pack(runs, estimate, 25 * 60, 132))
    assert sum(map(len, groups)) == len(runs)
    for group in groups:
        assert len({spec.program for spec in group}) == 1
        assert len({dict(spec.settings).get(PRECISION) for spec in group}) == 1


def test_ogbench_is_evaluated_at_the_end_alone():
    assert DEFINITIONS.points(["c_cube"]) == DEFINITIONS.points(["ogbench", "c_scene"]) == 1
    assert DEFINITIONS.points(["a_mazes"]) == DEFINITIONS.defaults.points == 2


def test_a_part_has_its_own_number_of_updates_and_a_choice_of_steps_comes_before_it():
    tables = ["cloned", "cloned_adroit"]
    found = DEFINITIONS.wanted(RunChoice(tables))
    assert [{spec.steps for spec in found[name]} for name in tables] == [{1_000_000}, {100_000}]
    assert {spec.steps for spec in in_order(DEFINITIONS.wanted(RunChoice(tables, steps=7000)))} == {7000}


def test_rebrac_on_cube_single_has_five_tasks_and_networks_of_d4rls_size_before_any_choice(tmp_path, monkeypatch):
    monkeypatch.setattr(halves, "CHOICE", tmp_path / "none.toml")
    specs = DEFINITIONS.wanted(RunChoice(["rebrac_cube"]))["rebrac_cube"]
    assert Counter(spec.dataset for spec in specs) == dict.fromkeys(halves.NAMED["ogbench-cube-single-play"], 4)
    settings = (("hidden", (256, 256, 256)),)
    assert {(spec.algorithm, spec.sampler, spec.settings) for spec in specs} == {("rebrac", "baseline", settings)}
    assert paper_settings("rebrac", specs[0].dataset)["hidden"] == (512, 512, 512, 512)


def tiny(spec):
    """Data under the set's name, so that it gets its numbers."""
    return replace(wander("umaze", 10), name=spec.dataset)


def test_every_way_to_train_is_known_to_the_engine():
    pytest.importorskip("jax")
    from rewind.training import engine_run

    for spec in variants():
        run = engine_run(spec, tiny(spec))
        assert run.seed == spec.seed


@pytest.mark.long
@pytest.mark.parametrize("table", WANTED)
def test_every_way_to_train_takes_its_first_steps(table):
    pytest.importorskip("jax")
    from rewind.training import Options, engine_run, train

    for spec in variants(table):
        settings = dict(spec.settings)
        if "hidden" not in settings and spec.algorithm != "rebrac":
            settings["hidden"] = (8, 8)
        spec = replace(spec, settings=tuple(settings.items()))
        data = tiny(spec)
        trained = train(data, [engine_run(spec, data)], options=Options(steps=4, batch_size=8, progress=False))
        assert trained


LEASE = 30 * 60  # seconds: what a borrowed GPU gives at once


def options(line):
    """A stage's options by name."""
    found = {}
    for word in line.split():
        if word.startswith("--"):
            found[word] = values = []
        else:
            values.append(word)
    return found


def can_be_fused(spec):
    """Fused kernels multiply bfloat16 numbers."""
    return PRECISION not in dict(spec.settings)


@pytest.mark.parametrize("name", ["stages", "stages_later"])
def test_every_stage_is_one_group_on_data_that_is_built_and_no_lease_trains_a_run_twice(name):
    data, *lines = (EVIDENCE.parents[3] / "tools" / name).read_text().splitlines()
    index, passed, last = read_index(EVIDENCE.parents[3] / "results" / "evidence"), 0.0, {}
    for line in (each for each in lines if each.startswith("--")):  # others are not trainings
        given = options(line)
        seeds = [int(seed) for seed in given["--seeds"]] if "--seeds" in given else None
        named = [given.get(f"--{name}") for name in ("datasets", "algorithms", "samplers")]
        choice = RunChoice(given["--tables"], "rewind", *named, seeds)
        wanted = DEFINITIONS.wanted(choice)
        left = [spec for spec in in_order(wanted) if spec.run not in index.runs]
        estimate = CostEstimate(index.shared(), "gpu", DEFINITIONS.points(wanted), fused="--fused" in given)
        groups = list(pack(left, estimate, 25 * 60, 132))
        assert len(groups) <= 1 and given["--groups"] == ["1"], line
        assert {spec.dataset for spec in left} <= set(data.split()), line
        assert ("--fused" in given) == all(map(can_be_fused, left)), line
        assert all(passed - last.get(spec, -LEASE) >= LEASE for spec in left), line
        last |= dict.fromkeys(left, passed)
        passed += sum(estimate.seconds(group[0], len(group)) for group in groups)
