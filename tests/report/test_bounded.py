"""A method against the baseline, as they are and with bounds on both sides."""

import pytest

from rewind.report.paper.bounded import bounded_tables
from rewind.report.paper.report import build
from rewind.report.paper.runs import Results, runs_of

from .synthetic import null, rows

SETS = ["antmaze-medium-play-v0", "antmaze-large-play-v0"]


@pytest.fixture
def some():
    """TR loses 30 points without bounds, with half of its critics, and has 10 more than the baseline with them."""
    found = rows(null, noise=0.0, tables=("bounded", "together"), datasets=SETS)
    for row in found:
        bounded, tr = "target_high" in row["settings"], row["sampler"] == "tr"
        row["score"] = 50.0 + (tr * 10.0 if bounded else tr * -30.0)
        row["q"], row["q_excess"] = (200.0, 2.0) if tr and not bounded and row["seed"] % 2 else (-50.0, 0.0)
    return found


def shown(found):
    (table,) = bounded_tables(Results(runs_of(found), "rewind"))
    return {line.head: [cell.text.replace("\N{NO-BREAK SPACE}", " ") for cell in line.cells] for line in table.lines}


def test_what_bounds_add_and_what_a_method_adds_to_them(some):
    lines = shown(some)
    assert lines["AntMaze: Baseline"] == ["2", "", "", "+0.0 [+0.0, +0.0]", "0 of 16", "0 of 16"]
    assert lines["AntMaze: TR"] == [
        "2", "−30.0 [−30.0, −30.0]", "+10.0 [+10.0, +10.0]", "+40.0 [+40.0, +40.0]", "8 of 16", "0 of 16",
    ]  # fmt: skip


def test_only_sets_with_three_runs_both_ways_count(some):
    def kept(row):
        few = row["dataset"].endswith("large-play-v0") and row["settings"] != "{}" and row["sampler"] == "tr"
        return not few or row["seed"] < 2

    assert shown([row for row in some if kept(row)])["AntMaze: TR"][0] == "1"


def test_what_is_staggered_besides_is_not_taken_for_bounded(some):
    staggered = [row for row in some if row["stagger"]]
    assert staggered and all("target_high" in row["settings"] for row in staggered)
    for row in staggered:
        row["score"] = 0.0
    assert shown(some)["AntMaze: TR"][2] == "+10.0 [+10.0, +10.0]"


def test_without_bounded_runs_there_is_no_table(some):
    free = Results(runs_of(row for row in some if row["settings"] == "{}"), "rewind")
    assert bounded_tables(free) == []
    captions = [block.caption for section in build(Results(runs_of(some), "rewind")).sections
                for block in section.blocks if hasattr(block, "caption")]  # fmt: skip
    assert "Over the baseline where targets are bounded, TD3+BC" in captions
