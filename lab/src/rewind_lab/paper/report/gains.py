"""What each method gains over the baseline, by kind of data: what somebody with data of a kind wants to know first."""

from rewind.report.document import Block, Cell, Line, Table
from rewind.report.methods import ALGORITHMS, LABELS, Method
from rewind_lab.paper.definitions import load_definitions
from rewind_lab.paper.report.comparisons import LEAST_RUNS, Column, Contrast, Question, chosen, direction, fewer, points
from rewind_lab.paper.report.results import PaperResults, paper_sets

KINDS = {
    "AntMaze": ("antmaze-*",),
    "Adroit": ("pen-*", "door-*", "hammer-*", "relocate-*"),
    "MuJoCo": ("halfcheetah-*", "hopper-*", "walker2d-*"),
    "of it: medium": ("*-medium-v2",),
    "medium-replay": ("*-medium-replay-v2",),
    "medium-expert": ("*-medium-expert-v2",),
}

RULE = (
    "A method's mean score minus that of the baseline, in points, averaged over data sets (sweeps over trajectories of "
    "one length are in step here), with a 95% "
    "interval; then the paper's, and between them “=” same direction, “≠” opposite direction, “~” not clear (an "
    f"interval holds 0). A data set counts with at least {LEAST_RUNS} runs of both; how many do stands in the head, "
    "and in a cell where it has fewer."
)


def gains(results: PaperResults) -> list[Block]:
    """The rule, and a table for each algorithm with runs to compare."""
    found = [_table(results, algorithm) for algorithm in results.algorithms]
    tables: list[Block] = [table for table in found if table is not None]
    return [RULE, *(tables or ["No method has enough runs yet."])]


def _table(results: PaperResults, algorithm: str) -> Table | None:
    found = {label: _contrasts(results, algorithm, method) for label, method in compared_methods().items()}
    most = {kind: max(len(each[kind].used) for each in found.values()) for kind in KINDS}
    kinds = [kind for kind in KINDS if most[kind]]
    lines = [
        Line(label, [_cell(each[kind], most[kind]) for kind in kinds])
        for label, each in found.items()
        if any(each[kind].used for kind in kinds)
    ]
    columns = ["Method", *(f"{kind} ({most[kind]} sets)" for kind in kinds)]
    return Table(f"Over the baseline, {ALGORITHMS[algorithm]}", columns, lines) if kinds else None


def compared_methods() -> dict[str, Column]:
    """The paper's columns, and one beta for all data sets."""
    named: dict[str, Column] = {label: name for name, label in LABELS.items() if name not in ("baseline", "auto")}
    fixed = [Method("tr", float(beta)) for part in load_definitions().tables["fixed_beta"].parts for beta in part.betas]
    return named | {method.label: method for method in fixed}


def _contrasts(results: PaperResults, algorithm: str, method: Column) -> dict[str, Contrast]:
    return {
        kind: Question(algorithm, [method], ["baseline"], chosen(patterns, list(paper_sets()))).ask(results)
        for kind, patterns in KINDS.items()
    }


def _cell(contrast: Contrast, most: int) -> Cell:
    if contrast.ours is None:
        return Cell(kind="missing")
    ours = points(contrast.ours) + fewer(len(contrast.used), most)
    return Cell(ours, points(contrast.paper), direction(contrast.ours, contrast.paper))
