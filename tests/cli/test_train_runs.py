"""The runs that the options of `rewind train` describe."""

from dataclasses import asdict

import pytest

for package in ("jax", "equinox", "optax", "tyro"):
    pytest.importorskip(package)

from tests.helpers import make

from rewind.cli.train_options import AgentOptions, DataOptions, EvaluationOptions, MemoryOptions, TrainOptions
from rewind.cli.train_runs import describe_runs
from rewind.errors import DataError
from rewind.rebuilt.recipes import find_recipe
from rewind.run_spec import RunSpec
from rewind.training import engine_run

MAZE = "rewind/antmaze-umaze-v0"
DATA = make([9] * 20, known=1.0)


def describe(name=MAZE, notes=None, env="auto", memory=None, view=None, file="x.npz", **agent):
    command = TrainOptions(DataOptions(file, **view or {}), AgentOptions(**agent), memory or MemoryOptions(),
                    EvaluationOptions(env))  # fmt: skip
    return describe_runs(command, name, notes or {})


def settings(*names, **options):
    (described,) = describe(*names, **options)
    return dict(described.spec.settings)


def test_a_run_of_the_papers_is_the_one_that_the_paper_has_everywhere():
    (described,) = describe()
    assert described.spec == RunSpec(MAZE)
    (described,) = describe(betas=("paper",), memory=MemoryOptions(("baseline",), rank_exponent=2.0, reuse="epoch"))
    assert described.spec == RunSpec(MAZE, sampler="baseline") and described.variant == "baseline"


def test_training_that_is_not_the_papers_is_not_taken_for_it():
    """Whatever makes it differ: a number, what it sees of the data, or data that only bears the name."""
    assert settings(set=("alpha=2.5",)) == {}  # the paper's own number
    assert settings(set=("alpha=9",)) == {"alpha": 9.0}
    assert settings(bounded=True) == {"bounded": 1.0}
    assert settings(view={"rewards": "minus_one", "normalise_states": True}) == {}  # the paper's own view
    assert settings(view={"rewards": "raw", "top": 0.5}) == {"rewards": "raw", "top": 0.5}
    assert settings(hidden=(256, 256)) == {} and settings(hidden=(8,)) == {"hidden": (8,)}
    assert settings(env="none") == {"environment": "none"} and settings("mine", env="none") == {}
    recipe = asdict(find_recipe(MAZE))
    made = {"recipe": recipe, "seed": 0, "policies": [{"name": "ant"}]}
    assert settings(notes={"made": made}) == {}
    other = {"recipe": recipe | {"size": 20_000, "maze": {"stop": False}}, "seed": 3, "policies": [{"name": "mine"}]}
    differences = {"transitions": 20_000, "data seed": 3, "policy": "mine", "episodes": "continue after their goals"}
    assert settings(notes={"made": other}) == differences


def test_a_file_that_is_only_called_like_a_data_set_is_not_taken_for_it():
    (described,) = describe(None, file="antmaze-medium-play-v0.npz", set=("alpha=36",))
    assert described.spec == RunSpec("antmaze-medium-play-v0.npz", settings=(("alpha", 36.0),))
    assert describe(None, file="folder/mine.npz")[0].spec == RunSpec("mine")


def test_a_beta_that_is_also_the_papers_is_trained_once():
    assert [one.spec.beta for one in describe(betas=(0.95, "paper", 1.0))] == [0.95, 1.0]


def test_iql_is_described_alike_whatever_its_number_of_steps():
    (described,) = describe(algorithm="iql", steps=1000)
    assert described.spec == RunSpec(MAZE, "iql", steps=1000)
    assert float(engine_run(described.spec, DATA).agent.total_steps) == 1000.0
    assert settings(algorithm="iql", steps=1000, set=("total_steps=1e6",)) == {"total_steps": 1e6}


def test_swept_numbers_are_in_the_names_and_only_the_unusual_ones_in_the_settings():
    described = describe("mine", set=("alpha=2.5,9",), seeds=(0, 1))
    assert [each.variant for each in described] == ["tr beta 1 alpha 2.5"] * 2 + ["tr beta 1 alpha 9"] * 2
    assert [dict(each.spec.settings) for each in described] == [{}, {}, {"alpha": 9.0}, {"alpha": 9.0}]
    assert engine_run(described[-1].spec, DATA).name + described[-1].extra == "td3_bc tr beta 1 seed 1 alpha 9"
    assert len({each.spec.run for each in described}) == 4


def test_an_environment_that_a_data_file_names_imports_no_module():
    notes = {"environment": "evil:Env-v0"}
    with pytest.raises(DataError, match=r"'evil:Env-v0', which would import a module that the file chose.*--env NAME"):
        describe(None, notes)
    assert settings(None, notes, env="evil:Env-v0") == {}, "named by the user: the same run as ever"
    assert settings(None, notes, env="none") == {"environment": "none"}
