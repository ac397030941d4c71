"""Drawing without a screen."""

from __future__ import annotations

import ctypes.util
import os
import sys


def choose_renderer() -> None:
    """Where there is no screen, let MuJoCo draw with EGL. It decides when it is imported, so this comes before."""
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if sys.platform == "linux" and not screen and ctypes.util.find_library("EGL"):
        os.environ.setdefault("MUJOCO_GL", "egl")
