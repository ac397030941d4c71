"""`rewind train`: from options to runs, from runs to a table, files and policies."""

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import jax

from rewind.cli.train_options import DataOptions, EvaluationOptions, MemoryOptions, TrainOptions
from rewind.cli.train_recommended import with_recommended
from rewind.cli.train_runs import Described, batch_size_of, describe_runs, file_name
from rewind.data import Trajectories, load
from rewind.errors import RewindError, UsageError
from rewind.evaluation import evaluation_steps
from rewind.evaluation.fqe import FitSettings
from rewind.evaluation.offline_record import SOURCE, write_offline
from rewind.evaluation.offline_table import OFFLINE, offline_table
from rewind.evaluation.results import curve, diagnostics, diagnostics_table, score_table, scores, variants
from rewind.evaluation.rows import Row, by_run, diagnostics_of, group_rows, write_jsonl
from rewind.evaluation.scoring import Scorer, diagnosed, find_environment, say_scores
from rewind.files import file_digest, json_ready, write_json
from rewind.report.train_folder import ROWS
from rewind.run_spec import digest
from rewind.table import counted, listed
from rewind.training import Options, Stopped, Trained, Trainer, engine_run
from rewind.training.determinism import keep_programs, make_deterministic
from rewind.training.engine import device_kind, made_with
from rewind.training.evaluations import Evaluate, GroupEvaluator
from rewind.training.policies import save_policies
from rewind.training.session import find_device, read_config
from rewind.training.spec import with_vectors

POINTS = 20  # of the curve, by default
LEARNS = ("data", "agent", "memory", "evaluation")  # groups of options that a training's default folder tells apart
LONGER = ("steps", "fit_steps")  # but not these: the same training continues
SHOWN = 3  # folders of other trainings, at most


def run_job(command: TrainOptions, signals: Sequence[int] = ()) -> None:
    """All of it.

    signals: to stop, that have come
    """
    _check_numbers(command)
    chosen = command.data
    data = load(
        chosen.dataset, boundaries=chosen.boundaries, merge_fragments=chosen.merge_fragments, keys=chosen.keys,
        **command.reader.given(),
    )  # fmt: skip
    data = with_vectors(data)
    if signals:
        raise KeyboardInterrupt
    if command.memory.recommended:
        command = with_recommended(command, data)
    _check_ranking(command.memory)
    command = replace(command, agent=replace(command.agent, batch_size=batch_size_of(command, data.name)))
    out = command.output.out or default_folder(command, data)
    if command.output.deterministic:
        make_deterministic(out)  # before JAX computes anything
    keep_programs()
    with jax.default_device(find_device(command.output.device)):
        described = describe_runs(command, data.name, data.notes)
        runs = [engine_run(one.spec, data) for one in described]
        runs = [replace(run, name=run.name + one.extra) for run, one in zip(runs, described, strict=True)]
        environment = find_environment(command.evaluation.env, data.name, data.notes)
        evaluator = _evaluator(command.evaluation, environment, data.observations.shape[1:], data.actions.shape[1:])
        print(data)
        _announce(command, len(runs), environment, out)
        options = _options(command, environment, out, [one.spec.record() for one in described])
        options = replace(options, on_evaluation=say_scores([one.variant for one in described]))
        with closing(Trainer(data, runs, evaluator, options)) as trainer:
            trainer.train()
            try:
                report(command, data, described, trainer.finish(), environment, out)
            except KeyboardInterrupt:
                raise Stopped(
                    "stopped; the training is finished: the same command with --resume writes its results"
                ) from None
            except BrokenPipeError:  # whoever reads the table has seen enough: no full disk
                raise
            except OSError as error:
                raise RewindError(
                    f"{error.filename or out}: {error.strerror}; the training is finished: make room, and the same "
                    "command with --resume writes its results"
                ) from error


def default_folder(command: TrainOptions, data: Trajectories) -> Path:
    """One for each training: what it learns from and how, but not for how long, is part of the name."""
    name = f"{data.name or file_name(command)}-{command.agent.algorithm}".replace("/", "-")
    first = Path("runs") / name  # as earlier versions called it
    if command.output.resume and first.exists():
        return first
    out = first.with_name(f"{name}-{digest([json.dumps(_identity(command, data), sort_keys=True)])}")
    if command.output.resume and not out.exists() and (others := sorted(map(str, first.parent.glob(f"{name}-*")))):
        print(f"no training has these options yet: it begins in {out}; --out resumes another: {listed(others, SHOWN)}")
    return out


def _identity(command: TrainOptions, data: Trajectories) -> dict[str, Any]:
    """What is not the default, so that an option that a later version adds renames no folder."""
    identity: dict[str, Any] = {"data": data.fingerprint}  # wherever the file is
    usual = asdict(TrainOptions(DataOptions(command.data.dataset), memory=MemoryOptions(MemoryOptions().chosen)))
    named = replace(command, memory=replace(command.memory, samplers=command.memory.chosen))
    for group, values in asdict(named).items():
        identity |= {name: value for name, value in values.items() if group in LEARNS and value != usual[group][name]}
    for name in LONGER if command.data.hold_out else (*LONGER, "hold_out_seed"):
        identity.pop(name, None)
    return identity


def _evaluator(
    options: EvaluationOptions, environment: str | None, observation: tuple[int, ...], action: tuple[int, ...]
) -> GroupEvaluator | Evaluate:
    if environment is None:
        return diagnosed
    scorer = Scorer(environment, options.episodes, options.evaluation_seed)
    try:
        scorer.check(observation, action)
    except RewindError as error:
        raise type(error)(f"{error}; without a simulator: --env none") from error
    return scorer


def _check_numbers(command: TrainOptions) -> None:
    """What would be noticed late, or not at all."""
    agent, options = command.agent, command.evaluation
    several: dict[str, Sequence[Any]] = {
        "seeds": agent.seeds,
        "betas": agent.betas,
        "samplers": command.memory.chosen,
    }
    for name, values in several.items():
        if not values or len(set(values)) < len(values):
            raise UsageError(f"--{name} is {' '.join(map(str, values)) or 'empty'}; expected different values")
    counts = {"steps is": agent.steps, "batch-size is": batch_size_of(command, None), "episodes is": options.episodes}
    counts |= {"log-every is": command.output.log_every}
    counts |= {} if command.memory.block is None else {"block is": command.memory.block}
    others = {"seeds has": min(agent.seeds), "evaluation-seed has": options.evaluation_seed}
    others["fit-steps is"] = options.fit_steps
    for least, expected, numbers in ((1, "at least 1", counts), (0, "0 or more", others)):
        for name, number in numbers.items():
            if number < least:
                raise UsageError(f"--{name} {number}; expected {expected}")
    for beta in agent.betas:
        if not isinstance(beta, str) and not 0.0 <= beta <= 1.0:
            raise UsageError(f"--betas has {beta:g}; expected numbers from 0 to 1, or 'paper'")
    if not 0.0 < command.data.top <= 1.0:
        raise UsageError(f"--top is {command.data.top:g}; expected a fraction above 0, at most 1")


def _check_ranking(memory: MemoryOptions) -> None:
    """Options of priorities that nothing would use."""
    given = {
        "--rank-exponent": "" if memory.rank_exponent == 1.0 else f"{memory.rank_exponent:g}",
        "--weighting": "" if memory.weighting == "rank" else memory.weighting,
        "--weighting-temperature": "" if memory.weighting_temperature == 1.0 else f"{memory.weighting_temperature:g}",
    }
    exponent, weighting, temperature = (f"{flag} {value}" if value else "" for flag, value in given.items())
    if exponent and weighting:
        raise UsageError(f"{exponent} is for --weighting rank, not for {weighting}: leave one of them out")
    if temperature and not weighting:
        raise UsageError(f"{temperature} is for --weighting softmax or proportional: choose one, or leave it out")
    if (exponent or weighting) and set(memory.chosen) <= {"baseline", "tr"}:
        raise UsageError(f"{exponent or weighting}: no sampler ranks trajectories; add a priority to --samplers")


def _options(command: TrainOptions, environment: str | None, out: Path, specs: list[dict[str, Any]]) -> Options:
    steps, evaluation, output = command.agent.steps, command.evaluation, command.output
    every = _evaluate_every(command, out)
    at = () if environment is None else tuple(evaluation_steps(steps, every or steps))
    record: dict[str, Any] = {"environment": environment, "boundaries": command.data.boundaries}
    if environment is not None:
        record |= {"episodes": evaluation.episodes, "evaluation_seed": evaluation.evaluation_seed}
    return Options(
        steps, batch_size_of(command, None), command.memory.block, output.log_every, every, at, out,
        output.checkpoint_minutes, output.resume, output.tensorboard, output.wandb, output.device,
        output.deterministic, output.fused, record={"command": record},
        about={"command": json_ready(asdict(command)), "runs": specs},
    )  # fmt: skip


def _evaluate_every(command: TrainOptions, out: Path) -> int:
    """As asked; or as before, where training is resumed; or for so many points."""
    asked, begun = command.evaluation.evaluate_every, out / "config.json"
    if asked is None and command.output.resume and begun.exists():
        asked = read_config(begun).get("evaluate_every")
    return max(1, command.agent.steps // POINTS) if asked is None else asked


def _announce(command: TrainOptions, runs: int, environment: str | None, out: Path) -> None:
    where = "no simulator: compared with the data only" if environment is None else f"evaluated on {environment}"
    many, long = counted(runs, "run"), counted(command.agent.steps, "step")
    print(f"{command.agent.algorithm}, {many} of {long}, {where}")
    print(f"in {out}", flush=True)


def report(
    command: TrainOptions,
    data: Trajectories,
    described: Sequence[Described],
    trained: Sequence[Trained],
    environment: str | None,
    out: Path,
) -> None:
    """Print the table; write results and policies."""
    about = {
        "alive": [result.alive for result in trained],
        "blocks": [result.block for result in trained],
        "data": {data.name or file_name(command): data.fingerprint},
        "seconds_per_update": None,
        "group_seconds": 0.0,  # not measured
        "device": device_kind(),
        "versions": json.dumps(made_with(command.output.fused), sort_keys=True),
    }
    rows = group_rows([one.spec for one in described], [result.records for result in trained], about)
    runs = [[row | diagnostics_of(row) for row in group] for group in by_run(rows).values()]
    compared = variants(runs, [one.variant for one in described])
    figures = diagnostics(compared) if environment is None else scores(compared)
    print(f"\n{diagnostics_table(figures) if environment is None else score_table(figures)}\n")
    source = asdict(command.data) | command.reader.given()
    provenance = {
        "data": {"name": data.name, "fingerprint": data.fingerprint, "notes": data.notes},
        "source": {name: value for name, value in json_ready(source).items() if name in SOURCE},
        "environment": environment,
        "steps": command.agent.steps,
        "batch_size": command.agent.batch_size,
    }
    folders = save_policies(trained, out, provenance)
    fit_steps = command.evaluation.fit_steps
    if environment is None and command.data.hold_out and folders and fit_steps:
        print("fitted Q evaluation on the trajectories that were held out", flush=True)
        record = write_offline(out, [out], data, settings=FitSettings(steps=fit_steps))
        print(f"\n{offline_table(record)}\nwrote {out / OFFLINE}\n")
    names = [result.run.name for result in trained]
    results = {
        **provenance,
        "command": json_ready(asdict(command)),
        "variants": figures,
        "runs": [
            _run_figures(name, run, folders.get(at)) for at, (name, run) in enumerate(zip(names, runs, strict=True))
        ],
    }
    results["rows"] = file_digest(write_jsonl(out / ROWS, rows))
    for path in (out / "results.json", *([command.output.json] if command.output.json else [])):
        write_json(path, results)
        print(f"wrote {path}")
    if len(folders) > 1:
        first, last = min(folders), max(folders)
        print(f"policies: {folders[first]} ({names[first]}) ... {folders[last].name} ({names[last]})")
    elif folders:
        print(f"policy: {', '.join(map(str, folders.values()))}")


def _run_figures(name: str, rows: Sequence[Row], folder: Path | None) -> dict[str, Any]:
    """What results.json says of a run."""
    last = rows[-1]
    figures = {"name": name, "seed": last["seed"], "alive": last["alive"], "policy": folder}
    if last["diagnostics"] is None:
        scored = curve(rows, "score")
        figures |= {"score": float(scored.score), "last": float(scored.last), "best": float(scored.best)}
        figures["curve"] = {"steps": scored.steps.tolist(), "scores": scored.values.tolist()}
    readable: dict[str, Any] = json_ready(
        figures | {"q": last["q"], "q_excess": last["q_excess"]} | diagnostics_of(last)
    )
    return readable
