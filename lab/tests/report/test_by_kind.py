"""The README's evidence: what TR gains by kind of data, and the sentences beside the figure."""

import re
from pathlib import Path

import pytest

from rewind.report.document import Table
from rewind.report.methods import Method
from rewind.report.runs import runs_of
from rewind.statistics import Term, combined
from rewind_lab.paper.definitions import EVIDENCE
from rewind_lab.paper.halves import ONE_LENGTH, held_back_half
from rewind_lab.paper.report import by_kind, by_kind_words
from rewind_lab.paper.report.by_kind import METHODS, RANKED, SHOWN, figure_gains, gains_by_kind, gains_with_norm
from rewind_lab.paper.report.by_kind_plot import by_kind_figure
from rewind_lab.paper.report.by_kind_words import clear_blocks, evidence, known_gains
from rewind_lab.paper.report.claims import judge
from rewind_lab.paper.report.glance import glance_panels
from rewind_lab.paper.report.recommendation import candidates
from rewind_lab.paper.report.results import PaperResults

from .synthetic import as_claimed, null, rows

ROOT = Path(__file__).parents[3]
BASELINE = Method("baseline", 1.0)
TABLES = {"tables": ("a_mazes", "d_mujoco", "d_iql"), "definitions": EVIDENCE}


def effect(spec):
    """Every claim holds; on one maze every method is at the floor."""
    return -28.0 if spec.dataset.endswith("medium-diverse-v1") else as_claimed(spec)


@pytest.fixture(scope="module")
def results():
    return PaperResults(runs_of(rows(effect, **TABLES)), "rewind")


def test_a_gain_is_the_mean_over_the_sets_that_can_show_one(results):
    gains = {(gain.agent, gain.kind, gain.method): gain for gain in gains_by_kind(results)}
    maze = gains["td3_bc", "antmaze", "TR"]
    assert maze.difference.value == pytest.approx(15, abs=1.5) and maze.difference.low < maze.difference.value
    assert maze.limited == 1 and maze.used >= 2 and maze.runs == maze.used * 16
    assert gains["td3_bc", "antmaze", "TR, β 0.75"].difference.value == pytest.approx(20, abs=1.5)
    assert gains["iql", "mujoco", "TR"].used and gains["iql", "antmaze", "TR"].difference is None
    assert gains["td3_bc", "ogbench", "TR"].difference is None


def test_on_ogbench_sweeps_are_staggered_and_critics_of_td3_bc_have_layer_norm():
    def shown(spec):
        """Without layer norm, as in table ogbench, TD3+BC is at the floor."""
        floor = spec.algorithm == "td3_bc" and "layer_norm" not in dict(spec.settings)
        return -50.0 if floor else 7.0 * (spec.sampler == "tr")

    made = rows(shown, tables=("uniform", "ogbench", "c_cube"), definitions=EVIDENCE, noise=0.5)
    found = gains_by_kind(PaperResults(runs_of(made), "rewind"))
    gains = {(gain.agent, gain.kind, gain.method): gain for gain in found}
    for agent in ("td3_bc", "iql"):
        gain = gains[agent, "ogbench", "TR"]
        assert gain.used and not gain.limited and gain.difference.value == pytest.approx(7, abs=1)


def test_on_trajectories_of_one_length_staggered_sweeps_alone_count():
    """In step TR loses 50 points on them; with staggered starts it gains 6. One agent has run in step alone there."""

    def scored(spec):
        in_step = spec.dataset in ONE_LENGTH and not spec.stagger
        return (spec.sampler != "baseline") * (-50.0 if in_step else 6.0)

    def kept(spec):
        return not closed_before(spec) and not (spec.algorithm == "iql" and spec.stagger and spec.suite == "mujoco")

    tables = (
        "d_mujoco", "d_iql", "e_stagger", "e_stagger_iql", "f_adroit", "candidates_one_length", "candidates_layer_norm",
    )  # fmt: skip
    made = rows(scored, tables=tables, definitions=EVIDENCE, noise=0.5, keep=kept)
    found = PaperResults(runs_of(made), "rewind")
    gains = {(gain.agent, gain.kind, gain.method): gain for gain in gains_by_kind(found)}
    assert gains["td3_bc", "adroit", "TR"].difference.value == pytest.approx(6, abs=1)
    assert gains["td3_bc", "adroit", "TR"].used == 4
    assert gains["td3_bc", "mujoco", "TR"].difference.value == pytest.approx(6, abs=1)
    in_step = "rewind/halfcheetah-medium-expert-v1"
    assert in_step in {run.dataset for run in found.every.values() if run.algorithm == "iql" and run.method != BASELINE}
    assert in_step not in gains["iql", "mujoco", "TR"].sets and gains["iql", "mujoco", "TR"].used == 4
    norm = {(gain.agent, gain.method): gain for gain in gains_with_norm(found, METHODS) if gain.kind == "adroit"}
    assert norm["td3_bc", "TR, β 0.75, layer norm in both"].difference.value == pytest.approx(6, abs=1)


def closed_before(spec):
    """Whether it is a run on the held-back half: the committed choice opens it, which this is not about."""
    return spec.dataset in held_back_half()


def test_the_robot_is_named_where_all_sets_are_of_one_and_the_span_over_sets_is_told():
    def gain(*sets, kind="mujoco"):
        return by_kind.Gain("td3_bc", kind, "TR", None, dict(zip(sets, (4.6, -3.2), strict=False)), 1, 9)

    hopper = gain("rewind/hopper-medium-v1", "rewind/hopper-medium-replay-v1")
    assert hopper.span == "2 of 9 sets, of hopper: −3.2 to +4.6"
    assert gain("rewind/hopper-medium-v1", "rewind/walker2d-medium-v1").span.startswith("2 of 9 sets: −")
    assert gain("rewind/antmaze-umaze-v1", kind="antmaze").span == "1 of 9 sets"


def told_of(effect, **options):
    results = PaperResults(runs_of(rows(effect, **{**TABLES, **options})), "rewind")
    return evidence(results, judge(results, None))


def test_the_words_say_how_much_has_run_and_the_table_where_a_method_scores_more(results):
    caption, head, table, claims, advice = evidence(results, judge(results, None))
    assert " planned runs, on " in caption
    assert head.startswith("**Plain TR gains on AntMaze (TD3+BC)")
    assert table.lines[0].head == "TR by `avg_reward`"  # the largest first
    assert table.lines[0].cells[0].text == "AntMaze (TD3+BC)"
    assert table.lines[0].cells[1].text.startswith("+23")
    assert " hold" in claims and advice.startswith("**What to use:**")


def test_the_first_words_follow_from_the_numbers():
    """No runs of both, no difference, only losses, and both."""
    assert told_of(null, tables=("uniform",))[1].startswith("**Not measured yet:")
    mazes = {"tables": ("a_mazes",), "algorithms": ["td3_bc"]}
    _, head, note, *_ = told_of(null, **mazes)
    assert head == "**Plain TR does not clearly differ from uniform sampling on any kind of data.**"
    assert re.fullmatch(r"Not clear after Holm's correction: (\d+) of \1 comparisons\.", note)
    _, head, table, *_ = told_of(lambda spec: 0.0 if spec.sampler == "baseline" else -20.0, **mazes)
    assert head.startswith("**Plain TR loses on AntMaze (TD3+BC), and clearly gains nowhere. TR, β 0.75 and TR by `")
    assert head.endswith("lose on AntMaze (TD3+BC).**")
    assert len(table.lines) == 2 and not table.note  # all of them are clear, the largest are shown
    assert re.fullmatch(r"The largest clear differences from uniform sampling \(2 of \d\)", table.caption)
    mixed = {"tr": -20.0, "uqm_reward": 20.0}
    _, head, table, *_, advice = told_of(lambda spec: mixed.get(spec.sampler, 0.0), **mazes)
    assert head.endswith("TR by `uqm_reward` gains on AntMaze (TD3+BC); TR, β 0.75 loses on AntMaze (TD3+BC).**")
    assert table.lines[0].head == "TR by `uqm_reward`" and table.lines[-1].head.startswith("TR")
    assert "`rewind train --dataset log.npz --samplers baseline tr " in advice
    _, head, table, *_ = told_of(lambda spec: 20.0 * (spec.sampler == "uqm_reward"), **mazes)
    assert "does not clearly differ" in head and "TR by `uqm_reward` gains on AntMaze (TD3+BC)." in head
    assert table.note.startswith("Not clear after Holm's correction: ")
    _, head, *_ = told_of(lambda spec: -60.0 * (spec.sampler == "tr") * ("medium-play" in spec.dataset), **mazes)
    rests = "**Plain TR loses on AntMaze (TD3+BC; not clear without antmaze-medium-play), and clearly gains nowhere."
    assert head.startswith(rests)


def test_the_first_words_name_the_one_set_that_a_variants_gain_rests_on():
    lucky = lambda spec: 60.0 * (spec.sampler == "uqm_reward") * ("medium-play" in spec.dataset)  # noqa: E731
    head = told_of(lucky, tables=("a_mazes",), algorithms=["td3_bc"])[1]
    assert "TR by `uqm_reward` gains on AntMaze (TD3+BC; not clear without antmaze-medium-play)" in head


def test_a_gain_on_one_set_alone_is_seen_without_it():
    lucky = lambda spec: 28.0 * (spec.sampler == "uqm_reward") * ("medium-play" in spec.dataset)  # noqa: E731
    results = PaperResults(runs_of(rows(lucky, noise=0.5, tables=("a_mazes",), definitions=EVIDENCE)), "rewind")
    table = clear_blocks(results)[1]
    points, sets, without = (cell.text for cell in table.lines[0].cells[1:])
    assert table.lines[0].head == "TR by `uqm_reward`" and points.startswith("+4.") and "6 of 6 sets: " in sets
    assert without[:4] in ("+0.0", "+0.1", "−0.1", "+0.2", "−0.2")


def test_priorities_with_the_same_runs_are_one_comparison():
    """As on trajectories that all have the same rewards at the same places, which no priority ranks."""
    value = lambda spec: 9.0 * spec.seed + 5.0 * (spec.sampler in ("avg_reward", "uqm_reward"))  # noqa: E731
    results = PaperResults(runs_of(rows(value, noise=0.0, tables=("a_mazes",), definitions=EVIDENCE)), "rewind")
    names = [gain.method for gain in known_gains(results)]
    assert sum(name in ("TR by `avg_reward`", "TR by `uqm_reward`") for name in names) == 1


def test_where_a_setting_was_chosen_its_gain_is_said_to_flatter():
    value = lambda spec: 20.0 * bool(spec.settings) * (spec.sampler == "avg_reward")  # noqa: E731
    made = rows(value, ("a_mazes", "a_layer_norm", "candidates"), noise=0.5, definitions=EVIDENCE, datasets=["antmaze"])
    notes = [
        clear_blocks(PaperResults(runs_of(some), "rewind"))[1].note
        for some in (made, [row for row in made if row["dataset"] not in held_back_half()])
    ]
    assert all("expect less." in note for note in notes)
    plain = rows(lambda spec: 20.0 * (spec.sampler == "tr"), ("a_mazes",), noise=0.5, definitions=EVIDENCE)
    assert "expect less" not in clear_blocks(PaperResults(runs_of(plain), "rewind"))[1].note


@pytest.mark.parametrize(
    ("sparse", "dense", "why", "told"),
    [
        ("tr", "baseline", " Provisional: no test yet.", "compare on your own data: `rewind train --dataset log.npz "
         "--samplers baseline tr --betas 1 0.75 --hold-out 0.1`. `--recommended` sets "
         "TR with a weighted target (beta 0.75) and bounded targets on sparse rewards, uniform sampling with "
         "bounded targets on dense ones. "
         "Provisional: no test yet."),
        ("tr", "baseline", "", "It sets TR with a weighted target (beta 0.75) and bounded targets on sparse rewards, "
         "uniform sampling with bounded targets on dense ones, and has passed its test"),
        ("avg_reward", "avg_reward", "", "`rewind train --recommended`. It sets TR by `avg_reward` with a weighted "
         "target (beta 0.75) and bounded targets, and has passed its test"),
    ],
)  # fmt: skip
def test_what_to_start_with_is_what_the_library_recommends(monkeypatch, sparse, dense, why, told):
    row = {"beta": 0.75, "stagger": "one length", "bounded": True, "layer_norm": False}
    table = {"sparse": row | {"sampler": sparse}, "dense": row | {"sampler": dense}}
    monkeypatch.setattr(by_kind_words, "recommended", lambda: table)
    monkeypatch.setattr(by_kind_words, "caution", lambda: why)
    assert told in by_kind_words._advice()


def test_the_figure_shows_the_priority_with_layer_norm_in_both():
    made = rows(
        lambda spec: 12.0 * (spec.sampler == "avg_reward") + 5.0 * ("layer_norm" in dict(spec.settings)), noise=0.1,
        tables=("a_mazes", "a_layer_norm", "candidates", "c_cube"), definitions=EVIDENCE,
    )  # fmt: skip
    found = {gain.kind: gain for gain in figure_gains(PaperResults(runs_of(made), "rewind")) if gain.method == SHOWN
             and gain.agent == "td3_bc" and gain.difference is not None}  # fmt: skip
    assert {"antmaze", "ogbench"} <= found.keys()
    assert all(found[kind].difference.value == pytest.approx(12, abs=0.5) for kind in ("antmaze", "ogbench"))


def test_the_figure_is_drawn_with_and_without_runs(results, tmp_path):
    pytest.importorskip("matplotlib")
    nothing = PaperResults(runs_of(rows(**{**TABLES, "tables": ("uniform",)})), "rewind")
    for name, found in (("some", results), ("none", nothing)):
        paths = by_kind_figure(figure_gains(found), tmp_path / name)
        assert all(path.stat().st_size > 1000 for path in paths)


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_first_pages_show_the_figure_and_what_the_command_wrote(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    inside = text.partition("<!-- report: evidence -->")[2].partition("<!-- end of report -->")[0]
    assert "images/evidence.png" in text and "planned runs" in inside and "What to use:" in inside


# One difference, one interval


def test_the_figures_and_the_choice_give_a_difference_the_same_interval():
    """On a maze with runs of seven methods, whose spread few runs borrow."""
    maze = "rewind/antmaze-medium-play-v1"
    few = lambda spec: spec.seed < (3 if spec.sampler == "tr" else 8)  # noqa: E731
    made = rows(null, tables=("a_mazes",), definitions=EVIDENCE, datasets=[maze], noise=6.0, keep=few)
    found = PaperResults(runs_of(made), "rewind")
    gain = next(one for one in gains_by_kind(found) if (one.agent, one.kind, one.method) == ("td3_bc", "antmaze", "TR"))
    bar = next(one for one in glance_panels(found, None)[0].rows if one.ours is not None)
    told = next(line for line in candidates(found).splitlines() if line.startswith("tr  "))
    assert (bar.ours, bar.low, bar.high) == pytest.approx(tuple(gain.difference))
    assert f"{bar.ours:+.1f} [{bar.low:+.1f}, {bar.high:+.1f}] (1)" in told
    pair = [found.scores(maze, "td3_bc", name) for name in ("tr", "baseline")]
    assert gain.p == pytest.approx(found.difference("td3_bc", {maze: tuple(pair)}).p())
    alone = combined(Term(sign, runs) for sign, runs in zip((1, -1), pair, strict=True)).estimate
    assert tuple(alone) != pytest.approx(tuple(gain.difference))  # or nothing would have been borrowed


def test_gains_with_layer_norm_are_over_uniform_sampling_with_it():
    value = lambda spec: 20.0 * bool(spec.settings) + 9.0 * (spec.sampler == "avg_reward" and bool(spec.settings))  # noqa: E731
    made = rows(value, ("a_mazes", "a_layer_norm", "candidates"), noise=0.0, definitions=EVIDENCE, datasets=["antmaze"])
    found = PaperResults(runs_of(made), "rewind")
    gains = {gain.method: gain for gain in gains_with_norm(found, METHODS | RANKED) if gain.difference is not None}
    assert gains["TR by `avg_reward`, layer norm in both"].difference.value == pytest.approx(9.0, abs=0.01)
    assert gains["TR, layer norm in both"].difference.value == pytest.approx(0.0, abs=0.01)
    assert (
        gains_with_norm(PaperResults(runs_of([row for row in made if row["settings"] == "{}"]), "rewind"), METHODS)
        == []
    )
    table = next(block for block in evidence(found, []) if isinstance(block, Table))
    cells = {line.head: [cell.text for cell in line.cells] for line in table.lines}
    assert cells["TR by `avg_reward`, layer norm in both"][1].startswith("+9.0")
