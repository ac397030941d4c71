"""The recommended setting: chosen once on one half of the data sets, tested on the other, told by the library."""

import tomllib
from collections import Counter
from dataclasses import asdict, replace

import pytest
from lab.tests.report import synthetic

from rewind import DataError, UsageError
from rewind.report.runs import runs_of
from rewind_lab.paper import halves
from rewind_lab.paper.choice import KindSetting, Setting, choice_text, read_choice, way_of
from rewind_lab.paper.definitions import EVIDENCE, RunChoice, load_definitions
from rewind_lab.paper.report import recommended
from rewind_lab.paper.report.commands import PaperChoice
from rewind_lab.paper.report.controls import recommendation
from rewind_lab.paper.report.glance import sentences
from rewind_lab.paper.report.recommendation import by_rule, candidates, outcome_of, outcome_text, over_norm, so_far
from rewind_lab.paper.report.recommended import recommended_text
from rewind_lab.paper.report.results import PaperResults
from rewind_lab.paper.results import read_rows

DEFINITIONS = load_definitions(EVIDENCE)
COMMITTED = read_choice()
CHOSEN = Setting("2026-12-01", 'it "won"', 7, KindSetting("tr", 0.75, bounded=True), KindSetting("tr"))
RESULTS = EVIDENCE.parents[3] / "results" / "evidence"


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
    assert "has not run yet: no setting is chosen" in outcome_text(outcome_of(scored(lambda spec: 0)))


def test_a_choice_reads_back_as_it_was_written(chosen):
    assert read_choice() == CHOSEN
    assert (
        way_of("baseline") == KindSetting("baseline")
        and KindSetting("baseline").uniform
        and not KindSetting("baseline", layer_norm=True).uniform
    )
    for wrong in (
        "date = 3",
        choice_text(CHOSEN).replace("bounded", "bound"),
        choice_text(CHOSEN).replace("0.75", "much"),
    ):
        chosen.write_text(wrong)
        with pytest.raises(DataError, match="not a choice"):
            read_choice()


def test_a_choice_by_hand_that_is_no_toml_is_refused(chosen):
    chosen.write_text("date 3")
    with pytest.raises(DataError, match="not a choice"):
        read_choice()


def test_with_some_runs_missing_there_is_no_outcome_but_what_complete_sets_say(chosen):
    specs = DEFINITIONS.wanted(RunChoice(["recommendation"]))["recommendation"]
    without_one = scored(lambda spec: 3, keep=lambda spec: spec != specs[0])
    sets = {spec.dataset for spec in specs}
    assert outcome_of(without_one) == f"is not complete: {len(sets) - 1} of {len(sets)} data sets have all their runs"
    complete = so_far(without_one)
    names = {spec.dataset for spec in specs} - {specs[0].dataset}
    assert complete.keys() == names | {f"mean of {len(names)} sets"}
    assert [one.estimate.value for one in complete.values()] == pytest.approx([3] * len(complete), abs=0.01)
    chosen_way, why, rule, differences = recommendation(without_one)
    assert chosen_way.startswith("Chosen on") and "not complete" in why and "A setting passes" in rule
    assert [line.cells[0].text[:4] for line in differences.lines] == ["+3.0"] * len(complete)
    assert [line.total for line in differences.lines] == [False] * len(names) + [True]


def test_what_is_left_of_the_gain_over_layer_norm_alone_stands_beside_it(chosen):
    """The setting gains 5 points, layer norm alone 4 of them."""
    values = {(): 0.0, ("layer_norm",): 4.0}
    gain = lambda spec: spec.seed % 3 + values.get(tuple(dict(spec.settings)), 5.0)  # noqa: E731
    tables = ("recommendation", "a_layer_norm", "recommendation_norm")
    made = synthetic.rows(gain, tables, noise=0.0, definitions=EVIDENCE, algorithms=["td3_bc"])
    found = over_norm(PaperResults(runs_of(made), "rewind"))
    assert {name for name in found if "antmaze" in name} <= set(halves.held_back_half())
    assert found["rewind/antmaze-umaze-v1"].value == pytest.approx(1.0, abs=0.5)
    *_, table = recommendation(PaperResults(runs_of(made), "rewind"))
    assert table.columns[-1] == "Over uniform sampling with layer norm"
    *_, alone = recommendation(scored(lambda spec: 3))
    assert "has not run there" in alone.note


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


def test_where_the_choice_is_uniform_sampling_there_is_nothing_to_test(chosen):
    chosen.write_text(choice_text(replace(CHOSEN, dense=KindSetting("baseline"))))
    outcome = outcome_of(scored(lambda spec: 3))
    assert [kind.kind for kind in outcome] == ["sparse"] and "On dense sets it is uniform" in outcome_text(outcome)
    wanted = DEFINITIONS.wanted(RunChoice(["recommendation"]))["recommendation"]
    assert not any(spec.suite == "mujoco" for spec in wanted)
    assert "passes" in outcome_text(outcome)


def test_td3_bc_has_its_own_numbers_on_ogbench_in_both_arms_of_the_test(chosen):
    specs = DEFINITIONS.wanted(RunChoice(["recommendation"]))["recommendation"]
    cubes = [spec for spec in specs if spec.suite == "ogbench"]
    assert {dict(spec.settings)["alpha"] for spec in cubes} == {0.2}
    assert {spec.sampler for spec in cubes} == {"baseline", "tr"}


def test_sweeps_over_trajectories_of_one_length_are_staggered_in_the_test_as_the_recommendation_has_them(chosen):
    specs = DEFINITIONS.wanted(RunChoice(["recommendation"]))["recommendation"]
    sparse = [spec for spec in specs if spec.suite != "mujoco" and spec.sampler == "tr"]
    assert {spec.stagger for spec in sparse} == {False, True}
    assert all(spec.stagger == (spec.dataset in halves.ONE_LENGTH) for spec in sparse)


def test_the_page_says_first_whether_the_setting_passed_and_the_advice_says_so_too(chosen):
    lost, won = scored(lambda spec: -3), scored(lambda spec: 3)
    verdict, numbers = recommendation(lost)
    assert (
        verdict.startswith("The recommended setting fails.") and [line.total for line in numbers.lines].count(True) == 2
    )
    assert numbers.lines[-1].head == "dense, 4 sets" and numbers.lines[-1].cells[0].text.startswith("−3.0")
    assert "FAILED" in sentences([], lost)[-1] and "passed" in sentences([], won)[-1]
    few = scored(lambda spec: 0, keep=lambda spec: spec.sampler == "baseline")
    told, reason, _ = recommendation(few)
    assert "is not complete" in sentences([], few)[-1] and "is not complete" in reason
    assert told.startswith("Chosen on 2026-12-01: tr, beta 0.75, bounded on sparse rewards")


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
    shown = candidates(found).splitlines()
    assert not any("alpha" in line or "layer_norm" in line for line in shown)  # OGBench's own numbers are no setting
    line = next(line for line in shown if line.startswith("tr  "))
    assert line.split()[1:3] == ["-4.0", "[-4.0,"] and "+7.0 [+7.0, +7.0] (5)" in line


def test_sweeps_in_step_and_settings_that_are_on_anyway_do_not_mislead_the_choice():
    tables = ("a_mazes", "a_layer_norm", "c_cube", "f_adroit", "candidates_one_length")
    in_step = lambda spec: "expert" in spec.dataset and not spec.stagger  # noqa: E731
    value = lambda spec: (spec.sampler == "tr") * (-50.0 if in_step(spec) else 1.0)  # noqa: E731
    found = PaperResults(runs_of(synthetic.rows(value, tables, noise=0.0, definitions=EVIDENCE)), "rewind")
    lines = candidates(found).splitlines()
    line = next(line for line in lines if line.startswith("tr  "))
    assert "(9)" in line and line.split()[5] == "+1.0"  # mazes, cloned sets, cubes; experts with staggered starts
    assert "(5)" in next(line for line in lines if line.startswith("tr, layer_norm"))  # three mazes and two cubes


@pytest.mark.parametrize(
    ("gain", "sparse", "dense"),
    [
        (lambda spec: {"avg_reward": 9.0, "uqm_reward": 5.0}.get(spec.sampler, 0.0), "avg_reward", "avg_reward"),
        (lambda spec: -1.0 if spec.sampler != "baseline" else 0.0, "baseline", "baseline"),  # nothing gains
        (
            lambda spec: (
                (spec.suite != "mujoco")
                * {"avg_reward": -11.0 if "pen" in spec.dataset else 9.0, "uqm_reward": 5.0}.get(spec.sampler, 0.0)
            ),
            "uqm_reward",  # the other is too bad on one set
            "baseline",
        ),
    ],
)
def test_the_rule_takes_the_surest_gain_that_no_set_speaks_against(gain, sparse, dense):
    tables = ("a_mazes", "c_cube", "d_mujoco", "f_adroit", "candidates", "candidates_one_length", "e_stagger")
    made = synthetic.rows(gain, tables, noise=0.0, definitions=EVIDENCE)
    made = [row for row in made if "halfcheetah" not in row["dataset"] and "scene" not in row["dataset"]]
    chosen, because = by_rule(PaperResults(runs_of(made), "rewind"))
    assert {kind: str(way) for kind, way in chosen.items()} == {"sparse": sparse, "dense": dense}
    assert "by the rule" in because and "9 data sets" in because


def test_a_setting_that_has_not_run_everywhere_is_not_chosen_by_the_rule():
    gain = lambda spec: 30.0 * (spec.sampler == "uqm_reward") + 5.0 * (spec.sampler == "avg_reward")  # noqa: E731
    made = synthetic.rows(
        gain, ("a_mazes", "f_adroit", "candidates", "candidates_one_length"), noise=0.0, definitions=EVIDENCE
    )
    made = [row for row in made if not (row["sampler"] == "uqm_reward" and "hammer" in row["dataset"])]
    assert str(by_rule(PaperResults(runs_of(made), "rewind"))[0]["sparse"]) == "avg_reward"


# What the library recommends follows the choice


SETTINGS = ("sampler", "beta", "bounded", "layer_norm")


def test_the_library_recommends_what_was_chosen_and_says_so_until_it_was_tested():
    """The committed table against the committed choice: `rewind paper choice` writes both."""
    table = tomllib.loads(recommended.RECOMMENDED.read_text(encoding="utf-8"))
    if COMMITTED is None:
        assert table["provisional"]
        return
    assert table["date"] == COMMITTED.date
    for kind in ("sparse", "dense"):
        assert {name: table[kind][name] for name in SETTINGS} == asdict(COMMITTED.way(kind))
        assert (told := recommended.reason(COMMITTED, kind)) in table[kind]["evidence"]["sampler"]
        assert f"{kind} rewards" in told and told in COMMITTED.because
    outcome = outcome_of(PaperResults(runs_of(read_rows(RESULTS)), "rewind"))
    passed = not isinstance(outcome, str) and all(kind.passes for kind in outcome)
    assert bool(table["provisional"]) == (not passed), "run `rewind paper choice`, and commit what it writes"


@pytest.mark.parametrize(
    ("value", "provisional"),
    [
        (lambda spec: 3, ""),
        (lambda spec: 20 if spec.suite != "mujoco" else -3, "it failed its test on other dense data sets"),
    ],
)
def test_the_table_says_how_the_test_stands(chosen, value, provisional):
    before = tomllib.loads(recommended_text(CHOSEN, "is not complete"))
    after = tomllib.loads(recommended_text(CHOSEN, outcome_of(scored(value))))
    assert "is not complete" in before["provisional"] and after["provisional"].startswith(provisional)
    assert bool(after["provisional"]) == bool(provisional)
    assert before["sparse"]["evidence"]["sampler"] == 'chosen on 2026-12-01 from 7 runs: it "won"'
    assert "points over uniform sampling on 13 other sparse data sets" in after["sparse"]["evidence"]["sampler"]
    assert before["dense"]["priority"] == "uniform"
    by_quality = tomllib.loads(recommended_text(replace(CHOSEN, sparse=KindSetting("avg_reward")), "is not complete"))
    assert by_quality["sparse"]["priority"] == "avg_reward"


def test_choosing_writes_the_choice_and_the_librarys_table_once(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pyarrow")
    table = tmp_path / "recommended.toml"
    table.write_text("")
    monkeypatch.setattr(halves, "CHOICE", tmp_path / "choice.toml")
    monkeypatch.setattr(recommended, "RECOMMENDED", table)
    with pytest.raises(UsageError, match="sampler"):
        PaperChoice(RESULTS, write=True, sparse="trr", because="it won").run()
    assert not table.read_text()
    PaperChoice(RESULTS, write=True, sparse="tr, beta 0.75", dense="baseline, bounded", because="it won").run()
    assert f"wrote {table}" in capsys.readouterr().out
    assert tomllib.loads(table.read_text())["dense"]["bounded"] is True
    PaperChoice(RESULTS).run()
    assert "wrote" not in capsys.readouterr().out
    with pytest.raises(UsageError, match="a choice is made once"):
        PaperChoice(RESULTS, write=True, because="again").run()
