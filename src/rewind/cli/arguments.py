"""The argument parser, for the commands of this room and of other packages."""

import sys
from typing import TYPE_CHECKING, Any

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

__all__ = ["Positional", "alias", "parse", "subcommand", "tyro"]

subcommand = tyro.conf.subcommand


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
