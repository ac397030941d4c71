"""A setting is chosen on one half of the data sets and tested on the other, which sees little before."""

from collections import Counter

import pytest

from rewind.rebuilt.recipes import is_rebuilt
from rewind_lab.paper.definitions import EVIDENCE, RunChoice, load_definitions
from rewind_lab.paper.halves import ALWAYS_CHOOSING, CHOICE, GROUPS, choosing_half, held_back_half


def test_every_set_is_in_one_half_and_every_group_in_both():
    choosing, held_back = choosing_half(), held_back_half()
    assert Counter(choosing + held_back) == Counter(name for group in GROUPS for name in group)
    assert set(ALWAYS_CHOOSING) <= set(choosing)
    for group in GROUPS:
        assert abs(len(set(group) & set(choosing)) - len(set(group) & set(held_back))) <= 1


def test_every_set_can_be_built():
    assert all(is_rebuilt(name) for group in GROUPS for name in group)


def test_the_draw_is_the_one_that_was_committed():
    assert choosing_half()[:3] == [
        "rewind/antmaze-medium-play-v1", "rewind/antmaze-large-diverse-v1", "rewind/antmaze-medium-diverse-v1",
    ]  # fmt: skip
    assert held_back_half()[3:7] == [
        "rewind/halfcheetah-medium-v1", "rewind/halfcheetah-medium-replay-v1",
        "rewind/walker2d-medium-v1", "rewind/walker2d-medium-replay-v1",
    ]  # fmt: skip


@pytest.mark.skipif(CHOICE.is_file(), reason="the choice is committed: its test may run")
def test_before_the_choice_the_held_back_half_sees_uniform_sampling_alone():
    held_back = set(held_back_half())
    runs = [spec for specs in load_definitions(EVIDENCE).wanted(RunChoice()).values() for spec in specs]
    assert {spec.dataset for spec in runs} <= {name for group in GROUPS for name in group}
    assert {spec.sampler for spec in runs if spec.dataset in held_back} == {"baseline"}
