"""The runs of the evidence: what each part wants, and that a GPU would not stumble over any of them."""

import tomllib
from collections import Counter
from dataclasses import replace

import pytest
from lab.tests.report import synthetic

from rewind import DataError, UsageError
from rewind.agents.settings import paper_settings
from rewind.rebuilt.point import wander
from rewind.report.runs import runs_of
from rewind.run_spec import PRECISION
from rewind_lab.paper import halves
from rewind_lab.paper.choice import Setting, choice_text, read_choice
from rewind_lab.paper.costs import CostEstimate, pack
from rewind_lab.paper.definitions import EVIDENCE, RunChoice, in_order, load_definitions
from rewind_lab.paper.report import recommended
from rewind_lab.paper.report.commands import PaperChoice
from rewind_lab.paper.report.recommendation import candidates, outcome_of, outcome_text
from rewind_lab.paper.report.recommended import recommended_text
from rewind_lab.paper.report.results import PaperResults
from rewind_lab.paper.results import Index, read_index, read_rows

DEFINITIONS = load_definitions(EVIDENCE)
COMMITTED = read_choice()
WANTED = DEFINITIONS.wanted(RunChoice())
CHOSEN = Setting("2026-12-01", "tr", 0.75, False, True, False, 'it "won"', 7)
RESULTS = EVIDENCE.parents[3] / "results" / "evidence"
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
    tables = [name for name in WANTED if name.startswith("e_")]
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
    assert DEFINITIONS.points(["a_mazes"]) == DEFINITIONS.defaults.points == 5


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
    """Fused kernels have no layer norm, which ReBRAC has by default, and multiply bfloat16 numbers."""
    settings = paper_settings(spec.algorithm, spec.dataset) | dict(spec.settings)
    return not settings.get("layer_norm") and PRECISION not in settings


@pytest.mark.parametrize("name", ["stages", "stages_adroit", "stages_antmaze"])
def test_every_stage_is_one_group_on_data_that_is_built_and_no_lease_trains_a_run_twice(name):
    data, *lines = (EVIDENCE.parents[3] / "tools" / name).read_text().splitlines()
    index, passed, last = read_index(EVIDENCE.parents[3] / "results" / "evidence"), 0.0, {}
    for line in lines:
        given = options(line)
        seeds = [int(seed) for seed in given["--seeds"]] if "--seeds" in given else None
        choice = RunChoice(given["--tables"], "rewind", given["--datasets"], given["--algorithms"], seeds)
        wanted = DEFINITIONS.wanted(choice)
        left = [spec for spec in in_order(wanted) if spec.run not in index.runs]
        estimate = CostEstimate(index, "gpu", DEFINITIONS.points(wanted), fused="--fused" in given)
        groups = list(pack(left, estimate, 25 * 60, 132))
        assert len(groups) <= 1 and given["--groups"] == ["1"], line
        assert {spec.dataset for spec in left} <= set(data.split()), line
        assert ("--fused" in given) == all(map(can_be_fused, left)), line
        assert all(passed - last.get(spec, -LEASE) >= LEASE for spec in left), line
        last |= dict.fromkeys(left, passed)
        passed += sum(estimate.seconds(group[0], len(group)) for group in groups)


@pytest.fixture
def chosen(tmp_path, monkeypatch):
    """A choice that is written down."""
    path = tmp_path / "choice.toml"
    path.write_text(choice_text(CHOSEN))
    monkeypatch.setattr(halves, "CHOICE", path)
    return path


def scored(value, keep=lambda spec: True):
    """Runs of the test: uniform sampling scores 50 and a little, the chosen setting `value(spec)` more."""
    gain = lambda spec: spec.seed % 3 + (0 if spec.sampler == "baseline" else value(spec))  # noqa: E731
    made = synthetic.rows(gain, ("recommendation",), noise=0.0, definitions=EVIDENCE, keep=keep)
    return PaperResults(runs_of(made), "rewind")


def test_without_a_choice_its_test_has_not_run(tmp_path, monkeypatch):
    monkeypatch.setattr(halves, "CHOICE", tmp_path / "none.toml")
    assert read_choice() is None
    assert "not run yet: no setting is chosen" in outcome_text(outcome_of(scored(lambda spec: 0)))


def test_a_choice_reads_back_as_it_was_written(chosen):
    assert read_choice() == CHOSEN
    chosen.write_text("date = 3")
    with pytest.raises(DataError, match="not a choice"):
        read_choice()


def test_with_some_runs_missing_the_test_has_not_run(chosen):
    specs = DEFINITIONS.wanted(RunChoice(["recommendation"]))["recommendation"]
    without_one = scored(lambda spec: 0, keep=lambda spec: spec != specs[0])
    assert outcome_of(without_one) == f"not run yet: 1 of {len(specs):,} runs are missing"


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (lambda spec: 0, "passes"),
        (lambda spec: -3, "fails"),  # on every set
        (lambda spec: -11 if spec.dataset == "rewind/antmaze-umaze-v1" else 20, "fails"),  # on one set
        (lambda spec: 20 if spec.suite != "mujoco" else -3, "fails"),  # on dense sets alone
    ],
)
def test_the_recommendation_passes_by_its_stated_rule(chosen, value, verdict):
    outcome = outcome_of(scored(value))
    assert [kind.kind for kind in outcome] == ["sparse", "dense"] and f"setting {verdict}" in outcome_text(outcome)
    assert len(outcome[0].sets) == 13 and len(outcome[1].sets) == 4


def test_the_test_gives_sparse_sets_24_seeds_and_dense_ones_12(chosen):
    specs = DEFINITIONS.wanted(RunChoice(["recommendation"]))["recommendation"]
    seeds = Counter((spec.suite == "mujoco", spec.dataset, spec.sampler) for spec in specs)
    assert {count for (dense, _, _), count in seeds.items() if dense} == {12}
    assert {count for (dense, _, _), count in seeds.items() if not dense} == {24}


def test_what_could_be_chosen_is_compared_by_kind_on_the_choosing_half():
    gain = lambda spec: 7.0 if spec.suite == "mujoco" else -4.0  # noqa: E731
    tables = ("a_mazes", "c_cube", "d_mujoco")
    made = synthetic.rows(lambda spec: (spec.sampler == "tr") * gain(spec), tables, noise=0.0, definitions=EVIDENCE)
    found = PaperResults(runs_of(made), "rewind")
    line = next(line for line in candidates(found).splitlines() if line.startswith("tr  "))
    assert line.split()[1:3] == ["-4.0", "[-4.0,"] and "+7.0 [+7.0, +7.0] (5)" in line


# What the library recommends follows the choice


SETTINGS = ("sampler", "beta", "stagger", "bounded", "layer_norm")


def test_the_library_recommends_what_was_chosen_and_says_so_until_it_was_tested():
    """The committed table against the committed choice: `rewind paper choice` writes both."""
    table = tomllib.loads(recommended.RECOMMENDED.read_text(encoding="utf-8"))
    if COMMITTED is None:
        assert table["provisional"]
        return
    assert table["date"] == COMMITTED.date
    for kind in ("sparse", "dense"):
        assert {name: table[kind][name] for name in SETTINGS} == {name: getattr(COMMITTED, name) for name in SETTINGS}
        assert COMMITTED.because.rstrip(".") in table[kind]["evidence"]["sampler"]
    outcome = outcome_of(PaperResults(runs_of(read_rows(RESULTS)), "rewind"))
    passed = not isinstance(outcome, str) and all(kind.passes for kind in outcome)
    assert bool(table["provisional"]) == (not passed), "run `rewind paper choice`, and commit what it writes"


@pytest.mark.parametrize(
    ("value", "provisional"),
    [
        (lambda spec: 3, ""),
        (lambda spec: 20 if spec.suite != "mujoco" else -3, "it failed its test on dense data sets"),
    ],
)
def test_the_table_says_how_the_test_stands(chosen, value, provisional):
    before = tomllib.loads(recommended_text(CHOSEN, "not run yet"))
    after = tomllib.loads(recommended_text(CHOSEN, outcome_of(scored(value))))
    assert "has not run yet" in before["provisional"] and after["provisional"].startswith(provisional)
    assert bool(after["provisional"]) == bool(provisional)
    assert before["sparse"]["evidence"]["sampler"] == 'chosen on 2026-12-01 from 7 runs: it "won"'
    assert "points over uniform sampling on 13 sparse data sets" in after["sparse"]["evidence"]["sampler"]
    assert before["dense"]["priority"] == "uniform"
    by_quality = tomllib.loads(recommended_text(replace(CHOSEN, sampler="avg_reward"), "not run yet"))
    assert by_quality["sparse"]["priority"] == "avg_reward"


def test_choosing_writes_the_choice_and_the_librarys_table_once(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pyarrow")
    table = tmp_path / "recommended.toml"
    table.write_text("")
    monkeypatch.setattr(halves, "CHOICE", tmp_path / "choice.toml")
    monkeypatch.setattr(recommended, "RECOMMENDED", table)
    with pytest.raises(UsageError, match="sampler"):
        PaperChoice(RESULTS, write=True, sampler="trr", because="it won").run()
    assert not table.read_text()
    PaperChoice(RESULTS, write=True, beta=0.75, bounded=True, because="it won").run()
    assert f"wrote {table}" in capsys.readouterr().out
    assert tomllib.loads(table.read_text())["dense"]["bounded"] is True
    PaperChoice(RESULTS).run()
    assert "wrote" not in capsys.readouterr().out
    with pytest.raises(UsageError, match="a choice is made once"):
        PaperChoice(RESULTS, write=True, because="again").run()
