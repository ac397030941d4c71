"""`rewind bench ranking`: how well criteria without a simulator rank policies, on data sets that have one.

The sets, runs and fits are in ranking.toml, fixed before anything was measured. For each set: train, keep policies on
the way, evaluate each in the simulator (the truth), and rank them by the held-out trajectories alone.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jax
import numpy as np

from rewind.arrays import Array
from rewind.data import Trajectories, load
from rewind.envs.make import known_task, make
from rewind.errors import UsageError
from rewind.evaluation.fqe import FitSettings
from rewind.evaluation.offline import LogView, evaluate_offline
from rewind.evaluation.scoring import diagnosed, find_environment
from rewind.evaluation.support import Support
from rewind.files import finite, read_json, write_json
from rewind.policy import Policy, load_policy
from rewind.table import table
from rewind.training import Options, Run, Trained, View, make_runs, train
from rewind.training.engine import to_host
from rewind.training.group import Group
from rewind.training.policies import to_policy
from rewind_lab.bench.ranking_figures import Judged, judge
from rewind_lab.bench.timing import machine

APART = 0.5  # standard deviations
DIAGNOSTICS = ("td_error", "value_bias", "action_distance")


@cache
def definition() -> Mapping[str, Any]:
    """ranking.toml."""
    return tomllib.loads((resources.files("rewind_lab.bench") / "ranking.toml").read_text(encoding="utf-8"))


def measure(name: str, work: Path) -> dict[str, Any]:
    """All figures of one set."""
    about, common = definition()["sets"][name], definition()
    data = fewer_rows(load(name), about["rows"])
    view = View(normalise_states=True, hold_out=common["hold_out"])
    held_out = view.held_out(data)
    assert held_out is not None
    policies = trained_policies(data, view, about, work)
    environment = find_environment("auto", data.name, data.notes)
    if environment is None:
        raise UsageError(f"{name} has no simulator")
    truths = {key: _truth_once(work, key, policy, environment, about) for key, policy in policies.items()}
    estimates = {fit: _estimates_once(work, fit, held_out, policies, about) for fit in common["fits"]}
    diagnostics = {key: policy.provenance["figures"] for key, policy in policies.items()}
    support = Support(LogView(held_out, policies))
    supported = {key: support.supports(key) for key in policies}
    by_figure = {one: {k: v[one] for k, v in diagnostics.items()} for one in DIAGNOSTICS}
    judged = Judged(truths, estimates, by_figure, supported)
    log, first = held_out.observations.reshape(held_out.rows, -1), held_out.starts
    apart = starts_apart(log, log[first], simulated_starts(environment, about))
    device = jax.devices()[0].device_kind
    return {
        "set": name,
        "trajectories": len(held_out),
        "starts_apart": apart,
        **judge(judged),
        "machine": {**machine(), "device": device},
        "truths": truths,
        "estimates": estimates,
        "diagnostics": diagnostics,
        "unsupported": {key: support.unsupported(key) for key in policies},
        "supported": supported,
    }


def _truth_once(work: Path, key: str, policy: Policy, environment: str, about: Mapping[str, Any]) -> dict[str, float]:
    """Read from `work` where it is there: a set that was stopped continues."""
    path = work / "truth" / f"{key}.json"
    if not path.exists():
        write_json(path, truth(policy, environment, about, definition()["discount"]))
    return dict(read_json(path))


def _estimates_once(
    work: Path, fit: str, held_out: Trajectories, policies: Mapping[str, Policy], about: Mapping[str, Any]
) -> dict[str, list[float]]:
    """[value, low, high] by policy; read from `work` where they are there."""
    path = work / "estimates" / f"{fit}.json"
    if not path.exists():
        fitted = {"steps": about["fit_steps"], "batch_size": about["fit_batch"], **definition()["fits"][fit]}
        settings = FitSettings(hidden=tuple(about["fit_hidden"]), **fitted)
        result = evaluate_offline(held_out, policies, definition()["discount"], settings)
        write_json(path, {key: [float(bound) for bound in result.estimate(key)] for key in policies})
    return dict(read_json(path))


def fewer_rows(data: Trajectories, rows: int) -> Trajectories:
    """As many random trajectories as have so many rows together, or all."""
    order = np.random.default_rng(0).permutation(len(data))
    return data.select(np.sort(order[: 1 + int(np.searchsorted(np.cumsum(data.lengths[order]), rows))]))


def trained_policies(data: Trajectories, view: View, about: Mapping[str, Any], work: Path) -> dict[str, Policy]:
    """The policies of all runs on the way, by name; those that are in `work` are not trained again."""
    done, folder = work / "trained.json", work / "policies"
    if not done.exists():
        runs = runs_of(data, view, about)
        at = tuple(max(2, int(share * about["steps"]) // 2 * 2) for share in definition()["checkpoints"])
        options = Options(steps=about["steps"], evaluate_at=at, out=work / "training", resume=True)
        train(data, runs, lambda group, step: keep_policies(group, step, folder), options)
        write_json(done, {"policies": sorted(path.name for path in folder.iterdir())})
    return {key: load_policy(folder / key) for key in read_json(done)["policies"]}


def runs_of(data: Trajectories, view: View, about: Mapping[str, Any]) -> list[Run]:
    runs = []
    for algorithm, sampler, beta in definition()["runs"][about["actions"]]:
        hidden: dict[str, Any] = {"hidden": tuple(about["hidden"])}
        runs += make_runs(data, algorithm, samplers=sampler, betas=beta, view=view, **hidden)
    return runs


def keep_policies(group: Group, step: int, folder: Path) -> dict[str, Any]:
    """An evaluation that keeps the policies as they are, each with its diagnostics."""
    figures, stacked = diagnosed(group, step), to_host(group.policies())
    for at, (run, source) in enumerate(zip(group.runs, group.sources, strict=True)):
        policy = jax.tree.map(lambda leaf, at=at: leaf[at], stacked)
        told = {name: finite(figures[name][at]) for name in DIAGNOSTICS}
        key = f"{run.name} step {step}".replace(" ", "-")
        trained = Trained(run, policy, source.normaliser, True, [], source.actions)
        to_policy(trained, {"name": key, "figures": told}).save(folder / key)
    return figures


def simulated_starts(environment: str, about: Mapping[str, Any]) -> Array:
    """(episodes, observation) where the episodes of the truths start."""
    env: Any = _simulator(environment, about)
    observations, _ = env.reset(seed=list(range(about["episodes"])))
    env.close()
    return np.asarray(observations.reshape(len(observations), -1), np.float64)


def starts_apart(states: Array, first: Array, simulated: Array) -> float:
    """How far the means of the log's first states and of the simulator's are apart beyond four standard errors: of the
    worst column, in standard deviations of the log's states. An estimate is of the log's first states: where this is
    large, the truths are of something else."""
    error = np.sqrt(first.var(0) / len(first) + simulated.var(0) / len(simulated))
    apart = np.maximum(0.0, np.abs(first.mean(0) - simulated.mean(0)) - 4 * error)
    return float((apart / (states.std(0) + 1e-3)).max())


def _simulator(environment: str, about: Mapping[str, Any]) -> Any:
    """start: where episodes start, if not where the simulator's do"""
    return make(environment, about["episodes"], **{key: about[key] for key in ("start",) if key in about})


def truth(policy: Policy, environment: str, about: Mapping[str, Any], discount: float) -> dict[str, float]:
    """The mean return of a policy in its simulator, and the mean discounted one with its standard error.

    about: the set in ranking.toml
    """
    known, episodes, env = known_task(environment), about["episodes"], _simulator(environment, about)
    observations, _ = env.reset(seed=list(range(episodes)))
    returns, discounted, playing, step = np.zeros(episodes), np.zeros(episodes), np.ones(episodes, bool), 0
    while playing.any() and (known is None or step < known.horizon):
        observations, rewards, terminated, truncated, _ = env.step(_actions(policy, observations))
        returns += playing * rewards
        discounted += playing * rewards * discount**step
        playing &= ~(terminated | truncated)
        step += 1
    env.close()
    error = float(discounted.std(ddof=1) / np.sqrt(episodes))
    return {"return": float(returns.mean()), "value": float(discounted.mean()), "error": error}


def _actions(policy: Policy, observations: Array) -> Array:
    return policy(observations.reshape(len(observations), -1))


def print_figures(figures: Mapping[str, Any]) -> None:
    lines: Sequence[dict[str, Any]] = [
        {"criterion": name, **{key: None if value is None else f"{value:.2f}" for key, value in of.items()}}
        for name, of in figures["criteria"].items()
    ]
    print(f"{figures['set']}: {len(figures['truths'])} policies, {figures['trajectories']} held-out trajectories")
    if figures.get("starts_apart", 0.0) > APART:  # the first files do not have it
        print(
            f"the truths start elsewhere: {figures['starts_apart']:.1f} standard deviations from the log's first states"
        )
    print(table(list(lines)))
