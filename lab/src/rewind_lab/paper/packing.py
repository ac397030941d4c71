"""Which runs are trained together, and in what order."""

from collections.abc import Iterable, Iterator, Sequence

from rewind.run_spec import RunSpec
from rewind_lab.paper.costs import CostEstimate

SpecGroup = list[RunSpec]


def next_group(left: Sequence[RunSpec], estimate: CostEstimate, seconds: float, most: int) -> SpecGroup:
    """The first run that is left, and others that share its program, as many as fit; none where none does.

    Those on the same data set come first, then those on the next one: fewer sets are needed at a time.

    left: the most valuable first
    seconds: what a group may take
    most: runs of a group, at most
    """
    if not left:
        return []
    same = [spec for spec in left if spec.program == left[0].program]
    places = {name: place for place, name in enumerate(datasets_of(same))}
    same.sort(key=lambda spec: places[spec.dataset])
    return same[: estimate.most(left[0], seconds, min(most, len(same)))]


def datasets_of(specs: Iterable[RunSpec]) -> list[str]:
    """Each once, in the order in which they come."""
    return list(dict.fromkeys(spec.dataset for spec in specs))


def pack(left: Sequence[RunSpec], estimate: CostEstimate, seconds: float, most: int) -> Iterator[SpecGroup]:
    """All groups, in order. A run that takes longer than `seconds` alone still gets a group: it goes on next time."""
    left = list(left)
    while left:
        group = next_group(left, estimate, seconds, most) or next_group(left, estimate, float("inf"), 1)
        taken = set(group)
        left = [spec for spec in left if spec not in taken]
        yield group
