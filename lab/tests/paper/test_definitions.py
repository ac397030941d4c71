"""Which runs the tables want."""

import json
from dataclasses import replace

import pytest

from rewind import RewindError, UsageError
from rewind.data.catalogue import catalogue
from rewind.memory import PRIORITIES as REGISTERED
from rewind.memory import Priority
from rewind.run_spec import RunSpec, canonical, from_record
from rewind_lab.paper.datasets import data_names
from rewind_lab.paper.definitions import PRIORITIES, RunChoice, in_order, load_definitions

PAPER = load_definitions()
SEEDS = 9 * 3 + 6 * 8 + 8 * 3  # MuJoCo, AntMaze, Adroit


def wanted(*tables, **choice):
    return PAPER.wanted(RunChoice(tables=tables, **choice))


def test_the_appendix_wants_every_sampler_on_every_set_with_every_seed():
    for name in ("td3_bc", "iql"):
        runs = wanted(name)[name]
        assert len(runs) == len(set(runs)) == SEEDS * 14
        assert {spec.sampler for spec in runs} == {"baseline", "tr", *PRIORITIES}
        assert {spec.dataset for spec in runs} == {name for name, entry in catalogue().items() if entry.paper}


def test_a_priority_that_somebody_adds_is_not_in_the_papers_tables(monkeypatch):
    assert tuple(REGISTERED)[: len(PRIORITIES)] == PRIORITIES  # in the paper's order
    monkeypatch.setitem(REGISTERED._things, "thirteenth", Priority(len))
    assert "thirteenth" in REGISTERED
    assert {spec.sampler for spec in wanted("td3_bc")["td3_bc"]} == {"baseline", "tr", *PRIORITIES}


def test_what_the_paper_calls_weighted_is_one_run_with_tr_or_sarsa_where_its_beta_is_1_or_0():
    runs = [spec for spec in wanted("2")["2"] if spec.seed == 0]
    betas = {}
    for spec in runs:
        betas.setdefault(spec.dataset, []).append((spec.sampler, spec.beta))
    assert betas["hopper-medium-v2"] == [("baseline", 1.0), ("tr", 1.0), ("tr", 0.0)]
    assert betas["antmaze-medium-play-v0"] == [("baseline", 1.0), ("tr", 1.0), ("tr", 0.0), ("tr", 0.98)]


def test_a_run_that_several_tables_want_is_one_run():
    tables = wanted("2", "td3_bc", "1", "figure_3", "alpha_search", "beta_grid")
    every = in_order(tables)
    assert len(every) == len({spec.run for spec in every}) < sum(map(len, tables.values()))
    baseline = [spec for spec in tables["2"] if spec.sampler == "baseline"]
    assert set(baseline) <= set(tables["td3_bc"]) and set(baseline) <= set(tables["1"])
    # The paper's alpha is no setting: the search holds the runs of table 2.
    assert {spec for spec in baseline if spec.suite == "antmaze"} <= set(tables["alpha_search"])
    assert set(tables["3"] if "3" in tables else wanted("3")["3"]) == {*tables["td3_bc"], *wanted("iql")["iql"]}


def test_what_is_not_bounded_is_the_run_without_the_word():
    plain, off, on = (canonical(RunSpec("hopper-medium-v2", settings=each)) for each in
                      ((), (("bounded", False),), (("bounded", True),)))  # fmt: skip
    assert plain == off != on and plain.run == off.run
    tables = wanted("bounded", "together")
    assert {spec for spec in tables["bounded"] if spec.sampler == "baseline" and "antmaze" in spec.dataset} <= {
        *tables["together"]
    }


def test_the_most_valuable_runs_come_first_with_antmaze_and_mujoco_in_turns():
    order = in_order(wanted("iql", "td3_bc", "2"))  # whatever the order they are named in
    first = order[: len(wanted("2")["2"])]
    assert set(first) == set(wanted("2")["2"])
    sets = list(dict.fromkeys(spec.dataset for spec in first))
    assert [catalogue()[name].suite for name in sets[:6]] == ["antmaze", "mujoco"] * 3
    assert [catalogue()[name].suite for name in sets[-8:]] == ["adroit"] * 8
    assert {spec.sampler for spec in first[:4]} == {"baseline", "tr"} and {spec.seed for spec in first[:4]} == {0}


def test_rebuilt_sets_stand_in_by_name_and_those_without_one_are_left_out():
    names = data_names(["all"], "rewind")
    assert "rewind/hopper-medium-replay-v0" in names and "rewind/pen-expert-v0" in names
    assert len(names) == 9 + 6 + 4  # cloned Adroit data was rebuilt later
    runs = wanted("2", data="rewind", datasets=["rewind/antmaze-large-play-v0"])["2"]
    assert {spec.beta for spec in runs} == {1.0, 0.0, 0.75} and {spec.suite for spec in runs} == {"antmaze"}


def test_choices_narrow_what_is_wanted():
    assert {s.seed for s in wanted("2", seeds=[5])["2"]} == {5}
    assert {s.steps for s in wanted("2", steps=1000)["2"]} == {1000}
    assert {s.suite for s in wanted("1", datasets=["antmaze"])["1"]} == {"antmaze"}
    assert {s.algorithm for s in wanted("1", algorithms=["edac"])["1"]} == {"edac"}
    assert {s.sampler for s in wanted("1", samplers=["tr"])["1"]} == {"tr"}
    assert {s.run for s in wanted("2")["2"]}.isdisjoint(s.run for s in wanted("2", steps=1000)["2"])


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"tables": ["tabel_2"]}, "unknown table 'tabel_2'"),
        ({"tables": ["beta_gird"]}, "did you mean 'beta_grid'"),
        ({"datasets": ["hopper-medum-v2"]}, "did you mean 'hopper-medium-v2'"),
        ({"tables": ["alpha_search"], "datasets": ["mujoco"]}, "unknown data set 'mujoco'"),
        ({"algorithms": ["td3bc"]}, "did you mean 'td3_bc'"),
    ],
)
def test_unknown_names_are_errors_with_the_nearest(choice, message):
    with pytest.raises(UsageError, match=message):
        PAPER.wanted(RunChoice(**choice))


def test_a_part_may_have_seeds_of_its_own():
    counts = {spec.dataset: 0 for spec in wanted("rebuilt")["rebuilt"]}
    assert len(wanted("rebuilt")["rebuilt"]) == 4 * (2 * len(counts) + 3)
    assert {spec.seed for spec in wanted("rebuilt", seeds=[7])["rebuilt"]} == {7}


def test_runs_that_would_train_alike_are_equal():
    uniform = RunSpec("hopper-medium-v2", sampler="baseline")
    assert canonical(replace(uniform, beta=0.5, reuse="epoch", rank_exponent=2.0, stagger=True, block=10)) == uniform
    tr = RunSpec("hopper-medium-v2")
    assert canonical(replace(tr, rank_exponent=2.0, block=10, settings=(("alpha", 2.5),))) == tr
    unc = RunSpec("hopper-medium-v2", sampler="lower_uqm_unc")
    assert canonical(replace(unc, block=100)) == unc != canonical(replace(unc, block=10))
    for change in ({"beta": 0.5}, {"reuse": "epoch"}, {"stagger": True}, {"settings": (("alpha", 5.0),)}):
        assert canonical(replace(tr, **change)) != tr


def test_a_run_keeps_its_name():
    assert RunSpec("hopper-medium-v2").run == "98b406c63bf4"  # results that were committed go by it
    spec = canonical(RunSpec("x.npz", settings=(("hidden", [8, 8]), ("alpha", 2))))
    again = from_record(json.loads(json.dumps(spec.record())))
    assert again == spec and again.run == spec.run and hash(again) == hash(spec)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tables.a]\n[[tables.a.parts]]\ndatasets=['x']\nsampler=['tr']", "did you mean 'samplers'"),
        ("[tables.a]\n[[tables.a.parts]]\ndatasets=['x']\nsamplers=['uqm']", "unknown sampler in table a 'uqm'"),
        ("[tables.a]\n[[tables.a.parts]]\ndatasets=['x']\nbetas=[2]", "table a has a beta of 2"),
        (
            "[tables.a]\n[[tables.a.parts]]\ndatasets=['x']\nseeds=[0, 1]",
            "table a has seeds = .*; expected how many",
        ),
        ("[tables.a]\n[[tables.a.parts]]\ndatasets=['x']\nsteps=0", "table a has steps = 0; expected how many"),
        ("[tables.a]\nincludes=['b']", "unknown table in includes of a 'b'"),
        ("[tables.a]\nincludes=['a']", "in a circle: a includes a;"),
        (
            "[tables.a]\nincludes=['b']\n[tables.b]\nincludes=['c']\n[tables.c]\nincludes=['a']",
            "in a circle: a includes b includes c includes a; take one of these includes out",
        ),
        ("[defaults]\nstep=3", "did you mean 'steps'"),
        ("tables = 1 2", "definitions.toml"),
        ("", "no tables"),
    ],
)
def test_a_definition_that_makes_no_sense_is_an_error_that_says_where(tmp_path, text, message):
    path = tmp_path / "definitions.toml"
    path.write_text(text)
    with pytest.raises(RewindError, match=message):
        load_definitions(path)


def test_a_suite_without_a_number_of_seeds_is_named(tmp_path):
    path = tmp_path / "definitions.toml"
    path.write_text("[defaults]\nseeds = { mujoco = 2 }\n[[tables.a.parts]]\ndatasets = ['antmaze']\n")
    with pytest.raises(UsageError, match=r"no number of seeds for antmaze data under defaults\.seeds: mujoco"):
        load_definitions(path).wanted(RunChoice())


def test_data_sets_come_in_the_order_they_are_named_in():
    named = ["walker2d-medium-v2", "antmaze", "hopper-medium-v2"]
    runs = in_order(load_definitions().wanted(RunChoice(tables=["2"], datasets=named)))
    order = list(dict.fromkeys(spec.dataset for spec in runs))
    assert (order[0], order[-1]) == (named[0], named[-1]) and len(order) == 8
    assert all(name.startswith("antmaze") for name in order[1:-1])
