"""Rooms, floors and imports: floors from the import contracts, imports from the code, also from inside functions."""

import ast
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import rewind
import rewind_lab
from rewind.errors import UsageError, require

PACKAGES = {"rewind": Path(rewind.__file__).parent, "rewind_lab": Path(rewind_lab.__file__).parent}
BESIDE = "rewind.integrations"  # on floor 3 for the contracts, used by the command line alone


@dataclass(frozen=True)
class Room:
    """A package, or a module that stands alone, such as `rewind.targets`."""

    name: str
    floor: int  # 0: the ground

    @property
    def package(self) -> str:
        return self.name.split(".")[0]

    @property
    def files(self) -> list[Path]:
        path = PACKAGES[self.package].joinpath(*self.name.split(".")[1:])
        return sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]

    @property
    def lines(self) -> int:
        return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in self.files)

    @property
    def purpose(self) -> str:
        """The first line of its docstring."""
        path = next((path for path in self.files if path.name == "__init__.py"), self.files[0])
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        return docstring.partition("\n")[0]


def checkout() -> Path:
    """The folder that holds pyproject.toml, docs and both packages."""
    folder = PACKAGES["rewind"].parents[1]
    if not (folder / "pyproject.toml").exists():
        raise UsageError(f"{folder} is not a checkout of Rewind: pyproject.toml is missing")
    return folder


@cache
def rooms() -> dict[str, Room]:
    """All rooms by name, from the top floor to the ground."""
    settings = tomllib.loads((checkout() / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    named: dict[str, Room] = {}
    for contract in settings["contracts"]:
        if contract["type"] == "layers":
            named = _floors(contract["containers"][0], contract["layers"]) | named
    return named


def _floors(package: str, layers: list[str]) -> dict[str, Room]:
    """A layer of modules alone makes no floor of its own: it counts to the floor below."""
    named: dict[str, Room] = {}
    floor = 0
    for layer in reversed(layers):
        names = [name.strip(" ()") for name in layer.split("|")]
        floor += any((PACKAGES[package] / name).is_dir() for name in names)
        found = [Room(f"{package}.{name}", floor) for name in names]
        # A contract may name a module that is optional.
        named = {room.name: room for room in found if all(path.exists() for path in room.files)} | named
    return named


def room_of(module: str) -> Room | None:
    """The room of a module, by its dotted name; None for the packages themselves."""
    return rooms().get(".".join(module.split(".")[:2]))


def module_of(path: str | Path) -> str | None:
    """The dotted name of one of our files; None for other files."""
    for package, folder in PACKAGES.items():
        if Path(path).is_relative_to(folder):
            parts = Path(path).relative_to(folder).with_suffix("").parts
            return ".".join((package, *parts)).removesuffix(".__init__")
    return None


@cache
def imports() -> Counter[tuple[Room, Room]]:
    """How many imports lead from one room to another."""
    graph: Any = require("grimp", "dev").build_graph(*PACKAGES, cache_dir=None)
    counts: Counter[tuple[Room, Room]] = Counter()
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            one, other = room_of(importer), room_of(imported)
            if one and other and one != other:
                counts[one, other] += 1
    return counts


def repeated_classes() -> dict[str, list[str]]:
    """Names that more than one class has, and the modules of those classes."""
    homes: dict[str, list[str]] = {}
    for folder in PACKAGES.values():
        for path in sorted(folder.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    homes.setdefault(node.name, []).append(str(module_of(path)))
    return {name: modules for name, modules in homes.items() if len(modules) > 1}
