"""Environments to evaluate policies in. Importing this package registers Rewind's environments with Gymnasium."""

import ctypes.util
import os
import sys
from importlib.util import find_spec

from rewind.envs.make import make, register

# Without a screen, MuJoCo must draw with EGL. It decides when it is first imported, so this must come before.
_screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
if sys.platform == "linux" and not _screen and ctypes.util.find_library("EGL"):
    os.environ.setdefault("MUJOCO_GL", "egl")
if find_spec("gymnasium"):
    register()

__all__ = ["make"]
