"""The page of a training: scores, learning curves, runs that collapsed, and where they come from."""

from rewind.report.curves import chart_data, score_curves
from rewind.report.document import Chart, Document, Section
from rewind.report.methods import ALGORITHMS, short
from rewind.report.provenance import facts, origin
from rewind.report.runs import Results
from rewind.report.scores import score_tables
from rewind.report.stability import collapsed, diverged, stability

CURVES = Section(
    "curves",
    "Learning curves",
    [
        "Mean over runs, with the 95% interval of that mean as a band (three runs and more). The last point of a "
        "long run is its score as the paper takes it: the mean of the last five evaluations.",
        Chart("curves", "Learning curves:", "Data set", "updates", "score"),
    ],
)


def build(results: Results) -> Document:
    sections = [Section("scores", "Scores", score_tables(results.runs)), CURVES]
    if any(collapsed(run) or diverged(run) for run in results.runs):
        sections.append(stability_section(results))
    sections.append(Section("origin", "Origin", origin(results)))
    data = chart_data({"curves": score_curves(results)}, names_of(results))
    subtitle = "Scores and learning curves of the runs in this folder."
    return Document("Training report", subtitle, facts(results), sections, data)


def stability_section(results: Results) -> Section:
    return Section("stability", "Runs that collapsed", stability(results))


def names_of(results: Results) -> dict[str, str]:
    """What the selectors show for what they choose."""
    return {**{name: short(name) for name in results.datasets}, **ALGORITHMS}
