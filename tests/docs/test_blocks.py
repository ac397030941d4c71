"""Every block of Python and shell in README and docs runs."""

import importlib.util
import os
import re
import shutil
import stat
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import pytest

from rewind.data.load import READERS
from rewind.memory import PRIORITIES
from tests.docs.blocks import ROOT, blocks_of, pages, prepared, write_logs, write_policy

PAGES = {str(page.relative_to(ROOT)): blocks_of(page) for page in pages()}
SHIMS = {
    # An extra that is not in pyproject.toml is a mistake; what it installs is tested where the wheels are.
    "pip": "import sys; from tests.docs.test_blocks import check_extras; check_extras(sys.argv[1:])",
    "rewind": "import runpy; runpy.run_module('rewind_lab', run_name='__main__', alter_sys=True)",
}


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """The folder of a training, as other pages make it."""
    folder = tmp_path_factory.mktemp("docs")
    write_logs(folder)
    command = "rewind train --dataset log.npz --env none --steps 20 --hidden 8 8 --batch-size 16 --out runs/mine"
    shell(command, folder)
    return folder / "runs"


@pytest.fixture
def folder(tmp_path):
    write_logs(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def check_extras(arguments):
    """`pip install` of a block: the extras that it names exist."""
    for argument in arguments:
        name, _, extras = argument.rstrip("]").partition("[")
        known = ROOT / {"rewind-lab": "lab/pyproject.toml"}.get(name, "pyproject.toml")
        optional = tomllib.loads(known.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
        assert set(filter(None, extras.split(","))) <= set(optional), argument


def shell(source, folder):
    """Run a block: `rewind` and `python` are those of the tests, `make` says what it would do."""
    bin_folder = folder / "bin"
    bin_folder.mkdir(exist_ok=True)
    for name, code in SHIMS.items():
        write_program(bin_folder / name, f"#!{sys.executable}\n{code}\n")
    write_program(bin_folder / "python", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    write_program(bin_folder / "make", f'#!/bin/sh\nexec /usr/bin/make -n -C {ROOT} "$@"\n')
    paths = [ROOT / "src", ROOT / "lab/src", ROOT, *filter(None, os.environ.get("PYTHONPATH", "").split(":"))]
    environment = os.environ | {
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "PYTHONPATH": ":".join(map(str, paths)),
        "REWIND_DATA": str(folder / "data"),
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", source], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{source}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def write_program(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def run_blocks(blocks, folder, monkeypatch):
    monkeypatch.chdir(folder)
    for registry in (PRIORITIES, READERS):  # what a block registers ends with it
        monkeypatch.setattr(registry, "_things", dict(registry._things))
    namespace = prepared()
    for block in blocks:
        if not block.run or any(importlib.util.find_spec(package) is None for package in block.needs):
            continue
        if block.language == "sh":
            shell(block.short, folder)
            continue
        code = "\n" * (block.line - 1) + block.short  # so that an error names the line of the page
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(code, block.page, "exec", dont_inherit=True), namespace)


@pytest.mark.parametrize("page", [name for name, blocks in PAGES.items() if any(not block.long for block in blocks)])
def test_the_short_blocks_of_a_page_run(page, folder, monkeypatch):
    write_policy(folder / "runs/mine/policies/000")
    run_blocks([block for block in PAGES[page] if not block.long], folder, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("page", [name for name, blocks in PAGES.items() if any(block.long for block in blocks)])
def test_all_blocks_of_a_page_run(page, folder, trained, monkeypatch):
    if not any(re.search('out[ =]"?runs/mine', block.source) for block in PAGES[page]):
        shutil.copytree(trained, folder / "runs")
    run_blocks(PAGES[page], folder, monkeypatch)


def test_a_block_that_is_not_run_says_why():
    marks = {block.mark for blocks in PAGES.values() for block in blocks if block.mark}
    for mark in marks:
        words = mark.replace(",", " ").split()
        assert mark.startswith("not run: ") or set(words) <= {"long", "needs", "torch", "torchrl", "d3rlpy"}, mark


def test_most_blocks_are_run():
    blocks = [block for page in PAGES.values() for block in page]
    assert len(blocks) > 50
    assert sum(block.run for block in blocks) > 0.8 * len(blocks)
