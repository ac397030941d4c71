"""How long `import rewind` takes, in units of `import numpy`: python lab/tools/import_time.py

The best of several new processes each, less the time of an empty one. Run it by the Python of an environment in which
only the wheel is installed; Numba, where it is installed, is imported too (REWIND_NUMBA=0 leaves it out).
"""

import subprocess
import sys
import time

TIMES = 15


def seconds(program: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    return time.perf_counter() - start


def main() -> None:
    programs = ("pass", "import numpy", "import rewind")
    rounds = [[seconds(program) for program in programs] for _ in range(TIMES)]
    empty, numpy, rewind = (min(column) for column in zip(*rounds, strict=True))
    print(f"import numpy {1000 * (numpy - empty):.0f} ms, import rewind {1000 * (rewind - empty):.0f} ms: ", end="")
    print(f"{(rewind - empty) / (numpy - empty):.2f} times")


if __name__ == "__main__":
    main()
