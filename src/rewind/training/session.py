"""What surrounds a training: its device, its folder."""

import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import jax

from rewind.errors import DataError, UsageError, require
from rewind.files import json_ready, only_one, read_json, write_json
from rewind.run_spec import SAMPLING
from rewind.training.checkpoint import differences
from rewind.training.engine import current_device
from rewind.training.options import CannotResume, Options

SHOWN = 3  # differences that an error names


def find_device(name: str | None) -> Any:
    """A device of the wanted kind, or an error that lists those there are; None: where new arrays go now."""
    if name is None:
        return current_device()
    try:
        return jax.devices(name)[0]
    except RuntimeError as error:
        platforms = ", ".join(sorted({device.platform for device in jax.devices()}))
        raise UsageError(f"no device '{name}' here; there is: {platforms}") from error


def group_folder(out: Path, index: int = 0) -> Path:
    """Where a group's metrics, checkpoints and evaluations are; runs of one program are one group."""
    return out / f"group-{index}"


def check_options(options: Options) -> None:
    """What is missing for the options raises an error before anything is written."""
    for wanted, package, extra in ((options.tensorboard, "tensorboardX", "log"), (options.wandb, "wandb", "wandb")):
        if wanted:
            require(package, extra)
            if options.out is None:
                raise UsageError(f"metrics for {package} are kept in a folder too: out=...")


def read_config(path: Path) -> dict[str, Any]:
    """The configuration that a training was begun with."""
    content = read_json(path)
    try:
        config: dict[str, Any] = content["config"]
        for run in config["runs"]:
            if "alpha" in run["sampler"]:  # as the first edition called it
                run["sampler"]["rank_exponent"] = run["sampler"].pop("alpha")
            run["sampler"] = SAMPLING | run["sampler"]  # which the second edition added
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path} is damaged: it is not the configuration of a training") from error
    return config


def prepare_folder(out: Path, config: Mapping[str, Any], about: Mapping[str, Any], resume: bool) -> ExitStack:
    """A new folder gets the configuration; an old one must have the same, and is only touched to resume.

    One in which no training has begun, because that failed at the last moment, counts as new. The folder is locked
    until what is returned is closed: two trainings in it would mix their files.

    about: what is written beside the configuration, and may change
    """
    out.mkdir(parents=True, exist_ok=True)
    busy = f"another process trains in {out}: wait for it, or choose another folder"
    with ExitStack() as lock:
        lock.enter_context(only_one(out / "training", busy))
        _prepare(out, config, about, resume)
        return lock.pop_all()


def _prepare(out: Path, config: Mapping[str, Any], about: Mapping[str, Any], resume: bool) -> None:
    path = out / "config.json"
    if not any(out.glob("group-*")):
        write_json(path, {"config": config, **about})
        return
    if not path.exists():
        raise CannotResume(f"{path} is missing: restore it, or choose another folder; what {out} holds is not known")
    saved = read_config(path)
    changed = list(differences(saved, json.loads(json.dumps(json_ready(config)))))
    if changed:
        more = f"; and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
        raise CannotResume(
            f"{out} holds another configuration: {'; '.join(changed[:SHOWN])}{more}; "
            "resume with the configuration it was begun with, or choose another folder"
        )
    if not resume:
        raise UsageError(
            f"{out} holds this training already: resume it (resume=True, --resume) or choose another folder"
        )
    write_json(path, {"config": saved, **about})
