"""The house: imports, its drawing, and the walk of a transition."""

import ast
import re
from collections import Counter
from importlib import import_module

import pytest

pytest.importorskip("grimp")

from rewind_lab.house.commands import HouseDraw
from rewind_lab.house.rooms import PACKAGES, checkout, imports, module_of, room_of, rooms
from rewind_lab.house.walk import walk

MOST_FILES = 16
OURS = re.compile(r"rewind(_lab)?(\.\w+)+(:\w+)?")
# Where a module is imported by a name that is not written there: a library, or an entry of a registry.
IMPORTS_BY_NAME = {"rewind.errors", "rewind.targets", "rewind.registry"}


def trees():
    for folder in PACKAGES.values():
        for path in folder.rglob("*.py"):
            yield module_of(path), ast.parse(path.read_text(encoding="utf-8"))


def test_the_page_shows_the_house_as_it_is():
    HouseDraw(check=True).run()


def test_files_that_the_architecture_page_names_exist():
    page = (checkout() / "docs/architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+\.(?:py|toml|md))`", page)
    assert len(named) > 15
    folders = (checkout(), *PACKAGES.values(), PACKAGES["rewind"] / "agents")
    assert [name for name in named if not any((folder / name).exists() for folder in folders)] == []


def test_what_the_migration_page_names_is_there():
    page = (checkout() / "docs/migration.md").read_text(encoding="utf-8")
    imports_table = page.partition("## Imports")[2].partition("## ")[0]
    rows = [line.split("|")[2] for line in imports_table.splitlines() if "`" in line]
    named = [text for row in rows for text in re.findall("`([^`]+)`", row)]
    assert len(named) > 20
    for text in named:
        if text.startswith("from "):
            module, _, names = text.removeprefix("from ").partition(" import ")
            assert all(hasattr(import_module(module), name) for name in names.split(", ")), text
        else:
            import_module(text)


def test_imports_inside_functions_count():
    assert imports()[rooms()["rewind.cli"], rooms()["rewind.integrations"]]


def called(node):
    function = node.func if isinstance(node, ast.Call) else None
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)


def names_of_ours(node):
    """Strings that name a module of ours, except what a registry is made from: it imports them when they are used."""
    if called(node) == "Registry":
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and OURS.fullmatch(node.value):
        yield node.value
    for child in ast.iter_child_nodes(node):
        yield from names_of_ours(child)


def test_modules_of_other_rooms_are_named_in_registries_alone():
    named = [(module, text) for module, tree in trees() for text in names_of_ours(tree)]
    assert "rewind.evaluation.player" in [text for _, text in named]  # a program that evaluates
    for module, text in named:
        room, other = room_of(module), room_of(text.partition(":")[0])
        assert other in (room, None) or other.package < room.package  # the lab may name what is in the library


def test_modules_are_imported_by_name_in_registries_alone():
    dynamic = {
        module
        for module, tree in trees()
        for node in ast.walk(tree)
        if called(node) in ("import_module", "__import__", "run_module")
        and not (node.args and isinstance(node.args[0], ast.Constant))
    }
    assert dynamic <= IMPORTS_BY_NAME


def test_a_transition_passes_few_files_in_the_order_of_the_floors():
    for package in ("jax", "equinox", "optax", "h5py", "tyro"):
        pytest.importorskip(package)
    steps = walk([])
    assert len(steps) <= MOST_FILES
    entered = list(dict.fromkeys(step.module.split(".")[1] for step in steps))
    # Rows go from data through the memory to the agents; whoever hands them on does so from the top down.
    assert [room for room in entered if room in ("data", "memory", "agents")] == ["data", "memory", "agents"]
    assert "cli" not in entered  # commands name data and pass it on, and touch no rows


def test_no_two_classes_have_one_name():
    names = Counter(node.name for _, tree in trees() for node in tree.body if isinstance(node, ast.ClassDef))
    assert [name for name, count in names.items() if count > 1] == []
