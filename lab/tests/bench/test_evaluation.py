"""`rewind bench evaluation`, in small."""

import pytest

pytest.importorskip("jax")
pytest.importorskip("equinox")
pytest.importorskip("mujoco.batch")

from rewind.errors import UsageError
from rewind_lab.bench.evaluation import AS_IS, LONGEST, TRAINING, BenchEvaluation, print_figures, wandering

SMALL = {
    "algorithm": "bc",
    "runs": 2,
    "episodes": 2,
    "updates": 4,
    "size": 500,
    "batch_size": 16,
    "rounds": 1,
    "threads": 1,
}


def test_training_and_both_evaluations_are_measured_side_by_side(capsys):
    figures = BenchEvaluation(**SMALL).measure()
    print_figures(figures)
    assert "to the horizon" in capsys.readouterr().out
    assert all(figures["seconds"][name] > 0 for name in (TRAINING, AS_IS, LONGEST))
    assert figures["ratio_to_training"][LONGEST] == figures["seconds"][LONGEST] / figures["seconds"][TRAINING]
    assert figures["episode_length"][LONGEST] == {"mean": 1000, "shortest": 1000, "longest": 1000}
    assert figures["episode_length"][AS_IS]["longest"] < 1000  # these policies fall
    assert {"jax", "mujoco", "gymnasium", "python", "cores"} <= set(figures["machine"])


def test_its_data_is_what_the_environment_gave():
    data = wandering("Hopper-v4", 1500)
    assert data.lengths.tolist() == [1000, 1000] and data.observations.shape == (2000, 11)
    heights = data.observations[:, 0]
    assert abs(heights[0] - 1.25) < 0.01 and abs(heights[1000] - 1.25) < 0.01  # both begin upright
    assert (heights[990:1000] < 0.7).all()  # and fall


def test_other_environments_and_no_work_are_refused():
    with pytest.raises(UsageError, match="did you mean 'Hopper-v4'"):
        BenchEvaluation("Hopper-v5").run()
    with pytest.raises(UsageError, match="--runs is 0; expected at least 1"):
        BenchEvaluation(runs=0).run()
