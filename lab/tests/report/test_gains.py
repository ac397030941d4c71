"""What methods gain over the baseline: known effects come out, by kind of data."""

import pytest

from rewind.report.runs import runs_of
from rewind_lab.paper.report.gains import gains
from rewind_lab.paper.report.results import PaperResults

from .synthetic import rows


def effect(spec):
    """TR gains 10 points on AntMaze and loses 4 on medium-replay."""
    if (spec.sampler, spec.beta) != ("tr", 1.0):
        return 0.0
    return 10.0 if "antmaze" in spec.dataset else -4.0 if "medium-replay" in spec.dataset else 0.0


@pytest.fixture(scope="module")
def found():
    return rows(effect, noise=0.0)


def lines(table):
    columns = [column.split(" (")[0] for column in table.columns[1:]]
    return {line.head: dict(zip(columns, line.cells, strict=True)) for line in table.lines}


def test_gains_are_the_mean_difference_by_kind_of_data(found):
    rule, *tables = gains(PaperResults(runs_of(found)))
    td3_bc = next(table for table in tables if "TD3+BC" in table.caption)
    assert "at least 3 runs" in rule and td3_bc.columns[1] == "AntMaze (6 sets)"
    tr, sarsa, fixed = (lines(td3_bc)[name] for name in ("TR", "SARSA", "TR, β 0.75"))
    assert tr["AntMaze"].text.startswith("+10.0") and tr["medium-replay"].text.startswith("−4.0")
    assert tr["MuJoCo"].text.startswith("−1.3") and sarsa["AntMaze"].text.startswith("+0.0")
    assert tr["AntMaze"].beside and not fixed["AntMaze"].beside  # the paper has no such column


def test_a_method_with_fewer_data_sets_says_so_and_one_without_runs_is_left_out(found):
    fewer = [
        row for row in found
        if row["sampler"] != "return" and not (row["sampler"] == "max_reward" and "umaze" in row["dataset"])
    ]  # fmt: skip
    shown = lines(gains(PaperResults(runs_of(fewer)))[1])
    assert "Return" not in shown and shown["Max reward"]["AntMaze"].text.endswith("(4)")


def test_two_runs_are_not_enough(found):
    few = [row for row in found if row["seed"] < 2]
    assert gains(PaperResults(runs_of(few)))[1:] == ["No method has enough runs yet."]
