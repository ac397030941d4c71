"""The texts of `rewind`, `rewind --help`, `rewind COMMAND --help` and `--help-all`."""

import shutil
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import MISSING
from itertools import groupby
from typing import Any

from rewind.cli.options import Option, examples, explanation, options_of, subcommands_of, summary

HELP = ("-h", "--help", "--help-all")
WIDEST = 100  # a longer line is hard to read
COLUMN = 28  # where explanations start

WELCOME = """\
Rewind replays logged trajectories backward, for offline reinforcement learning.

  See it work            rewind demo
  Look at your data      rewind inspect log.npz
  Train and compare      rewind train --dataset log.npz --samplers baseline tr --hold-out 0.1 --out runs/mine
  Read the results       rewind report runs/mine

All commands: rewind --help. One command: rewind train --help."""

GROUPS = {
    "Start here": ("demo",),
    "Your data": ("inspect", "data"),
    "Train and evaluate": ("train", "evaluate", "report"),
    "Use a policy": ("watch", "export"),
    "Pictures and examples": ("toy", "sweeps", "mazes"),
}
OTHERS = "The lab and other packages"
MORE = (
    ("COMMAND --help", "Explain a command and its usual options."),
    ("COMMAND --help-all", "Explain its rarely needed options too."),
    ("--completion SHELL", "Print tab completion for bash, zsh, fish or tcsh."),
    ("--version", "Print the version."),
)


def overview(commands: Mapping[str, Any]) -> str:
    heading = {name: title for title, names in GROUPS.items() for name in names}
    ordered = [name for names in GROUPS.values() for name in names if name in commands]
    ordered += [name for name in commands if name not in heading]
    lines = ["usage: rewind COMMAND [OPTIONS]"]
    for title, names in groupby(ordered, lambda name: heading.get(name, OTHERS)):
        lines += ["", f"{title}:", *_columns((name, summary(commands[name])) for name in names)]
    return "\n".join([*lines, "", "Options:", *_columns(MORE)])


def command_help(path: str, kind: type, everything: bool) -> str:
    """How to use one command.

    path: as it is typed, such as "rewind data list"
    everything: also the rare options
    """
    if inner := subcommands_of(kind):
        lines = [f"usage: {path} COMMAND [OPTIONS]", "", *_paragraphs(kind), "", "Commands:"]
        lines += _columns((name, summary(command)) for name, command in inner.items())
        return "\n".join([*lines, *_examples(kind)])
    options = list(options_of(kind))
    arguments = [option for option in options if option.positional]
    required = [option for option in options if option.default is MISSING and not option.positional]
    usual = [option for option in options if not (option.rare or option in arguments or option in required)]
    rare = [option for option in options if option.rare]
    usage = [*map(_usage, (*arguments, *required)), *(["[OPTIONS]"] if usual or rare else [])]
    lines = [" ".join([f"usage: {path}", *usage]), "", *_paragraphs(kind), *_examples(kind)]
    lines += _section("Arguments", arguments) + _section("Required", required) + _section("Options", usual)
    if rare and everything:
        lines += _section("Rarely needed", rare)
    elif rare:
        lines += ["", f"{len(rare)} rarely needed options: {path} --help-all"]
    return "\n".join(lines)


def _paragraphs(kind: type) -> list[str]:
    texts = [textwrap.wrap(text, _width()) for text in (summary(kind), *explanation(kind))]
    return [line for number, lines in enumerate(texts) for line in ([""] if number else []) + lines]


def _examples(kind: type) -> list[str]:
    return ["", "Example:", *(f"  {example}" for example in shown)] if (shown := examples(kind)) else []


def _section(title: str, options: Iterable[Option]) -> list[str]:
    """Options under the headings of their groups."""
    lines = []
    for group, members in groupby(options, lambda option: option.group):
        heading = f"{group}, {title.lower()}:" if group else f"{title}:"
        lines += ["", heading.replace(", options:", ":")]
        lines += _columns((_invocation(option), _text(option)) for option in members)
    return lines


def _usage(option: Option) -> str:
    if not option.positional:
        return f"{option.names[0]} {option.value}"
    shown = f"{option.names[0]} ..." if option.value.endswith("...") else option.names[0]
    return shown if option.default is MISSING else f"[{shown}]"


def _invocation(option: Option) -> str:
    if option.positional:
        return option.names[0]
    names = option.names if option.default is not True or option.value else option.flags[len(option.names) :]
    return f"{', '.join(names)} {option.value}".rstrip()


def _text(option: Option) -> str:
    """The help of an option, with its default where the text does not tell it."""
    default = option.default
    if default in (MISSING, None, ()) or isinstance(default, bool) or "efault: " in option.text or default == {}:
        return option.text
    shown = " ".join(map(str, default)) if isinstance(default, tuple) else default
    return f"{option.text} (default: {shown})"


def _columns(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Names at the left, explanations at the right, wrapped."""
    lines = []
    for name, text in rows:
        wrapped = textwrap.wrap(text, _width() - COLUMN) or [""]
        if len(name) + 4 > COLUMN:
            lines.append(f"  {name}")
            name = ""
        lines += [f"  {name if number == 0 else '':{COLUMN - 2}}{line}" for number, line in enumerate(wrapped)]
    return lines


def _width() -> int:
    return min(WIDEST, shutil.get_terminal_size().columns)
