"""The paper's tables with our numbers; what was not run is missing, and nothing else."""

import pytest

from rewind.report.curves import score_curves
from rewind.report.document import Fold, Table
from rewind.report.runs import runs_of
from rewind.statistics import deviation
from rewind_lab.paper.report.beyond import beyond_tables
from rewind_lab.paper.report.cost import cost_table, read_costs
from rewind_lab.paper.report.report import _mixed_kernels
from rewind_lab.paper.report.results import PaperResults
from rewind_lab.paper.report.summary import UNEQUAL, profiles, suite_tables, unequal
from rewind_lab.paper.report.tables import paper_table, paper_tables

from .synthetic import rows


def results(**options):
    return PaperResults(runs_of(rows(**options)))


def cell(table, head, column):
    line = next(line for line in table.lines if line.head == head)
    return line.cells[table.columns[1:].index(column)]


@pytest.fixture(scope="module")
def partial():
    """One data set of MuJoCo with three runs, one of AntMaze with two."""
    keep = {"rewind/hopper-medium-v0": 3, "rewind/antmaze-umaze-v0": 2}
    return results(keep=lambda spec: spec.seed < keep.get(spec.dataset, 0))


def test_a_cell_is_our_mean_and_deviation_beside_the_papers(partial):
    shown = cell(paper_table("table_2", partial), "hopper-medium", "TD3+BC (TR)")
    scores = partial.scores("rewind/hopper-medium-v0", "td3_bc", "tr")
    assert shown.text == f"{scores.mean():.1f} ± {deviation(scores):.1f} (3)"
    assert shown.beside == "60.0 ± 2.0" and shown.kind in ("agrees", "similar", "higher", "lower")


def test_the_same_run_stands_in_every_column_that_means_it(partial):
    table = paper_table("table_2", partial)  # the paper's beta for hopper-medium is 0
    assert cell(table, "hopper-medium", "TD3+BC (Weighted)").text == cell(table, "hopper-medium", "TD3+BC (SARSA)").text


def test_what_was_not_run_is_missing_and_the_papers_number_stays(partial):
    table = paper_table("table_2", partial)
    shown = cell(table, "walker2d-medium", "TD3+BC")
    assert (shown.text, shown.beside, shown.kind) == ("", "84.1 ± 1.7", "missing")
    original = cell(table, "walker2d-medium", "IQL (its paper)")
    assert (original.text, original.beside, original.kind) == ("", "78.3", "")


def test_no_number_of_ours_is_invented(partial):
    """Every cell with a number of ours belongs to a data set that was run."""
    ran = {"hopper-medium", "antmaze-umaze", "MuJoCo, total", "AntMaze, total", "TD3+BC, MuJoCo", "TD3+BC, AntMaze"}
    tables = [block.blocks[0] if isinstance(block, Fold) else block for block in paper_tables(partial)]
    for table in (table for table in tables if isinstance(table, Table)):
        for line in table.lines:
            for shown in line.cells:
                assert not shown.text or line.head in ran
                assert not shown.text or shown.kind != "missing"


def test_totals_are_over_the_sets_that_were_run_in_both(partial):
    shown = cell(paper_table("table_1", partial), "MuJoCo, total", "TD3+BC")
    mean = partial.scores("rewind/hopper-medium-v0", "td3_bc", "baseline").mean()
    assert shown.text == f"{mean:.1f} (1 of 9 sets)" and shown.beside == "60.5"


def test_a_whole_total_is_the_sum_of_the_rows_not_the_slip_of_the_paper():
    whole = results(tables=("2",), datasets=["antmaze"])
    table = paper_table("table_2", whole)
    assert cell(table, "AntMaze, total", "TD3+BC").beside == "85.2"
    assert "98.36" in table.note and "19.21" in table.note


def test_tables_have_the_papers_columns(partial):
    assert len(paper_table("td3_bc", partial).columns) == len(paper_table("iql", partial).columns) == 15
    table = paper_table("table_3", partial)
    assert table.columns[1:4] == ["Baseline", "TR", "Return"] and len(table.columns) == 12
    heads = [line.head for line in table.lines]
    assert heads[:4] == ["TD3+BC, MuJoCo", "TD3+BC, AntMaze", "TD3+BC, Adroit", "IQL, MuJoCo"]
    assert cell(table, "TD3+BC, MuJoCo", "TR").text.endswith("(1 of 9 sets)")


def test_suites_are_summed_up_with_intervals(partial):
    tables = suite_tables(partial)
    assert [table.caption for table in tables] == ["MuJoCo, TD3+BC", "AntMaze, TD3+BC"]
    line = next(line for line in tables[0].lines if line.head == "SARSA")
    assert line.cells[2].text.startswith("0.00") and line.cells[3].text == "1 of 9"  # far below the baseline
    baseline = next(line for line in tables[0].lines if line.head == "Baseline")
    assert baseline.cells[2].text == ""


def test_methods_summed_up_over_different_data_sets_are_warned_of(partial):
    assert unequal(partial) == []
    more = results(keep=lambda spec: spec.dataset == "rewind/hopper-medium-v0" or spec.sampler == "baseline")
    assert unequal(more) == [UNEQUAL]


def test_runs_with_and_without_fused_kernels_on_one_data_set_are_named():
    fused = '{"kernels": "fused"}'
    found = rows(datasets=["hopper-medium-v2", "walker2d-medium-v2"])
    told = [{**row, "versions": fused if row["sampler"] == "tr" else row["versions"]} for row in found]
    (sentence,) = _mixed_kernels(PaperResults(runs_of([row for row in told if "hopper" in row["dataset"]])))
    assert sentence.startswith("On hopper-medium (TD3+BC) some runs were trained with fused kernels")
    assert _mixed_kernels(PaperResults(runs_of(found))) == []
    assert _mixed_kernels(PaperResults(runs_of([{**row, "versions": fused} for row in found]))) == []


def test_charts_hold_what_was_run(partial):
    found = score_curves(partial)
    assert list(found) == ["rewind/hopper-medium-v0", "rewind/antmaze-umaze-v0"]
    series = {one["label"]: one for one in found["rewind/antmaze-umaze-v0"]["td3_bc"]}
    assert series["Weighted"]["runs"] == 2
    assert len(series) == 18  # baseline, TR, SARSA, 12 priorities, two betas, and the paper's under its name
    one = series["TR"]
    assert one["x"][-1] == 1_000_000
    assert set(one["low"]) == {None}  # two runs: a t interval would hide the curves
    shares = profiles(partial)["mujoco"]["td3_bc"][0]
    assert shares["y"][0] == 1 and shares["y"][-1] == 0
    assert all(before >= after for before, after in zip(shares["y"], shares["y"][1:], strict=False))


def test_what_the_paper_lacks_is_shown_once_it_was_run():
    assert beyond_tables(results(tables=("1",), datasets=["hopper-medium-replay-v2"])) == []
    tables = beyond_tables(results(tables=("2", "fixed_beta", "reuse"), datasets=["hopper-medium-replay-v2"]))
    titles = [table.caption for table in tables]
    assert titles[0].startswith("One beta") and "When a trajectory is available again" in titles
    assert "TD3+BC's alpha, the paper's grid" not in titles  # one alpha for each set is no grid
    reuse = tables[titles.index("When a trajectory is available again")]
    assert reuse.columns == ["", "hopper-medium-replay"]  # more variants than data sets: they go down
    assert [line.head for line in reuse.lines][:2] == ["TR, reuse epoch", "TR, reuse on_finish"]
    assert len(reuse.lines) == 9
    beta = tables[0]  # and few go across
    assert beta.columns[:2] == ["Data set", "Baseline"] and [line.head for line in beta.lines] == [
        "hopper-medium-replay"
    ]


def test_variants_on_several_data_sets_have_a_mean():
    sets = ["hopper-medium-replay-v2", "antmaze-umaze-v0", "walker2d-medium-replay-v2"]
    tables = {
        table.caption: table for table in beyond_tables(results(tables=("2", "fixed_beta", "reuse"), datasets=sets))
    }
    reuse = tables["When a trajectory is available again"]
    assert reuse.columns[-1] == "Mean of 3" and all("[" in line.cells[-1].text for line in reuse.lines)
    beta = next(iter(tables.values()))
    assert beta.lines[-1].head == "Mean of 3" and all("[" in each.text for each in beta.lines[-1].cells)


def test_a_data_set_on_which_nothing_is_compared_yet_is_left_out():
    """Runs of the paper's tables are part of most of these tables, and would fill them with halves."""
    half = results(tables=("bounded",), datasets=["antmaze-umaze-v0", "antmaze-medium-play-v0"],
                   keep=lambda spec: not spec.settings or "antmaze-umaze" in spec.dataset)  # fmt: skip
    (table,) = [each for each in beyond_tables(half) if each.caption.startswith("Targets bounded")]
    assert {line.head.partition(":")[0] for line in table.lines} == {"antmaze-umaze"}


def test_bounds_are_one_variant_whatever_their_numbers():
    sets = ["antmaze-umaze-v0", "walker2d-medium-expert-v2"]  # numbers on one, found from the data on the other
    tables = {each.caption: each for each in beyond_tables(results(tables=("together", "bounded"), datasets=sets))}
    bounded = tables["Targets bounded by what rewards can add up to"]
    shown = {line.head: line.cells for line in bounded.lines if line.head.endswith(": TR, β 1.0")}
    counts = {name: [cell.text[-3:] for cell in cells[:2]] for name, cells in shown.items()}
    assert counts == {"antmaze-umaze: TR, β 1.0": ["(8)"] * 2, "walker2d-medium-expert: TR, β 1.0": ["(3)"] * 2}


def test_runs_without_a_score_are_not_compared():
    broken = rows(tables=("bounded",), datasets=["antmaze-umaze-v0"])
    for row in broken:
        if row["settings"] != "{}":
            row["score"] = None
    captions = [table.caption for table in beyond_tables(PaperResults(runs_of(broken)))]
    assert not any("bounded" in caption for caption in captions)


def test_a_bound_at_infinity_is_none():
    table, *_ = beyond_tables(results(tables=("bounded",), datasets=["antmaze-umaze-v0"]))
    heads = [line.head.removeprefix("antmaze-umaze: ") for line in table.lines]
    assert heads[:3] == ["Baseline", "TR, β 0.95", "TR, β 1.0"]
    assert [cell.text[-3:] for line in table.lines for cell in line.cells[:2]] == ["(8)"] * 12


def test_one_thing_with_two_values_is_shown_as_pairs_with_what_it_changes():
    tables = beyond_tables(
        results(
            tables=("stagger",),
            datasets=["halfcheetah-medium-v2"],
            effect=changed,
            keep=lambda spec: spec.sampler == "tr" or spec.beta == 1.0 or spec.stagger,
        )
    )
    table = next(each for each in tables if each.caption == "First sweeps from random steps")
    assert table.columns == ["", "from the end", "staggered", "Difference"]
    assert [line.head.partition(": ")[2] for line in table.lines] == [
        "TR, β 0.75", "TR, β 1.0", "Lower UQM unc., β 0.75", "Lower UQM unc., β 1.0",
    ]  # fmt: skip
    own = {line.head.partition(": ")[2]: line.cells for line in table.lines}
    alone = own.pop("Lower UQM unc., β 0.75")
    assert (alone[0].kind, alone[2].kind) == ("missing", "missing") and alone[1].text.endswith("(3)")
    for name, cells in own.items():
        before, after = (float(each.text.split()[0]) for each in cells[:2])
        change, low, high = (float(part.strip("[],")) for part in cells[2].text.split())
        expected = (60 if "0.75" in name else 20) if name.startswith("TR") else 40
        assert change == pytest.approx(after - before, abs=0.11) and low <= change <= high
        assert abs(change - expected) < 5, name


def changed(spec):
    """By another number for each pair."""
    return 0.0 if not spec.stagger else 40.0 if spec.sampler != "tr" else 20.0 if spec.beta == 1.0 else 60.0


def test_the_usual_value_comes_first_and_two_runs_have_no_interval():
    some = results(tables=("order_alone",), datasets=["halfcheetah-medium-expert-v2"], effect=lambda spec: 0.0,
                   keep=lambda spec: spec.seed < 2)  # fmt: skip
    (table,) = [each for each in beyond_tables(some) if each.caption.startswith("Priorities that change")]
    assert table.columns == ["", "reuse on_finish", "reuse epoch", "Difference"]
    assert all("[" not in line.cells[2].text for line in table.lines)
    three = results(tables=("planning_delay",), datasets=["hopper-medium-replay-v2"],
                    keep=lambda spec: spec.block != 10)  # fmt: skip
    delays = [each for each in beyond_tables(three) if each.caption.startswith("How late")]
    assert [each.columns[0] for each in delays] == ["Data set"]  # which of these is usual, nothing says


def test_runs_of_different_agents_are_never_one_mean():
    tables = beyond_tables(results(tables=("rebuilt",), effect=lambda spec: 50.0 * (spec.algorithm == "iql")))
    rebuilt = next(table for table in tables if table.caption.startswith("Do rebuilt sets"))
    td3_bc, iql = (cell(rebuilt, "hopper-medium", f"{name}, Baseline").text for name in ("TD3+BC", "IQL"))
    assert td3_bc.endswith("(4)") and iql.endswith("(4)")
    assert float(iql.split()[0]) - float(td3_bc.split()[0]) > 40


def test_costs_are_shown_as_measured_or_as_missing(tmp_path):
    measured = tmp_path / "cost.json"
    measured.write_text(
        '{"device": "gpu X", "algorithm": "td3_bc", "by_runs": {"128": {"us_per_update": {"uniform": 100, "TR": 102},'
        ' "ratio_to_uniform": {"uniform": 1, "TR": 1.02}}}}'
    )
    table = cost_table(read_costs([measured]))
    assert cell(table, "TR", "128 runs together, gpu X").text == "+2.0% (102 µs per update)"
    assert cell(table, "PTR (quality)", "128 runs together, gpu X").kind == "missing"
    assert cell(table, "TR", "Paper (one 1080 Ti)").text.startswith("+3.9%")
    assert all(line.cells[0].kind == "missing" for line in cost_table([]).lines)
