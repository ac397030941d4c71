"""Several commands of `rewind` in one process, each with a JAX client of its own, so that they share the GPU.

    python3 lab/tools/lanes.py SPOOL      for each file SPOOL/NAME.stage, its lines are the words of a command

Small groups leave most of a GPU idle, and processes take turns on it unless NVIDIA's MPS is there. Streams of one
process do not: their kernels run side by side. JAX gives a process one compute stream per client, so each command gets
a client. What a command prints goes to SPOOL/NAME.log; SPOOL/NAME.over says that it has ended. Used by gpu_lease.sh.
"""

import io
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any, TextIO

import jax
from jax._src import xla_bridge  # the only way to a second client

from rewind.cli.main import OWN
from rewind.cli.main import main as rewind
from rewind_lab.commands import COMMANDS

LOOK = 0.5  # seconds


class ByThread(io.TextIOBase):
    """An output that is another file in each thread."""

    def __init__(self, default: TextIO) -> None:
        self._default, self._own = default, threading.local()

    def use(self, file: TextIO) -> None:
        self._own.file = file

    def write(self, text: str) -> int:
        return self._file.write(text)

    def flush(self) -> None:
        self._file.flush()

    @property
    def _file(self) -> TextIO:
        return getattr(self._own, "file", self._default)


def new_device() -> Any:
    """The first device of a new client."""
    jax.devices()  # registers the platforms
    name = "cuda" if "cuda" in xla_bridge._backend_factories and jax.devices()[0].platform == "gpu" else "cpu"
    return xla_bridge._backend_factories[name].factory().local_devices()[0]


def work(stage: Path, device: Any, output: ByThread) -> None:
    with stage.with_suffix(".log").open("w", buffering=1) as log:
        output.use(log)
        try:
            with jax.default_device(device):
                rewind(stage.read_text().splitlines(), {**OWN, **COMMANDS})
        except SystemExit as error:
            print(f"exit status {error.code}")
        except BaseException:
            traceback.print_exc()
        finally:
            stage.with_suffix(".over").touch()


def main() -> None:
    spool, output = Path(sys.argv[1]), ByThread(sys.stdout)
    sys.stdout = sys.stderr = output
    begun: set[Path] = set()
    while True:
        for stage in sorted({*spool.glob("*.stage")} - begun):
            begun.add(stage)
            threading.Thread(target=work, args=(stage, new_device(), output), daemon=True).start()
        time.sleep(LOOK)


if __name__ == "__main__":
    main()
