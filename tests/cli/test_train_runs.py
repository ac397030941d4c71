"""The runs that the options of `rewind train` describe."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

for package in ("jax", "equinox", "optax", "tyro"):
    pytest.importorskip(package)

from tests.helpers import make

from rewind.agents.settings import paper_row
from rewind.cli import train_recommended
from rewind.cli.train_job import default_folder
from rewind.cli.train_options import AgentOptions, DataOptions, EvaluationOptions, MemoryOptions, TrainOptions
from rewind.cli.train_recommended import with_recommended
from rewind.cli.train_runs import describe_runs
from rewind.errors import DataError, UsageError
from rewind.memory import choice
from rewind.rebuilt.recipes import find_recipe
from rewind.run_spec import RunSpec, canonical, digest
from rewind.training import Options, engine_run
from rewind.training.group import check_runs

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
    assert settings(layer_norm=True) == {"layer_norm": True} and settings(layer_norm=False) == {}
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


def test_layer_norm_is_a_program_of_its_own_and_renames_no_old_run():
    (old,), (new,) = describe(), describe(layer_norm=True)
    assert canonical(replace(old.spec, settings=(("layer_norm", False),))).run == old.spec.run != new.spec.run
    assert old.spec.program != new.spec.program
    plain, normed = (engine_run(described.spec, DATA) for described in (old, new))
    assert normed.agent.layer_norm and normed.describe()["agent"]["layer_norm"] is True
    assert "layer_norm" not in plain.describe()["agent"]  # as older folders have it
    with pytest.raises(UsageError, match="--layer-norm: bc has none"):
        describe(algorithm="bc", layer_norm=True)
    with pytest.raises(UsageError, match="it comes from --layer-norm"):
        describe(set=("layer_norm=1",))
    check_runs(DATA, [plain, normed], Options(fused=True, batch_size=128))
    with pytest.raises(UsageError, match=r"fused kernels take .* batches of 100 .*: leave fused out"):
        check_runs(DATA, [normed], Options(fused=True, batch_size=100))
    deep = engine_run(describe(hidden=(512, 512, 512, 512))[0].spec, DATA)
    with pytest.raises(UsageError, match="given layers of 512, 512, 512, 512, batches of 128"):
        check_runs(DATA, [deep], Options(fused=True, batch_size=128))


def test_orders_and_weightings_are_runs_of_their_own_where_they_change_anything():
    memory = MemoryOptions(
        ("baseline", "tr", "return"), order="shuffled", weighting="softmax", weighting_temperature=0.1
    )
    baseline, tr, ranked = (described.spec for described in describe(memory=memory))
    assert baseline == RunSpec(MAZE, sampler="baseline") and dict(tr.settings) == {"order": "shuffled"}
    assert dict(ranked.settings) == {"order": "shuffled", "weighting": "softmax", "weighting_temperature": 0.1}
    runs = [engine_run(spec, DATA) for spec in (baseline, tr, ranked)]
    check_runs(DATA, runs, Options(batch_size=8))
    assert (runs[2].sampler.memory(0).weighting.temperature, runs[1].sampler.memory(0).order) == (0.1, "shuffled")
    (carried,) = describe(betas=(0.5,), memory=MemoryOptions(order="forward"))
    with pytest.raises(UsageError, match=r"order 'forward' carries no targets: beta 0.5 needs 'backward'"):
        check_runs(DATA, [engine_run(carried.spec, DATA)], Options(batch_size=8))


def test_a_window_gives_beta_a_meaning_without_sweeps():
    spec, one_step = (describe(betas=(0.5,), memory=MemoryOptions(("baseline",)), window=w)[0].spec for w in (4, 1))
    assert spec == RunSpec(MAZE, sampler="baseline", beta=0.5, settings=(("window", 4),))
    assert one_step == RunSpec(MAZE, sampler="baseline") and spec.program != one_step.program
    run = engine_run(spec, DATA)
    assert run.agent.window == 4 and "window" not in engine_run(one_step, DATA).describe()["agent"]


def test_rebrac_has_its_layer_norm_and_batch_size_unless_somebody_says_otherwise():
    (usual,), (off,) = (describe(algorithm="rebrac", layer_norm=norm) for norm in (None, False))
    assert usual.spec == RunSpec(MAZE, "rebrac") and dict(off.spec.settings) == {"layer_norm": False}
    assert usual.spec.program != off.spec.program
    assert engine_run(usual.spec, DATA).agent.layer_norm and not engine_run(off.spec, DATA).agent.layer_norm
    (mujoco,), (small,) = (describe("hopper-medium-v2", algorithm="rebrac", batch_size=size) for size in (None, 64))
    assert (mujoco.spec.batch_size, small.spec.batch_size) == (1024, 64)


def test_rebrac_says_where_its_penalties_are_not_the_published_ones(recwarn):
    for task in ("umaze", "umaze-diverse", "medium-play", "medium-diverse", "large-play", "large-diverse"):
        old, new = (paper_row("rebrac", f"antmaze-{task}-{version}") for version in ("v0", "v2"))
        assert old == new and "actor_penalty" in new
    both = ("actor_penalty=0.1", "critic_penalty=0,0.1")
    for name in ("antmaze-umaze-v2", MAZE, "hopper-medium-v2", "rewind/ogbench-cube-single-play-singletask-task1-v0"):
        describe(name, algorithm="rebrac")
    describe("cube-single-noisy-v0", algorithm="rebrac", set=both)
    describe("cube-single-noisy-v0")
    assert not recwarn.list
    for name in ("cube-single-noisy-v0", "somebody/mine"):
        with pytest.warns(match=f"ReBRAC: .* for {name}; taking actor_penalty 0.01 and critic_penalty 0.01 "):
            describe(name, algorithm="rebrac")
    with pytest.warns(match=r"taking critic_penalty 0.01 \(--set critic_penalty=...\)"):
        describe("cube-single-noisy-v0", algorithm="rebrac", set=both[:1])


@pytest.fixture
def table(monkeypatch):
    """A table of recommendations, whatever the package's own says today."""
    evidence = {name: f"why {name}" for name in ("priority", "sampler", "beta", "stagger", "bounded", "layer_norm")}
    row = {"priority": "uniform", "sampler": "tr", "beta": 0.75, "stagger": "one length", "bounded": True}
    sparse = row | {"layer_norm": False, "evidence": evidence}
    dense = sparse | {"sampler": "baseline", "beta": 1.0, "bounded": False}
    made = {"provisional": "no test yet", "sparse": sparse, "dense": dense}
    for module in (choice, train_recommended):
        monkeypatch.setattr(module, "recommended", lambda: made)
    return made


def test_recommended_settings_are_printed_with_their_evidence(capsys, table):
    sparse = make([9] * 20, known=1.0, rewards=np.eye(1, 180, 8).ravel())
    long = make([150] * 3, known=1.0, rewards=np.eye(1, 450, 8).ravel())
    command = TrainOptions(DataOptions("x.npz"), AgentOptions(), MemoryOptions(recommended=True))
    chosen = with_recommended(command, sparse)
    row = table["sparse"]
    assert (chosen.memory.samplers, chosen.agent.betas) == ((row["sampler"],), (row["beta"],))
    assert (chosen.agent.bounded, chosen.memory.stagger) == (row["bounded"], False)
    printed = capsys.readouterr().out
    assert "Provisional: no test yet." in printed and all(
        row["evidence"][name] in printed for name in ("sampler", "beta", "stagger", "bounded", "layer_norm")
    )
    assert "layer norm: no (why layer_norm)" in printed and chosen.agent.layer_norm is None
    assert with_recommended(command, long).memory.stagger
    dense = with_recommended(command, DATA)
    assert dense.memory.samplers == ("baseline",) and dense.agent == command.agent
    for algorithm in ("edac", "bc"):  # the one has no bounds, the other no critics
        (described,) = describe_runs(
            with_recommended(replace(command, agent=AgentOptions(algorithm)), sparse), None, {}
        )
        engine_run(described.spec, sparse)
    with pytest.raises(UsageError, match="--recommended sets --betas: leave one of them out"):
        with_recommended(replace(command, agent=AgentOptions(betas=(0.5,))), sparse)
    with pytest.raises(
        UsageError, match="--recommended sets --samplers: leave one of them out"
    ):  # the default, but given
        with_recommended(replace(command, memory=MemoryOptions(("tr",), recommended=True)), sparse)
    capsys.readouterr()
    with_recommended(command, make([9] * 20, known=1.0, rewards=np.ones(180)))
    assert capsys.readouterr().out.startswith("recommended for equal rewards: ")


def test_the_default_sampler_and_the_same_one_by_name_train_in_one_folder():
    def folder(*samplers):
        command = TrainOptions(DataOptions("x.npz"), memory=MemoryOptions(samplers or None))
        return default_folder(command, DATA)

    assert folder() == folder("tr") != folder("baseline")


def test_runs_of_the_old_auto_keep_their_ids():
    assert RunSpec("d", sampler="paper").run != RunSpec("d", sampler="auto").run
    assert RunSpec("d", sampler="paper").run == digest([json.dumps({"dataset": "d", "sampler": "auto"})])
