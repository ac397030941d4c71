"""Which runs are trained together, and in what order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rewind.experiments.paper.costs import Estimate
from rewind.experiments.paper.specs import RunSpec

Group = list[RunSpec]


def next_group(left: Sequence[RunSpec], estimate: Estimate, seconds: float, most: int) -> Group:
    """The first run that is left, and those after it that share its program, as many as fit; none where none does.

    left: the most valuable first
    seconds: what a group may take
    most: runs of a group, at most
    """
    if not left:
        return []
    same = [spec for spec in left if spec.program == left[0].program]
    return same[: estimate.most(left[0], seconds, min(most, len(same)))]


def pack(left: Sequence[RunSpec], estimate: Estimate, seconds: float, most: int) -> Iterator[Group]:
    """All groups, in order. A run that takes longer than `seconds` alone still gets a group: it goes on next time."""
    left = list(left)
    while left:
        group = next_group(left, estimate, seconds, most) or next_group(left, estimate, float("inf"), 1)
        taken = set(group)
        left = [spec for spec in left if spec not in taken]
        yield group
