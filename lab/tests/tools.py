"""The programs of lab/tools, which are no modules of a package."""

import importlib.util
from pathlib import Path


def load_tool(name):
    """A program of lab/tools as a module."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[1] / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
