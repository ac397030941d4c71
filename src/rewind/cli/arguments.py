"""The argument parser, for the commands of this room and of other packages."""

import io
import os
import re
import sys
from contextlib import redirect_stderr
from dataclasses import make_dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Union

from rewind.errors import RewindError, UsageError, require

if TYPE_CHECKING:
    import tyro
    from tyro.conf import Positional
else:
    try:
        tyro = require("tyro", "cli")
    except RewindError as error:
        sys.exit(f"rewind: {error}")
    Positional = tyro.conf.Positional

__all__ = [
    "SHELLS",
    "Positional",
    "Rare",
    "Shown",
    "alias",
    "command",
    "named",
    "parse",
    "print_completion",
    "subcommand",
]

SHELLS = ("bash", "zsh", "fish", "tcsh")
SETTINGS = (tyro.conf.OmitSubcommandPrefixes, tyro.conf.OmitArgPrefixes)

MAY_BE_ALONE = ("--layer-norm", "--discrete", "--merge-fragments", "--normalise-states")
ANSWERS = ("true", "false")

T = TypeVar("T")
RARE = "rare"
Rare = Annotated[T, RARE]  # an option that --help leaves out and --help-all shows

SHOWN = "shown"
Shown = Annotated[T, SHOWN]  # a group of options that --help shows, also those that are rare elsewhere

subcommand = tyro.conf.subcommand


def command(name: str, help: str, *kinds: type) -> Any:
    """A command whose subcommands are these classes: `DataList` is `rewind data list`."""
    subcommands = tuple(Annotated[kind, subcommand(kind.__name__.removeprefix(name).lower())] for kind in kinds)
    namespace = {"__doc__": help, "run": lambda self: self.command.run()}
    return make_dataclass(name, [("command", Union[subcommands])], namespace=namespace)  # noqa: UP007  made here


def alias(name: str) -> Any:
    """A second name of an option."""
    return tyro.conf.arg(aliases=(name,))


def named(name: str, text: str) -> Any:
    """The name of an option whose field cannot have it (`from`), and its help."""
    return tyro.conf.arg(name=name, help=text)


def parse(commands: Any, arguments: list[str]) -> Any:
    """The chosen command with its options; what is wrong with the arguments is an error of one line."""
    said, columns = io.StringIO(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "10000"  # so that tyro breaks no line, and a sentence stays one
    try:
        with redirect_stderr(said):
            return tyro.cli(commands, prog="rewind", args=_answered(arguments), config=SETTINGS)
    except SystemExit as error:
        if not error.code:
            raise
        raise UsageError(_one_line(said.getvalue())) from None
    finally:
        if columns is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = columns


def _answered(arguments: list[str]) -> list[str]:
    """Options that are True, False or left to a default need no answer: alone they mean True."""
    words: list[str] = []
    for word, after in zip_longest(arguments, arguments[1:], fillvalue=""):
        asked = bool(words) and words[-1] in MAY_BE_ALONE
        words.append(word.capitalize() if asked and word.lower() in ANSWERS else word)
        if word in MAY_BE_ALONE and after.lower() not in ANSWERS:
            words.append("True")
    return words


def _one_line(box: str) -> str:
    """The message that tyro draws in a box, without box, title and footer."""
    lines = [line.strip(" │|") for line in box.splitlines()[1:]]  # without the title
    content = [line for line in lines if not set(line) <= set("─╰╯-+")]
    footer = next((number for number, line in enumerate(content) if "full helptext" in line), len(content))
    return re.sub(r"\s+", " ", " ".join(content[:footer])).replace(" (required)", "")


def print_completion(commands: Any, shell: str) -> None:
    if shell not in SHELLS:
        raise UsageError(f"--completion {shell}: expected {', '.join(SHELLS)}")
    try:
        tyro.cli(commands, prog="rewind", args=["--tyro-write-completion", shell, "-"], config=SETTINGS)
    except SystemExit as error:
        if error.code:
            raise
