"""What the paper printed, against itself."""

from itertools import pairwise

import pytest

from rewind import UsageError
from rewind.data.catalogue import catalogue
from rewind_lab.paper.datasets import hyper_parameters
from rewind_lab.paper.published import SUITES, Printed, published, published_names, slips

BY_DATASET = ("table_1_full", "table_2", "td3_bc", "iql")


def sums(name):
    """(suite, column) -> the sum of its rows, and the total that is printed."""
    table = published(name)
    for suite in SUITES:
        for column, total in table[suite].items():
            rows = [table[d][column] for d in table if d not in SUITES and catalogue()[d].suite == suite]
            if total is not None:
                yield suite, column, sum(cell.mean for cell in rows), total.mean


def slipped(name, suite, column):
    return next((s for s in slips() if s["table"] == name and suite in s["rows"] and column in s["columns"]), None)


@pytest.mark.parametrize("name", BY_DATASET)
def test_totals_are_the_sums_of_their_rows_but_for_the_slips(name):
    digits = 0.005 if name.startswith("table") else 0.05  # what a row may have lost in rounding
    for suite, column, total, printed in sums(name):
        tolerance = 9 * (0.05 if column.endswith("original") else digits) + 0.01
        slip = slipped(name, suite, column)
        if slip is None or "sum" not in slip:
            assert total == pytest.approx(printed, abs=tolerance), (suite, column)
        else:
            assert total == pytest.approx(slip["sum"], abs=0.01)
            assert abs(total - printed) > tolerance, f"{suite} {column} is no slip"


def test_every_data_set_of_the_paper_has_its_row_in_each_table():
    paper = {name for name, entry in catalogue().items() if entry.paper}
    for name in BY_DATASET:
        assert set(published(name)) == paper | set(SUITES)
        assert len({tuple(row) for row in published(name).values()}) == 1


def test_tables_that_show_the_same_numbers_agree():
    full, third = published("table_1_full"), published("table_3")
    for suite in SUITES:
        for column, total in third[suite].items():
            assert total.mean == pytest.approx(published(column.split()[0])[suite][column].mean, abs=0.011)
        for column, total in published("table_1")[suite].items():
            assert total is None or total.mean == pytest.approx(full[suite][column].mean, abs=0.011)
    for row, cells in published("table_2").items():
        assert cells["td3_bc baseline"] == full[row]["td3_bc baseline"]
        assert cells["td3_bc tr"].mean == full[row]["td3_bc tr"].mean


def test_the_mean_of_the_next_column_is_printed_where_a_slip_says_so():
    (slip,) = [slip for slip in slips() if slip.get("std")]
    for row in slip["rows"]:
        cells = list(published(slip["table"])[row].values())
        assert all(cell.std == after.mean for cell, after in pairwise(cells))


def test_numbers_and_dashes_are_read():
    table = published("table_2")
    assert table["walker2d-medium-replay-v2"]["td3_bc weighted"] == Printed(86.28, 2.47)
    assert table["antmaze-large-diverse-v0"]["iql original"] == Printed(47.5)
    assert table["pen-cloned-v1"]["td3_bc original"] is None
    assert published("iql")["antmaze-large-play-v0"]["iql max_reward"] == Printed(0.0, 0.1)
    cost = {row: cells["td3_bc seconds per 1000 steps"].mean for row, cells in published("table_5").items()}
    assert cost["tr"] / cost["baseline"] == pytest.approx(1.039, abs=5e-4)
    assert "td3_bc" in published_names()
    with pytest.raises(UsageError, match="did you mean 'table_2'"):
        published("table2")


def test_hyper_parameters_are_those_of_the_appendix():
    rows = {row["data set"]: row for row in hyper_parameters()}
    assert len(rows) == 23
    assert [rows["antmaze-medium-play-v0"][name] for name in ("beta", "TD3+BC alpha", "EDAC N")] == [0.98, 36.0, None]
    assert [rows["hopper-medium-replay-v2"][name] for name in ("beta", "IQL tau", "EDAC N")] == [1.0, 0.7, 3]
