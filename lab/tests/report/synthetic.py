"""Rows of results that nobody trained: scores from known effects, so that what a report says of them is known.

Only for tests, and for looking at pages while there are no results. Never to be mixed with results.
"""

import json

import numpy as np

from rewind.data.catalogue import known_entry
from rewind.evaluation import evaluation_steps
from rewind_lab.paper.definitions import RunChoice, in_order, load_definitions

LOWER, HIGHER = (
    ("lower_mean_unc", "lower_lqm_unc", "lower_uqm_unc"),
    ("higher_mean_unc", "higher_lqm_unc", "higher_uqm_unc"),
)
QUALITY = ("return", "avg_reward", "uqm_reward", "uhm_reward", "min_reward")


def as_claimed(spec):
    """Points over the baseline: a world in which every claim of the paper holds."""
    known = known_entry(spec.dataset)
    name = known.name
    if spec.sampler == "baseline":
        return 0.0
    sparse = known.label == "sparse"
    if spec.sampler in QUALITY:
        own = 4.0 if spec.sampler == "return" else 8.0
        return 15 + own if sparse else 5.0 if "expert" in name else -8.0 if "replay" in name else 0.0
    if spec.sampler == "max_reward":
        return -5.0
    if spec.sampler in LOWER:
        return -3.0 if sparse else 9.0 if spec.sampler == "lower_uqm_unc" else 5.0
    if spec.sampler in HIGHER:
        return -10.0
    one_step = 15.0 if sparse else -10.0 if "replay" in name else 0.0
    if spec.beta == 0:
        return one_step - 20
    return one_step if spec.beta == 1 else 20.0


def cells(table):
    """The texts of a report's table, by the heads of its lines."""
    return {line.head: [cell.text.replace("\N{NO-BREAK SPACE}", " ") for cell in line.cells] for line in table.lines}


def null(spec):
    """A world in which no sampler matters."""
    return 0.0


def rows(
    effect=as_claimed, tables=("2", "fixed_beta", "td3_bc"), data="rewind", noise=1.5, keep=lambda spec: True,
    definitions=None, **choice,
):  # fmt: skip
    """The rows of finished runs, as the runner writes them."""
    definitions = load_definitions(definitions)
    specs = in_order(definitions.wanted(RunChoice(tables, data, **choice)))
    generator = np.random.default_rng(0)
    return [row for spec in specs if keep(spec) for row in _run(spec, effect, noise, generator)]


def _run(spec, effect, noise, generator):
    base = {"mujoco": 65.0, "antmaze": 30.0, "adroit": 70.0, "ogbench": 50.0}[spec.suite]
    final = base + effect(spec) + noise * generator.standard_normal()
    for step in evaluation_steps(spec.steps, spec.steps // 10):
        share = step / spec.steps
        score = final * (1 - np.exp(-6 * share)) / (1 - np.exp(-6)) + 0.5 * noise * generator.standard_normal()
        yield {
            "run": spec.run, "group": f"group {spec.dataset}", "dataset": spec.dataset, "suite": spec.suite,
            "algorithm": spec.algorithm, "sampler": spec.sampler, "beta": spec.beta,
            "settings": json.dumps(dict(spec.settings)), "reuse": spec.reuse, "rank_exponent": spec.rank_exponent,
            "stagger": spec.stagger, "block": spec.block or (100 if spec.dynamic else 1000),
            "batch_size": spec.batch_size, "steps": spec.steps, "seed": spec.seed, "step": step,
            "score": float(score), "return": float(score), "length": 1000.0, "episodes": spec.episodes,
            "evaluation_seed": 1, "alive": True, "seconds_per_update": 1e-5, "runs_together": 32,
            "group_seconds": 480.0, "device": "none: synthetic", "versions": json.dumps({"rewind": "synthetic"}),
            "data_fingerprint": "synthetic", "finished": "2000-01-01T00:00:00+00:00",
        }  # fmt: skip
