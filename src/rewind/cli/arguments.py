"""The argument parser, for the commands of this room and of other packages."""

import sys
from dataclasses import make_dataclass
from typing import TYPE_CHECKING, Annotated, Any, Union

from rewind.errors import RewindError, require

if TYPE_CHECKING:
    import tyro
    from tyro.conf import Positional
else:
    try:
        tyro = require("tyro", "cli")
    except RewindError as error:
        sys.exit(f"rewind: {error}")
    Positional = tyro.conf.Positional

__all__ = ["Positional", "alias", "command", "parse", "subcommand", "tyro"]

subcommand = tyro.conf.subcommand


def command(name: str, help: str, *kinds: type) -> Any:
    """A command whose subcommands are these classes: `DataList` is `rewind data list`."""
    subcommands = tuple(Annotated[kind, subcommand(kind.__name__.removeprefix(name).lower())] for kind in kinds)
    namespace = {"__doc__": help, "run": lambda self: self.command.run()}
    return make_dataclass(name, [("command", Union[subcommands])], namespace=namespace)  # noqa: UP007  made here


def alias(name: str) -> Any:
    """A second name of an option."""
    return tyro.conf.arg(aliases=(name,))


def parse(commands: Any, arguments: list[str]) -> Any:
    """The chosen command, its options filled in; prints help or what is wrong, and exits, where there is none."""
    return tyro.cli(
        commands,
        prog="rewind",
        description="Trajectory Replay for offline reinforcement learning.",
        args=arguments,
        config=(tyro.conf.OmitSubcommandPrefixes, tyro.conf.OmitArgPrefixes),
    )
