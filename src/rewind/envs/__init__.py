"""Where policies are tried. Importing it makes Rewind's environments known to Gymnasium, where that is installed."""

from importlib.util import find_spec

from rewind.envs.display import choose_renderer
from rewind.envs.make import make

choose_renderer()
if find_spec("gymnasium"):
    from rewind.envs.register import register

    register()

__all__ = ["make"]
