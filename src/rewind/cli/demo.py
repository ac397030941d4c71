"""`rewind demo`: its settings, and what it does, are in the room `demos`."""

from __future__ import annotations

from dataclasses import dataclass

from rewind.demos.settings import DemoSettings
from rewind.errors import require


@dataclass(frozen=True)
class Demo(DemoSettings):
    """The main job in minutes: data made on the spot, four ways to replay it, scores, curves and learned paths."""

    def run(self) -> None:
        for package, extra in (("jax", "train"), ("equinox", "train"), ("gymnasium", "envs"), ("matplotlib", "plot")):
            require(package, extra)
        from rewind.demos.demo import run_demo

        run_demo(self)
