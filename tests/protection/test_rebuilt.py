"""The -v0 recipes build the same arrays. Bits depend on the processor and on the simulator's version."""

import pytest

for package in ("mujoco", "gymnasium", "tyro"):
    pytest.importorskip(package)

from tests.protection import facts


def check(name, folder):
    recorded, here = facts.expected("data"), facts.machine()
    other = [f"{key} {value}, here {here[key]}" for key, value in recorded["machine"].items() if here[key] != value]
    if other:
        pytest.skip(f"recorded with {'; '.join(other)}: record `data` again with the old code to compare here")
    assert facts.rebuilt(name, folder) == recorded["sets"][name]


@pytest.mark.parametrize("name", facts.REPRESENTATIVE)
def test_a_recipe_of_each_kind_builds_the_same_arrays(name, tmp_path):
    check(name, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(set(facts.REBUILT) - set(facts.REPRESENTATIVE)))
def test_every_other_recipe_builds_the_same_arrays(name, tmp_path):
    check(name, tmp_path)
