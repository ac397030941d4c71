"""Which finished runs are compared with the paper, and what its columns are among them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from rewind.agents.settings import paper_beta
from rewind.data.catalogue import Entry, catalogue, known_entry
from rewind.report.methods import LABELS, Method
from rewind.report.runs import FinishedRun, Results, named_variants, standard_protocol
from rewind_lab.paper.datasets import Data, rebuilt
from rewind_lab.paper.halves import ONE_LENGTH, in_step
from rewind_lab.paper.published import SUITES, published

SOURCES: tuple[Data, ...] = ("d4rl", "rewind")


class PaperResults(Results):
    """On the paper's data sets runs of one protocol, the paper's where any run has it, otherwise the commonest; on
    other data all there are.

    data: which of the paper's data sets are meant, D4RL's or the rebuilt ones; None: those with the most runs
    literal: compare sweeps over trajectories of one length that are in step instead of those with staggered starts
    sources: how many runs there are on each of the two
    newest: whether the rebuilt ones are those nearest to D4RL's (-v1), as in all results after the first edition
    others: runs on the paper's data sets by other protocols
    """

    def __init__(self, runs: Sequence[FinishedRun], data: Data | None = None, *, literal: bool = False) -> None:
        self._asked, self._literal = data, literal
        super().__init__(runs)
        # Where the paper's beta is 1, TR stands in the weighted column; but not for an agent that nobody weighed.
        self._weighted = {run.algorithm for run in self.runs if run.method.sampler == "tr" and 0 < run.method.beta < 1}

    def compared(self, runs: Sequence[FinishedRun]) -> list[FinishedRun]:
        known = [_with_usual_start(run) for run in runs if source(run.dataset) is not None and self._counts(run)]
        self.sources = Counter(where for run in known if (where := source(run.dataset)) is not None)
        self.data: Data = self._asked or (self.sources.most_common(1)[0][0] if self.sources else "d4rl")
        self.newest = any(run.dataset in _newer() for run in known)
        self.protocol = standard_protocol(known or runs)
        self.others = [run for run in known if run.protocol != self.protocol]
        unknown = [run for run in runs if source(run.dataset) is None]
        return [run for run in known if run.protocol == self.protocol] + named_variants(unknown)

    def _counts(self, run: FinishedRun) -> bool:
        """Where trajectories have one length, sweeps begin in one way in all runs that are compared."""
        if run.dataset not in ONE_LENGTH or run.method.sampler == "baseline":
            return True
        return _is_in_step(run) == self._literal

    def literally(self) -> "PaperResults":
        """The same runs as the paper's text can be read: every sweep starts at the last step."""
        return PaperResults(list(self.every.values()), self.data, literal=True)

    @property
    def datasets(self) -> list[str]:
        """Those of the paper in its order, then others by name."""
        order = {
            name_here(name, data, newest=self.newest): place
            for place, name in enumerate(paper_sets())
            for data in SOURCES
        }
        there = {run.dataset for run in self.runs}
        return sorted(there, key=lambda name: (source(name) or "z", order.get(name, 0), name))

    def labelled(self, dataset: str, algorithm: str) -> dict[str, Method]:
        """The same runs may also stand there by the paper's name."""
        methods = super().labelled(dataset, algorithm)
        weighted = method_of("weighted", dataset)
        if weighted is not None and len(self.scores(dataset, algorithm, "weighted")):
            methods[LABELS["weighted"]] = weighted
        return methods

    def columns(self, algorithm: str, datasets: Sequence[str]) -> dict[str, str | Method]:
        """The paper's columns, and what else there is."""
        columns: dict[str, str | Method] = {label: name for name, label in LABELS.items()}
        named = {(dataset, self.method(dataset, algorithm, name)) for dataset in datasets for name in LABELS}
        for dataset in datasets:
            others = [method for method in self.methods(dataset, algorithm) if (dataset, method) not in named]
            columns |= {method.label: method for method in others}
        return columns

    def method(self, dataset: str, algorithm: str, name: str | Method) -> Method | None:
        """What a column of the paper's tables is here; None where nothing is."""
        if isinstance(name, Method):
            return name
        return None if name == "weighted" and algorithm not in self._weighted else method_of(name, dataset)

    def here(self, paper_name: str) -> str | None:
        """What a data set of the paper is called in these results."""
        return name_here(paper_name, self.data, newest=self.newest)


def _is_in_step(run: FinishedRun) -> bool:
    return in_step(run.dataset, run.method.sampler, stagger=run.protocol.stagger)


def _with_usual_start(run: FinishedRun) -> FinishedRun:
    """Staggered starts are usual where trajectories have one length."""
    return replace(run, protocol=run.protocol._replace(stagger=False)) if run.dataset in ONE_LENGTH else run


@cache
def _newer() -> frozenset[str]:
    """The rebuilt sets that the first edition had not."""
    names = {name_here(name, "rewind", newest=True) for name in paper_sets()}
    return frozenset(name for name in names - {name_here(name, "rewind") for name in paper_sets()} if name is not None)


# The paper's names: columns of its tables, and data sets


def method_of(name: str, dataset: str) -> Method | None:
    """What the paper's column `name` is on a data set; None where the paper gives no beta to weigh by."""
    if name == "sarsa":
        return Method("tr", 0.0)
    if name != "weighted":
        return Method(name)
    beta = paper_beta(dataset)
    return None if beta is None else Method("tr", beta)


@cache
def paper_sets() -> dict[str, Entry]:
    """The paper's data sets, in its order, by D4RL's names."""
    return {name: catalogue()[name] for name in published("table_2") if name not in SUITES}


def name_here(paper_name: str, data: Data, *, newest: bool = False) -> str | None:
    """A data set of the paper as it is called in results on D4RL's or on rebuilt data; None where there is no such.

    newest: the rebuilt set that is nearest to D4RL's, not the -v0 of the first edition
    """
    if data == "d4rl":
        return paper_name
    known = paper_sets()[paper_name]
    return known.rebuilt if newest else rebuilt(known)


def source(dataset: str) -> Data | None:
    """Whether a data set is the paper's own or rebuilt after it; None for any other."""
    known = known_entry(dataset)
    if known is None or not known.paper:
        return None
    return "d4rl" if known.name == dataset else "rewind"
