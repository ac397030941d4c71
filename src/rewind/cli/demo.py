"""`rewind demo`: the demonstration of `rewind.demos.demo`."""

from dataclasses import dataclass

from rewind.demos.settings import DemoSettings
from rewind.errors import require


@dataclass(frozen=True)
class Demo(DemoSettings):
    """Train on a small maze in minutes, with four ways to replay the same data.

    Example: rewind demo --out demo
    """

    def run(self) -> None:
        for package, extra in (("jax", "train"), ("equinox", "train"), ("gymnasium", "envs"), ("matplotlib", "plot")):
            require(package, extra)
        from rewind.demos.demo import run_demo

        run_demo(self)
