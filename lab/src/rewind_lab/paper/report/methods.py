"""The paper's names: columns of its tables, data sets and suites."""

from functools import cache

from rewind.agents.settings import paper_beta
from rewind.data.catalogue import Entry, catalogue, known_entry
from rewind.report.methods import Method
from rewind_lab.paper.datasets import Data, rebuilt
from rewind_lab.paper.published import SUITES, published


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
