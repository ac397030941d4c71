"""Every sampler plans the same rows from the same seed."""

from tests.protection import facts


def test_all_samplers_plan_the_same_rows():
    recorded, now = facts.expected("plans"), facts.all_plans()
    assert {name for name in recorded if now.get(name) != recorded[name]} == set()
    assert now.keys() == recorded.keys()
