"""Wrong arguments, each as one line: what, where, what was expected."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import MISSING
from itertools import takewhile

from rewind.cli.options import Option
from rewind.errors import UsageError

RENAMED = {"--priority-alpha": "--rank-exponent"}  # of the first edition; the hint goes after 2027-12-31


def check_options(path: str, options: Sequence[Option], arguments: Sequence[str]) -> None:
    """Raise an error for an option that the command does not have, and for a required one that is missing.

    path: the command as it is typed
    arguments: what follows it
    """
    by_flag = {flag: option for option in options for flag in option.flags}
    given = [argument.partition("=")[0].replace("_", "-") for argument in arguments if argument.startswith("--")]
    for name in given:
        if name in RENAMED:
            raise UsageError(f"{name} is now {RENAMED[name]}")
        if name not in by_flag and name != "--":
            near = difflib.get_close_matches(name, by_flag, n=1)
            hint = f"did you mean {near[0]}?" if near else f"{path} --help-all lists all"
            raise UsageError(f"{path} has no option {name}: {hint}")
    for option in options:
        if option.default is MISSING and option.flags and not set(option.flags) & set(given):
            raise UsageError(f"{path} needs {option.names[0]}: {option.text}")


def explained(error: UsageError, path: str, options: Sequence[Option], arguments: Sequence[str]) -> UsageError:
    """The parser's error in the words of the help texts, or as it is where it is of another kind."""
    message = str(error)
    if message.startswith("Missing from"):
        option = next(option for option in options if option.positional and option.default is MISSING)
        return UsageError(f"{path} needs {option.names[0]}: {option.text}")
    if match := re.match(r"Unrecognized options: (.*)", message):
        unknown = match[1].split(" Available")[0]
        return UsageError(f"{path} does not take {unknown!r}{_after(unknown, options, arguments)}: see {path} --help")
    if match := re.search(r"argument '?(--[\w-]+)|parsing (--[\w-]+)", message):
        flag = match[1] or match[2]
        given = " ".join(_values(flag, arguments))
        option = next(option for option in options if flag in option.flags)
        return UsageError(f"{path} {flag} {given}".rstrip() + f": expected {option.value or 'no value'}")
    return error


def _after(value: str, options: Sequence[Option], arguments: Sequence[str]) -> str:
    """Which option a value that is not taken follows, and what that one takes."""
    before = arguments[: arguments.index(value)] if value in arguments else []
    if not before or not before[-1].startswith("--"):
        return ""
    flag = before[-1].replace("_", "-")
    option = next((option for option in options if flag in option.flags), None)
    return "" if option is None else f" after {flag}, which takes {option.value or 'no value'}"


def _values(flag: str, arguments: Sequence[str]) -> list[str]:
    names = [argument.partition("=")[0].replace("_", "-") for argument in arguments]
    if flag not in names:
        return []
    first = names.index(flag)
    values = [arguments[first].partition("=")[2]] if "=" in arguments[first] else []
    return [*values, *takewhile(lambda argument: not argument.startswith("--"), arguments[first + 1 :])]
