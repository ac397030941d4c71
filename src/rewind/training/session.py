"""What surrounds a training: its device, the signals that stop it, its folder."""

import json
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import jax

from rewind.errors import DataError, UsageError, require
from rewind.files import read_json, write_json
from rewind.training.checkpoint import differences
from rewind.training.options import CannotResume, Options

SHOWN = 3  # differences that an error names


def find_device(name: str | None) -> Any:
    """A device of the wanted kind, or an error that lists those there are."""
    if name is None:
        return jax.devices()[0]
    try:
        return jax.devices(name)[0]
    except RuntimeError as error:
        there = ", ".join(sorted({device.platform for device in jax.devices()}))
        raise UsageError(f"no device '{name}' here; there is: {there}") from error


@contextmanager
def stop_signals(received: list[int] | None = None) -> Iterator[list[int]]:
    """Collects SIGINT and SIGTERM instead of dying of the first; a second one is obeyed at once.

    received: those that came before
    """
    received = [] if received is None else received

    def note(number: int, frame: FrameType | None) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)
        print("\nrewind: stopping after this block; again to stop at once", file=sys.stderr)

    try:
        before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not in the main thread: whoever runs us handles signals
        before = {}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path} is damaged: it is not the configuration of a training") from error
    return config


def prepare_folder(out: Path, config: Mapping[str, Any], about: Mapping[str, Any], resume: bool) -> None:
    """A new folder gets the configuration; an old one must have the same, and is only touched to resume.

    One in which no training has begun, because that failed at the last moment, counts as new.

    about: what is written beside the configuration, and may change
    """
    path = out / "config.json"
    if not path.exists() or not any(out.glob("group-*")):
        write_json(path, {"config": config, **about})
        return
    saved = read_config(path)
    changed = list(differences(saved, json.loads(json.dumps(config))))
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
