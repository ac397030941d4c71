"""What JSON files hold is JSON: NaN has no place in it."""

import json

import numpy as np
import pytest

from rewind.files import finite, read_json, write_json
from rewind.policy import Policy, load_policy


def no_nan(name):
    raise AssertionError(f"{name} is not JSON")


def test_a_written_file_holds_no_nan_and_keeps_infinite_settings(tmp_path):
    figures = {"scores": [1.5, float("nan")], "array": np.array([[np.nan, 2.0]]), "path": tmp_path, "low": -np.inf}
    write_json(tmp_path / "x.json", figures)
    assert read_json(tmp_path / "x.json") == {
        "scores": [1.5, None], "array": [[None, 2.0]], "path": str(tmp_path), "low": -np.inf
    }  # fmt: skip
    del figures["low"]
    write_json(tmp_path / "x.json", figures)
    json.loads((tmp_path / "x.json").read_text(), parse_constant=no_nan)


@pytest.mark.parametrize(("value", "kept"), [(2, 2.0), (np.float32(0.5), 0.5), (np.nan, None), (-np.inf, None)])
def test_a_number_of_a_record_is_finite_or_none(value, kept):
    assert finite(value) == kept


@pytest.mark.parametrize(
    ("figures", "kept"),
    [
        ({"q": float("nan")}, {"q": None}),
        ({1: 1, 2: 2, 10: np.float32(0.5)}, {"1": 1, "2": 2, "10": 0.5}),
        ({1: 1, "a": 2}, {"1": 1, "a": 2}),
    ],
)
def test_a_policys_provenance_is_what_was_saved(tmp_path, figures, kept):
    policy = Policy([np.ones((2, 1), np.float32)], [np.zeros(1, np.float32)], np.zeros(2), np.ones(2),
                    provenance={"figures": figures})  # fmt: skip
    assert load_policy(policy.save(tmp_path / "policy")).provenance == {"figures": kept}
