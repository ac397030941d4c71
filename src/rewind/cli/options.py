"""What a command takes, read from its dataclass: names, values, help texts and examples."""

import ast
import inspect
import textwrap
import types
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from rewind.cli.arguments import RARE, SHOWN, Positional

VALUES = {int: "INT", float: "NUMBER", str: "NAME", Path: "PATH", bool: "True|False", Any: "VALUE"}
EXAMPLE = "Example: "  # starts a line of a command's docstring
POSITIONAL = get_args(Positional[int])[1]


class Option(NamedTuple):
    """One option of a command.

    names: its flags, the usual one first; of a positional argument its name in capitals
    value: what it takes, empty for a switch
    default: MISSING where it is required
    group: the heading that it stands under, empty for none
    """

    names: tuple[str, ...]
    value: str
    text: str
    default: Any
    group: str
    rare: bool

    @property
    def positional(self) -> bool:
        return not self.names[0].startswith("--")

    @property
    def flags(self) -> tuple[str, ...]:
        """What selects it on the command line."""
        opposite = (f"--no-{name[2:]}" for name in self.names) if not self.value else ()
        return () if self.positional else (*self.names, *opposite)


def summary(kind: type) -> str:
    """The first paragraph of a command's docstring."""
    return " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())


def explanation(kind: type) -> list[str]:
    """The other paragraphs, without the examples."""
    paragraphs = (inspect.getdoc(kind) or "").split("\n\n")[1:]
    return [" ".join(text.split()) for text in paragraphs if not text.startswith(EXAMPLE)]


def examples(kind: type) -> list[str]:
    """The commands on the lines `Example: rewind ...` of a docstring."""
    lines = (inspect.getdoc(kind) or "").splitlines()
    return [line.removeprefix(EXAMPLE) for line in lines if line.startswith(EXAMPLE)]


def subcommands_of(kind: type) -> dict[str, type]:
    """By name: the commands that a command such as `rewind data` consists of."""
    hint = get_type_hints(kind, include_extras=True).get("command")
    members = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else ()
    return {member.__metadata__[0].name: member.__origin__ for member in members}


def options_of(kind: type, group: str = "") -> Iterator[Option]:
    """All options, those of nested dataclasses under their headings."""
    hints, texts = get_type_hints(kind, include_extras=True), _field_texts(kind)
    for field in fields(kind):
        inner, marks = _unwrapped(hints[field.name])
        if is_dataclass(inner):
            for option in options_of(inner, field.name.capitalize()):  # type: ignore[arg-type]  # a class
                yield option._replace(rare=option.rare and SHOWN not in marks)
            continue
        default = field.default if field.default_factory is MISSING else field.default_factory()
        configured = [mark for mark in marks if not isinstance(mark, str) and mark is not POSITIONAL]
        name = next((mark.name for mark in configured if mark.name), field.name).replace("_", "-")
        text = next((mark.help for mark in configured if mark.help), texts.get(field.name, ""))
        aliases = tuple(other for mark in configured for other in mark.aliases or ())
        names = (name.upper(),) if POSITIONAL in marks else (f"--{name}", *aliases)
        value = "" if inner is bool else _value(inner)
        yield Option(names, value, text, default, group, RARE in marks)


def _field_texts(kind: type) -> dict[str, str]:
    """The strings under the fields of a dataclass and of its bases."""
    texts: dict[str, str] = {}
    for base in filter(is_dataclass, reversed(kind.__mro__)):
        try:
            (definition,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        except OSError:  # a program without its source
            continue
        assert isinstance(definition, ast.ClassDef)
        for field, text in pairwise(definition.body):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
                texts[ast.unparse(field.target)] = " ".join(str(text.value.value).split())
    return texts


def _unwrapped(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type without its annotations, and these."""
    return (hint.__origin__, hint.__metadata__) if get_origin(hint) is Annotated else (hint, ())


def _value(kind: Any) -> str:
    """What an option of this type takes, as help texts write it."""
    kind, _ = _unwrapped(kind)
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return "|".join(_value(part) for part in parts if part is not types.NoneType)
    if origin is Literal:
        return "|".join(map(str, parts))
    if origin is dict:
        return f"{_value(parts[0])} {_value(parts[1])} ..."
    if origin is tuple:
        return " ".join("..." if part is Ellipsis else _value(part) for part in parts)
    return VALUES.get(kind, "VALUE")
