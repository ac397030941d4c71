"""The command `rewind`: finds the commands of all installed packages, runs one, prints errors as one line."""

import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from importlib.metadata import entry_points
from typing import Annotated, Any, NamedTuple, TextIO, Union, cast

from rewind.cli.arguments import parse, print_completion, subcommand
from rewind.cli.data import Data
from rewind.cli.demo import Demo
from rewind.cli.evaluate import Evaluate
from rewind.cli.export import Export
from rewind.cli.help import HELP, WELCOME, command_help, overview
from rewind.cli.inspect import Inspect
from rewind.cli.mazes import Mazes
from rewind.cli.mistakes import check_options, explained
from rewind.cli.options import options_of, subcommands_of
from rewind.cli.report import Report
from rewind.cli.sweeps import Sweeps
from rewind.cli.toy import Toy
from rewind.cli.train import Train
from rewind.cli.watch import Watch
from rewind.errors import MissingExtra, RewindError, UsageError, install_command, printable, unknown_name
from rewind.files import FULL
from rewind.progress import say
from rewind.version import __version__

GROUP = "rewind.commands"  # entry points of other packages: a name, and a dataclass with a method `run`
OWN: Mapping[str, Any] = {
    "demo": Demo,
    "train": Train,
    "watch": Watch,
    "evaluate": Evaluate,
    "export": Export,
    "report": Report,
    "inspect": Inspect,
    "data": Data,
    "toy": Toy,
    "sweeps": Sweeps,
    "mazes": Mazes,
}
LAB = ("paper", "bench", "behaviour", "house", "data cards")  # commands of rewind-lab


def find_commands(asked: str | None) -> dict[str, Any]:
    """Rewind's commands, and those of other packages where one of them is asked for, or the list of all.

    The lab replaces `data` by one with more subcommands. A package whose command cannot be imported breaks nobody
    else's.
    """
    commands = dict(OWN)
    for point in entry_points(group=GROUP):
        if asked in OWN and point.name != asked:
            continue
        try:
            commands[point.name] = point.load()
        except Exception as error:  # whatever somebody's module raises
            problem = f"the command `rewind {point.name}` ({point.value}) cannot be loaded: {error!r}"
            if asked == point.name:
                raise UsageError(f"{problem}; install its package again") from error
            warnings.warn(problem, stacklevel=2)
    return commands


class _PrintableStream(NamedTuple):
    """Standard output, in which control characters are shown and not obeyed."""

    stream: TextIO

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        return self.stream.write(printable(text))


def _complain(message: object) -> None:
    say(f"rewind: {message}", sys.stderr)


@contextmanager
def plain_warnings() -> Iterator[None]:
    """What the library warns of is one line on stderr, once, without the place in our code where it was noticed."""
    shown: set[str] = set()
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if category is not UserWarning:
                usual(message, category, *where, **more)
            elif str(message) not in shown:
                shown.add(str(message))
                _complain(message)

        warnings.showwarning = show
        yield


def _run(arguments: list[str], commands: Mapping[str, Any] | None) -> None:
    """Run the command that the arguments name, or print what they ask for about it."""
    if not arguments:
        print(WELCOME)
        return
    asked = arguments[0]
    commands = find_commands(asked) if commands is None else commands
    kinds = tuple(Annotated[kind, subcommand(name)] for name, kind in commands.items())
    union: Any = Union[kinds]  # noqa: UP007  made while running
    if asked in HELP:
        print(overview(commands), flush=True)
    elif asked == "--completion":
        print_completion(union, arguments[1] if len(arguments) > 1 else "")
    else:
        path, kind, options = _find(arguments, commands)
        if help_asked := [option for option in options if option in HELP]:
            print(command_help(path, kind, "--help-all" in help_asked), flush=True)
        else:
            _parsed(union, arguments, path, kind, options).run()


def _parsed(union: Any, arguments: list[str], path: str, kind: type, given: list[str]) -> Any:
    options = list(options_of(kind))
    check_options(path, options, given)
    try:
        return parse(union, arguments)
    except UsageError as error:
        raise explained(error, path, options, given) from None


def _find(arguments: list[str], commands: Mapping[str, Any]) -> tuple[str, type, list[str]]:
    """The command: as it is typed, its class, and the arguments that follow."""
    path, names, rest = "rewind", commands, list(arguments)
    while True:
        if not rest:
            raise UsageError(f"{path} needs a command: {', '.join(names)} ({path} --help)")
        name = rest.pop(0)
        typed = f"{path} {name}"
        if typed.removeprefix("rewind ") in LAB and name not in names:
            raise MissingExtra(f"`{typed}` is part of the lab, which is not installed: {install_command('rewind-lab')}")
        if name not in names:
            raise unknown_name("option" if name.startswith("-") else "command", name, names, f"{path} --help lists all")
        path, kind = typed, names[name]
        names = subcommands_of(kind)
        if not names or (rest and rest[0] in HELP):
            return path, kind, rest


def main(arguments: list[str] | None = None, commands: Mapping[str, Any] | None = None) -> None:
    """Run one command. An error of Rewind is one line on stderr and an exit status, mostly 2.

    commands: by name; default: all that are installed
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments in (["--version"], ["-V"]):
        print(f"rewind {__version__}")
        return
    try:
        with plain_warnings(), redirect_stdout(cast(TextIO, _PrintableStream(sys.stdout))):
            _run(arguments, commands)
    except RewindError as error:
        _complain(error)
        sys.exit(error.exit_status)
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:  # a file that cannot be read or written
        if error.filename is None and error.errno not in FULL:
            raise
        _complain(f"{error.filename or 'the output'}: {error.strerror}")
        sys.exit(2)
    except KeyboardInterrupt:
        _complain("stopped")
        sys.exit(130)
