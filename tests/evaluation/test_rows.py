"""Rows of results: what a device spent on them."""

import pytest

from rewind.evaluation.rows import device_seconds


def test_what_several_groups_used_at_the_same_time_is_divided_among_them():
    def at(minute):
        return f"2026-11-17T12:{minute:02}:00+00:00"

    alone = {"a": ("gpu", at(10), 300.0), "b": ("gpu", at(20), 120.0)}
    assert device_seconds(alone) == {"a": 300.0, "b": 120.0}
    # a: minutes 0 to 10; b: 5 to 15; c: 5 to 10; d: on another device
    shared = {"a": ("gpu", at(10), 600.0), "b": ("gpu", at(15), 600.0), "c": ("gpu", at(10), 300.0)}
    shared["d"] = ("cpu", at(10), 60.0)
    found = device_seconds(shared)
    assert found == pytest.approx({"a": 400.0, "b": 400.0, "c": 100.0, "d": 60.0})
    assert sum(found.values()) == pytest.approx(15 * 60 + 60)
    assert device_seconds({}) == {}
