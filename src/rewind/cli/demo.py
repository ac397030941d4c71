"""`rewind demo`: the demonstration of `rewind.demos.demo`."""

from dataclasses import dataclass

from rewind.demos.settings import DemoSettings
from rewind.errors import require


@dataclass(frozen=True)
class Demo(DemoSettings):
    """Train on a small maze in minutes: data, four ways to replay it, scores, curves and learned paths."""

    def run(self) -> None:
        for package, extra in (("jax", "train"), ("equinox", "train"), ("gymnasium", "envs"), ("matplotlib", "plot")):
            require(package, extra)
        from rewind.demos.demo import run_demo

        run_demo(self)
