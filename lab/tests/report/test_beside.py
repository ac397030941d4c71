"""Scores on rebuilt data beside the paper's."""

from pathlib import Path

import pytest
from lab.tests.report import synthetic

from rewind.data.catalogue import known_entry
from rewind.errors import DataError
from rewind.rebuilt.recipes import recipes
from rewind.report.runs import runs_of
from rewind_lab.paper.definitions import EVIDENCE
from rewind_lab.paper.report.beside import WHY, behaviour_scores, beside, cloned_scores
from rewind_lab.paper.report.results import PaperResults

ROOT = EVIDENCE.parents[4]


def variants(page):
    """The lines of the page by set, agent and sampler."""
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| rewind/")]
    return {(row[0], row[3], row[4]): row for row in rows}


def test_ours_stand_beside_the_papers_and_what_is_missing_is_said(tmp_path):
    (tmp_path / "cards.json").write_text('{"rewind/hopper-medium-v0": {"behaviour_score": 32.4}, "rewind/x": {}}')
    hopper = synthetic.rows(
        synthetic.null, ("rebuilt",), noise=0.0, keep=lambda s: s.dataset == "rewind/hopper-medium-v0", seeds=(0, 1)
    )
    only_td3_bc = [row for row in hopper if row["algorithm"] == "td3_bc"]
    page = beside(PaperResults(runs_of(only_td3_bc), "rewind"), behaviour_scores(tmp_path / "cards.json"))
    lines = variants(page)
    assert lines["rewind/hopper-medium-v0", "TD3+BC", "Baseline"] == [
        "rewind/hopper-medium-v0", "44.3, 32.4", "56.9, -", "TD3+BC", "Baseline",
        "59.3", "60.5 ± 5.8", "**65.0 ± 0.0** (65 65)", "2", "+5.7",
    ]  # fmt: skip
    assert lines["rewind/hopper-medium-v0", "IQL", "Baseline"][-3:] == ["not run yet", "0", "-"]
    assert "Far from the original: 0 of 1 lines." in page
    assert lines["rewind/antmaze-medium-play-v0", "TD3+BC", "Weighted, β 0.98"][6] == "71.1 ± 9.2"


def test_deviations_are_over_n_minus_1_as_everywhere_else():
    made = synthetic.rows(
        synthetic.null, ("rebuilt",), keep=lambda s: s.dataset == "rewind/hopper-medium-v0", seeds=(0, 1)
    )
    results = PaperResults(runs_of([row for row in made if row["algorithm"] == "td3_bc"]), "rewind")
    one, other = sorted(run.score for run in results.runs)
    told = variants(beside(results, {}))["rewind/hopper-medium-v0", "TD3+BC", "Baseline"][7]
    assert told.startswith(f"**{(one + other) / 2:.1f} ± {(other - one) / 2**0.5:.1f}**")


def test_without_cards_nothing_is_known_of_the_data(tmp_path):
    assert behaviour_scores(tmp_path / "cards.json") == {}


def test_runs_by_another_protocol_do_not_stand_beside_the_papers():
    short = synthetic.rows(synthetic.null, ("rebuilt",), datasets=["hopper-medium-v2"], seeds=(0, 1), steps=5000)
    with pytest.raises(DataError, match="they have 5,000 steps"):
        beside(PaperResults(runs_of(short), "rewind"), {})


def test_cloning_scores_of_every_v1_set_are_means_over_seeds_with_all_the_data_and_its_best_tenth():
    made = synthetic.rows(
        lambda spec: 10.0 * spec.seed + 20.0 * len(spec.settings) + (500.0 if spec.algorithm != "bc" else 0.0),
        ("uniform", "cloned"), noise=0.0, definitions=EVIDENCE,
    )  # fmt: skip
    runs = [run for run in runs_of(made) if run.algorithm == "iql" and run.row["seed"] == 0]
    page = beside(PaperResults(runs, "rewind"), {}, "uniform", EVIDENCE, Path("lab/results/evidence"))
    assert variants(page)["rewind/antmaze-umaze-v1", "IQL", "Baseline"][-1] == "+442.5, far"
    whole = beside(PaperResults(runs_of(made), "rewind"), {}, "uniform", EVIDENCE)
    assert variants(whole)["rewind/hopper-medium-v1", "IQL", "Baseline"][2] == "56.9, 100.0"
    assert "from `lab/results/evidence`" in page
    short = [{**made[0], "run": "a trial", "algorithm": "bc", "settings": "{}", "steps": 5000, "score": 1e6}]
    scores = cloned_scores(runs_of(made + short))
    assert set(scores) == {name for name in recipes() if name.endswith("-v1") and known_entry(name).suite != "adroit"}
    assert scores["rewind/hopper-medium-v1"] == {
        "BC": {"score": pytest.approx(80.0, abs=0.5), "seeds": 4, "steps": 1_000_000},
        "10% BC": {"score": pytest.approx(100.0, abs=0.5), "seeds": 4, "steps": 1_000_000},
    }
    assert cloned_scores(runs_of(short))[made[0]["dataset"]]["BC"] == {"score": 1e6, "seeds": 1, "steps": 5000}


def test_every_set_that_is_far_is_named_where_the_page_says_why():
    page = (ROOT / "docs/scores_v1.md").read_text(encoding="utf-8")
    far = {line.split(" | ")[0].removeprefix("| rewind/").removesuffix("-v1") for line in page.splitlines() if
           line.startswith("| rewind/") and ", far |" in line}  # fmt: skip
    assert far and far <= {name for names in WHY for name in names}
    told = page.partition("**Why some are far:**")[2].partition("\n| ")[0]
    assert all(f" {name}" in told for name in far) and "walker2d-medium:" not in told  # which is not far
