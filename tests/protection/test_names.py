"""Every public name, and every import that the docs show, works."""

import re
from textwrap import dedent

import pytest

import rewind
from tests.protection.facts import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^ *```python\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
IMPORT = re.compile(r"^\s*(from rewind\S* import (?:\([^)]*\)|[^\n#]+)|import rewind[^\n#]*)", re.MULTILINE)
ATTRIBUTE = re.compile(r"(?<![\w./])rewind\.(\w+)\(")


def shown(pattern):
    """(page, what the pattern finds) in the blocks of Python of all pages."""
    blocks = [(page.name, dedent(block)) for page in PAGES for block in BLOCK.findall(page.read_text(encoding="utf-8"))]
    return sorted({(page, found.strip()) for page, block in blocks for found in pattern.findall(block)})


def test_the_docs_show_imports():
    assert len(shown(IMPORT)) > 10


@pytest.mark.parametrize("name", rewind.__all__)
def test_every_public_name_exists(name):
    assert getattr(rewind, name) is not None


OLD_NAMES = (
    "Batch", "DataError", "MissingExtra", "Plan", "Policy", "PrioritizedReplay", "RewindError", "Trajectories",
    "TrajectoryReplay", "UniformReplay", "UsageError", "WeightedTarget", "load", "load_policy", "target_bounds",
    "weighted_target",
)  # fmt: skip


def test_no_public_name_has_gone():
    assert set(OLD_NAMES) <= set(rewind.__all__)


@pytest.mark.parametrize(("page", "statement"), shown(IMPORT))
def test_every_import_of_the_docs_works(page, statement):
    try:
        exec(statement, {})
    except rewind.MissingExtra as error:
        pytest.skip(str(error))
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] in ("rewind", "rewind_lab"):
            raise
        pytest.skip(str(error))


@pytest.mark.parametrize(("page", "name"), shown(ATTRIBUTE))
def test_every_function_of_rewind_in_the_docs_exists(page, name):
    assert hasattr(rewind, name)
