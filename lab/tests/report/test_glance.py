"""The page's first screen: all data sets at a glance, and a sentence for each main claim."""

from pathlib import Path

import pytest

from rewind.report.markdown import to_markdown
from rewind.report.runs import runs_of
from rewind_lab.paper import halves
from rewind_lab.paper.definitions import EVIDENCE, RunChoice, in_order, load_definitions
from rewind_lab.paper.report.claims import judge, read_literally, verdicts
from rewind_lab.paper.report.controls import controls, explained, progress
from rewind_lab.paper.report.glance import glance_panels, sentences
from rewind_lab.paper.report.report import _with_a_story_first, build
from rewind_lab.paper.report.results import PaperResults
from rewind_lab.paper.results import read_index, read_rows

from .synthetic import as_claimed, rows

RESULTS = Path(__file__).parents[2] / "results" / "evidence"


def gained(spec):
    """TR gains 15 points; every method is at the floor on umaze."""
    return -28.0 if spec.dataset.endswith("antmaze-umaze-v1") else as_claimed(spec)


@pytest.fixture(scope="module", autouse=True)
def no_choice():
    """As it was before a setting was chosen."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(halves, "CHOICE", Path("none.toml"))
        yield


@pytest.fixture(scope="module")
def found(no_choice):
    """The evidence as if TR gained 15 points on AntMaze; and a first edition in which it lost."""
    mazes = {"tables": ("uniform", "a_mazes"), "datasets": ["antmaze-v1"], "algorithms": ["td3_bc"]}
    evidence = rows(gained, definitions=EVIDENCE, **mazes)
    first = rows(lambda spec: -as_claimed(spec), tables=("2", "fixed_beta"), datasets=["antmaze"])
    return PaperResults(runs_of(evidence), "rewind"), PaperResults(runs_of(first), "rewind")


def test_the_evidence_is_on_the_newest_sets_and_the_first_edition_on_v0(found):
    evidence, first = found
    assert evidence.newest and evidence.here("antmaze-umaze-v0") == "rewind/antmaze-umaze-v1"
    assert evidence.here("pen-cloned-v1") == "rewind/pen-cloned-v0"
    assert not first.newest and first.here("antmaze-umaze-v0") == "rewind/antmaze-umaze-v0"


def test_the_figure_has_ours_the_papers_and_the_first_editions_difference(found):
    tr, weighted, _ = glance_panels(*found)
    bars = {bar.name: bar for bar in tr.rows}
    assert len(bars) == 23  # every data set of the paper, with runs or without
    play = bars["antmaze-medium-play"]
    assert play.ours == pytest.approx(15, abs=2) and play.low < play.ours < play.high
    assert play.paper == pytest.approx(8.64, abs=0.1) and play.earlier == pytest.approx(-15, abs=2)
    assert bars["hopper-medium"].ours is None and bars["hopper-medium"].kind == "missing"
    assert {bar.name: bar.ours for bar in weighted.rows}["antmaze-medium-play"] == pytest.approx(20, abs=3)


def test_a_set_at_the_floor_is_shown_as_one():
    flat = rows(lambda spec: -29.0, noise=0.3, definitions=EVIDENCE, tables=("a_mazes",), algorithms=["td3_bc"])
    bar = next(bar for bar in glance_panels(PaperResults(runs_of(flat)), None)[0].rows if bar.ours is not None)
    assert bar.limit == "floor"


def test_sentences_say_what_is_missing_and_never_judge_by_the_first_edition(found):
    evidence, _ = found
    told = sentences(judge(evidence, None), evidence)
    assert "helps on sparse rewards (TD3+BC): holds, +15" in told[0]
    assert "] on 3 of 14 data sets (paper +" in told[0]
    assert "not enough data yet (paper +14.4): 0 of 3 data sets have runs of both methods." in told[1]
    assert "no setting is chosen" in told[-1]
    few = PaperResults(runs_of(rows(gained, definitions=EVIDENCE, tables=("uniform",), datasets=["antmaze-v1"])))
    told = sentences(judge(few, None), few)
    assert "not enough data yet" in told[0] and "first edition" not in told[0]


def in_step_loses(spec):
    """In step TR loses 50 points; with staggered starts, or where lengths differ, it gains 6."""
    if spec.sampler == "baseline":
        return 0.0
    return -50.0 if halves.in_step(spec.dataset, spec.sampler, stagger=spec.stagger) else 6.0


def test_a_claim_is_told_with_sweeps_in_step_too_where_trajectories_have_one_length():
    tables = ("a_mazes", "f_adroit", "candidates_one_length", "e_stagger")
    made = rows(in_step_loses, tables=tables, definitions=EVIDENCE, noise=0.01, algorithms=["td3_bc"])
    results = PaperResults(runs_of([row for row in made if row["dataset"] not in halves.held_back_half()]))
    found, literal = judge(results, None), read_literally(results)
    told = sentences(found, results, literal)[0]
    assert "holds, +6.0" in told and "With all sweeps in step: does not hold, −" in told
    paragraph = verdicts(found, literal)[2]
    assert "starts all sweeps at the last step" in paragraph
    assert "Trajectory Replay helps on sparse rewards (TD3+BC): does not hold, −" in paragraph
    mazes = PaperResults(runs_of([row for row in made if "antmaze" in row["dataset"]]))
    assert read_literally(mazes) == [] and "step" not in sentences(judge(mazes, None), mazes)[0]


def test_the_page_begins_with_the_figure_and_counts_the_first_edition_apart(found):
    evidence, first = found
    page = build(evidence, (), first)
    kinds = [type(block) for block in page.sections[0].blocks]
    assert page.sections[0].name == "glance" and 3 <= kinds.index(list) <= 5  # below a few sentences
    counts = dict(page.facts)
    assert counts["Runs of the first edition"] == f"{len(first.every):,}" and "of" in counts["Runs of the evidence"]
    assert counts["Critics that diverged"] == "0 of 0"  # of none a Q was recorded
    assert counts["Failed runs"] == "0"


def test_curves_open_on_the_set_whose_methods_end_farthest_apart():
    line = lambda end: {"y": [0.0, end]}  # noqa: E731
    charts = {"dull": {"td3_bc": [line(50), line(51)]}, "story": {"td3_bc": [line(10), line(60)]}}
    assert list(_with_a_story_first(charts)) == ["story", "dull"]
    assert _with_a_story_first({}) == {}


def test_the_pages_counts_are_those_of_status():
    """Which counts the wanted runs that the index has."""
    pytest.importorskip("pyarrow")
    _, done, wanted = progress(PaperResults(runs_of(read_rows(RESULTS)), "rewind"))
    runs, index = in_order(load_definitions(EVIDENCE).wanted(RunChoice(data="rewind"))), read_index(RESULTS)
    assert (done, wanted) == (sum(spec.run in index.runs for spec in runs), len(runs))


def test_controls_are_told_with_what_they_are_compared_with():
    """Windows beside the carried target, both precisions, all orders; OGBench's staggered sweeps are no order."""
    tables = ("e_order", "e_targets", "e_precisions", "e_alpha", "e_reuse")
    effect = lambda spec: 10.0 if dict(spec.settings).get("order") == "shuffled" else 0.0  # noqa: E731
    made = rows(effect, noise=0.0, definitions=EVIDENCE, tables=tables, datasets=["rewind/antmaze-medium-play-v1"])
    made += rows(effect, noise=0.0, definitions=EVIDENCE, tables=tables, datasets=["rewind/antmaze-large-diverse-v1"])
    found = PaperResults(runs_of(made), "rewind")
    order, _, _, targets, precisions, missing = controls(found)
    assert missing.startswith("Too few runs to compare yet: where sweeps begin")
    assert order.columns[1:] == ["Baseline", "TR", "TR, order forward", "TR, order shuffled"]
    assert {"λ-return over 16 rows, λ 0.25", "5-step return", "TR, β 0.75"} <= set(targets.columns)
    assert {"Baseline", "Baseline, precision highest"} <= set(precisions.columns)
    first, changes, *told = explained(found)
    assert first.startswith("With one-step targets, backward sweeps score less than shuffled sweeps on antmaze-medium-")
    cells = {line.head: [cell.text for cell in line.cells] for line in changes.lines}
    where = "antmaze-medium-play, antmaze-large-diverse"
    assert next(iter(cells)) == "uniform sampling instead of backward sweeps"
    assert cells["shuffled sweeps instead of backward sweeps"] == [where, "+10.0\xa0[+10.0,\xa0+10.0]"]
    assert cells["uniform sampling instead of backward sweeps"][1].startswith("+0.0")
    assert "reuse epoch instead of reuse on_finish" in cells
    assert not any("order shuffled" in block for block in told)  # not twice
    play = [row for row in made if "medium-play" in row["dataset"]]
    alone = explained(PaperResults(runs_of(play), "rewind"))
    words = alone[2].replace("\xa0", " ")
    assert "(antmaze-medium-play). Baseline, alpha 2.5: 30.0 ± 0.0 (8); Baseline, alpha 10.0: 30" in words  # all
    cube = rows(effect, noise=0.0, definitions=EVIDENCE, tables=("e_alpha",), datasets=["ogbench"])
    alpha = controls(PaperResults(runs_of(made + cube), "rewind"))[2]
    heads = [line.head for line in alpha.lines]
    assert "Baseline, alpha 2.5" in heads and "Baseline" not in heads  # OGBench's runs do not name their own, 2.5
    assert not any(cell.kind == "missing" for line in alpha.lines for cell in line.cells)
    nothing = PaperResults(runs_of(rows(definitions=EVIDENCE, tables=("uniform",), datasets=["antmaze-v1"])), "rewind")
    assert controls(nothing)[-1].startswith("Too few runs to compare yet: which order")


def test_trajectories_of_one_length_are_told_apart():
    made = rows(in_step_loses, ("d_mujoco", "e_stagger"), noise=0.0, definitions=EVIDENCE)
    made = [row for row in made if row["suite"] == "mujoco"]
    change = "TR instead of uniform sampling"
    mixed, alike, *_ = explained(PaperResults(runs_of(made), "rewind"))[0].lines
    assert mixed.head == f"{change}, lengths differ" and mixed.cells[0].text == "4 sets"
    assert mixed.cells[1].text.startswith("+6.0")
    assert alike.head == f"{change}, one length and sweeps in step"
    assert alike.cells[0].text == "halfcheetah-medium-expert" and alike.cells[1].text.startswith("−50.0")
    without = [row for row in made if "halfcheetah" not in row["dataset"]]
    assert not any(change in str(block) for block in explained(PaperResults(runs_of(without), "rewind")))


def test_a_control_keeps_a_set_whose_usual_methods_are_all_at_the_ceiling():
    """With staggered starts all methods solve the experts; in step TR does not, which is what the control shows."""

    def solved(spec):
        at = in_step_loses(spec)
        return at if at < 0 else 28.0

    tables = ("f_adroit", "candidates_one_length", "e_stagger")
    made = rows(solved, tables, noise=0.01, definitions=EVIDENCE, algorithms=["td3_bc"])
    changes, *_ = explained(PaperResults(runs_of(made), "rewind"))
    gains = {line.cells[0].text: line.cells[1].text for line in changes.lines}
    assert gains["TR, β 1.0, mean of 3 sets"].startswith("+78.0")


def test_a_set_that_the_paper_has_not_stands_in_every_panel_as_soon_as_one_has_runs():
    """TD3+BC on OGBench comes before IQL: the panels keep the same rows, and the page is written."""
    floor = lambda spec: -49.5 if "task2" in spec.dataset else 0.0  # noqa: E731
    made = rows(floor, ("uniform", "c_cube"), noise=0.3, definitions=EVIDENCE, algorithms=["td3_bc"])
    found = PaperResults(runs_of(made), "rewind")
    tr, _, iql = glance_panels(found, None)
    assert [bar.name for bar in tr.rows] == [bar.name for bar in iql.rows]
    cubes = [bar for bar in tr.rows if "cube-single" in bar.name]
    assert cubes and all(bar.ours is not None for bar in cubes)
    assert {bar.limit for bar in cubes if "task2" in bar.name} <= {"floor"} and iql.rows[-1].kind == "missing"
    assert "cube-single" in to_markdown(build(found))
