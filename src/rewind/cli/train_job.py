"""`rewind train`: from options to runs, from runs to a table, files and policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any

import jax

from rewind.agents import AGENTS
from rewind.cli.train import EvaluationOptions, Train
from rewind.cli.train_settings import parse_settings
from rewind.data import Trajectories, load
from rewind.envs.make import known_task
from rewind.errors import RewindError, UsageError
from rewind.evaluation import evaluation_steps
from rewind.evaluation.diagnose import DIAGNOSED
from rewind.evaluation.results import (
    Variant,
    curve,
    diagnostics,
    diagnostics_table,
    score_table,
    scores,
    variants,
)
from rewind.evaluation.scoring import Scorer, diagnosed, say_scores
from rewind.files import read_json, write_json
from rewind.training import Options, Run, Sampler, Trained, bound_targets, make_runs, train
from rewind.training.determinism import make_deterministic
from rewind.training.evaluations import Evaluate, GroupEvaluator
from rewind.training.policies import save_policies
from rewind.training.session import find_device

POINTS = 20  # of the curve, by default


def run_job(command: Train) -> None:
    """All of it."""
    _check_numbers(command)
    chosen = command.data
    data = load(chosen.dataset, boundaries=chosen.boundaries, merge_fragments=chosen.merge_fragments, keys=chosen.keys)
    out = command.output.out or _default_folder(command, data)
    if command.output.deterministic:
        make_deterministic(out)  # before JAX computes anything
    with jax.default_device(find_device(command.output.device)):
        runs, names = describe_runs(command, data)
        environment = find_environment(command.evaluation.env, data)
        judge = _judge(command.evaluation, environment, data)
        _announce(command, data, runs, environment, out)
        trained = train(data, runs, judge, _options(command, environment, out), on_evaluation=say_scores(names))
        report(command, data, variants(trained, names), trained, environment, out)


def describe_runs(command: Train, data: Trajectories) -> tuple[list[Run], list[str]]:
    """All runs, and the name of the variant each belongs to."""
    agent = command.agent
    kind = AGENTS[agent.algorithm]
    fixed, swept = parse_settings(kind, agent.set)
    if agent.hidden is not None:
        fixed["hidden"] = agent.hidden
    fixed = {**kind.defaults(agent.steps), **fixed}
    view = {"rewards": command.data.rewards, "normalise_states": command.data.normalise_states}
    given: dict[str, Any] = {key: value for key, value in view.items() if value is not None}
    runs, names = [], []
    for values in product(*swept.values()):
        own = dict(zip(swept, values, strict=True))
        extra = "".join(f" {name} {value:g}" for name, value in own.items())
        for run in _combinations(command, data, {**fixed, **own}):
            runs.append(replace(run, view=replace(run.view, **given), name=run.name + extra))
            names.append(variant_name(run) + extra)
    return bound_targets(runs, data) if agent.bounded else runs, names


def _combinations(command: Train, data: Trajectories, settings: dict[str, Any]) -> list[Run]:
    """All samplers with all betas, but the baseline once: where nothing is carried, beta changes nothing."""
    agent, memory = command.agent, command.memory
    betas = [None if beta == "paper" else beta for beta in agent.betas]
    runs = []
    for name in memory.samplers:
        sampler = Sampler(name, memory.rank_exponent, memory.reuse, memory.stagger)
        own = [1.0] if _without_beta(agent.algorithm, name) else betas
        runs += make_runs(
            data, agent.algorithm, samplers=[sampler], betas=own, seeds=agent.seeds, top=command.data.top, **settings
        )
    return runs


def _without_beta(algorithm: str, sampler: str) -> bool:
    return sampler == "baseline" or not AGENTS[algorithm].has("beta")


def variant_name(run: Run) -> str:
    """A run without its seed."""
    name, beta = run.sampler.name, run.agent.beta
    return name if beta is None or name == "baseline" else f"{name} beta {float(beta):g}"


def find_environment(asked: str, data: Trajectories) -> str | None:
    """What to evaluate on: as asked, or what is known of the data; None: nothing."""
    if asked == "none":
        return None
    if asked != "auto":
        return asked
    if data.name is not None and known_task(data.name) is not None:
        return data.name
    noted: str | None = data.notes.get("environment")
    return noted


def _judge(options: EvaluationOptions, environment: str | None, data: Trajectories) -> GroupEvaluator | Evaluate:
    if environment is None:
        return diagnosed
    scorer = Scorer(environment, options.episodes, options.evaluation_seed)
    try:
        scorer.check(data)
    except RewindError as error:
        raise type(error)(f"{error}; without a simulator: --env none") from error
    return scorer


def _check_numbers(command: Train) -> None:
    """What would be noticed late, or not at all."""
    options = command.evaluation
    counts = {"steps": command.agent.steps, "batch-size": command.agent.batch_size, "episodes": options.episodes}
    for name, count in counts.items():
        if count < 1:
            raise UsageError(f"--{name} is {count}; expected at least 1")
    several: dict[str, Sequence[Any]] = {"seeds": command.agent.seeds, "betas": command.agent.betas}
    several["samplers"] = command.memory.samplers
    for name, values in several.items():
        if not values or len(set(values)) < len(values):
            raise UsageError(f"--{name} is {' '.join(map(str, values)) or 'empty'}; expected different values")
    for name, seeds in (("seeds", command.agent.seeds), ("evaluation-seed", (options.evaluation_seed,))):
        if min(seeds) < 0:
            raise UsageError(f"--{name} has {min(seeds)}; expected 0 or more")
    for beta in command.agent.betas:
        if not isinstance(beta, str) and not 0.0 <= beta <= 1.0:
            raise UsageError(f"--betas has {beta:g}; expected numbers from 0 to 1, or 'paper'")
    if not 0.0 < command.data.top <= 1.0:
        raise UsageError(f"--top is {command.data.top:g}; expected a fraction above 0, at most 1")


def _default_folder(command: Train, data: Trajectories) -> Path:
    name = (data.name or Path(command.data.dataset).stem).replace("/", "-")
    return Path("runs") / f"{name}-{command.agent.algorithm}"


def _options(command: Train, environment: str | None, out: Path) -> Options:
    steps, evaluation, output = command.agent.steps, command.evaluation, command.output
    every = _evaluate_every(command, out)
    at = () if environment is None else tuple(evaluation_steps(steps, every or steps))
    record: dict[str, Any] = {"environment": environment, "boundaries": command.data.boundaries}
    if environment is not None:
        record |= {"episodes": evaluation.episodes, "evaluation_seed": evaluation.evaluation_seed}
    return Options(
        steps, command.agent.batch_size, command.memory.block, output.log_every, every, at, out,
        output.checkpoint_minutes, output.resume, output.tensorboard, output.wandb, output.device,
        output.deterministic, output.fused, record={"command": record}, about={"command": plain(asdict(command))},
    )  # fmt: skip


def _evaluate_every(command: Train, out: Path) -> int:
    """As asked; or as before, where training goes on; or for so many points."""
    asked, begun = command.evaluation.evaluate_every, out / "config.json"
    if asked is None and command.output.resume and begun.exists():
        asked = read_json(begun)["config"]["evaluate_every"]
    return max(1, command.agent.steps // POINTS) if asked is None else asked


def _announce(command: Train, data: Trajectories, runs: Sequence[Run], environment: str | None, out: Path) -> None:
    judged = "no simulator: held against the data only" if environment is None else f"evaluated on {environment}"
    print(data)
    many = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
    print(f"{command.agent.algorithm}, {many} of {command.agent.steps:,} steps, {judged}")
    print(f"in {out}", flush=True)


def report(
    command: Train,
    data: Trajectories,
    found: Sequence[Variant],
    trained: Sequence[Trained],
    environment: str | None,
    out: Path,
) -> None:
    """Print the table; write results and policies."""
    rows = diagnostics(found) if environment is None else scores(found)
    print(f"\n{diagnostics_table(rows) if environment is None else score_table(rows)}\n")
    provenance = {
        "data": {"name": data.name, "fingerprint": data.fingerprint, "notes": data.notes},
        "environment": environment,
        "steps": command.agent.steps,
        "batch_size": command.agent.batch_size,
    }
    folders = save_policies(trained, out, provenance)
    results = {
        **provenance,
        "command": plain(asdict(command)),
        "variants": rows,
        "runs": [_run_figures(result, folder) for result, folder in zip(trained, folders, strict=True)],
    }
    for path in (out / "results.json", *([command.output.json] if command.output.json else [])):
        write_json(path, results)
        print(f"wrote {path}")
    first, last = (f"({trained[place].run.name})" for place in (0, -1))
    several = len(folders) > 1
    print(f"policies: {folders[0]} {first} ... {folders[-1].name} {last}" if several else f"policy: {folders[0]}")


def _run_figures(result: Trained, folder: Path) -> dict[str, Any]:
    figures: dict[str, Any] = {"name": result.run.name, "seed": result.run.seed, "alive": result.alive}
    figures["policy"] = str(folder)
    scored = curve(result, "score")
    if len(scored.steps):
        figures |= {"score": scored.score, "last": scored.last, "best": scored.best}
        figures["curve"] = {"steps": scored.steps.tolist(), "scores": scored.values.tolist()}
    known = ("q", "q_excess", *DIAGNOSED)
    figures |= {name: found.last for name in known if len((found := curve(result, name)).steps)}
    readable: dict[str, Any] = plain(figures)
    return readable


def plain(value: Any) -> Any:
    """What JSON can hold: paths as text, no NaN."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    return None if isinstance(value, float) and value != value else value
