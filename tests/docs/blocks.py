"""The Python and shell blocks of README and docs, and what they need to run.

A comment before a block says how it is tested:

    <!-- long -->                  with `make test-long`
    <!-- needs torch -->           where this library is installed
    <!-- not run: the reason -->   not at all

The blocks of a page run in order, in one folder that has log.csv, log.npz and log.hdf5 and a trained policy, and
those of Python in one namespace that has the names of `prepared`. Numbers of updates are cut down to `MOST_STEPS`.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import numpy as np

from rewind import Policy
from rewind.guard import support_of

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
MADE = ("docs/notebooks/", "docs/changelog.md", "docs/contributing.md")  # by lab/tools/site_pages.py
BLOCK = re.compile(r"(?:^ *<!-- ([^>]*?) -->\n)?^( *)```(python|sh)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
MOST_STEPS = 20


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    language: str
    source: str
    mark: str

    @property
    def long(self) -> bool:
        return "long" in self.mark.split(":")[0].replace(",", " ").split()

    @property
    def needs(self) -> list[str]:
        return re.findall(r"needs (\w+)", self.mark)

    @property
    def run(self) -> bool:
        return not self.mark.startswith("not run")

    @property
    def short(self) -> str:
        """With few updates."""
        few = re.sub(r"(--steps |[^_]steps=)([\d_]+)", lambda m: m[1] + str(min(int(m[2]), MOST_STEPS)), self.source)
        few = re.sub(r"--hold-out [\d.]+", rf"\g<0> --fit-steps {MOST_STEPS}", few)
        few = re.sub(r"--offline(?!.*--steps)", f"--offline --steps {MOST_STEPS}", few)
        return re.sub(r"(--episodes )\d+", r"\g<1>1", few)


def pages() -> list[Path]:
    return [page for page in PAGES if not str(page.relative_to(ROOT)).startswith(MADE)]


def blocks_of(page: Path) -> list[Block]:
    text, name = page.read_text(encoding="utf-8"), str(page.relative_to(ROOT))
    return [
        Block(name, text.count("\n", 0, match.start(4)) + 1, match[3], dedent(match[4]), match[1] or "")
        for match in BLOCK.finditer(text)
    ]


def log(rows: int = 600, length: int = 30) -> dict[str, np.ndarray]:
    """Steps of a plant in columns as D4RL names them: 20 episodes, every fifth of which fails."""
    rng = np.random.default_rng(0)
    last = np.arange(1, rows + 1) % length == 0
    failed = last & (np.arange(rows) // length % 5 == 0)
    states = rng.normal(size=(rows + 1, 3)).astype(np.float32)
    return {
        "observations": states[:-1],
        "actions": rng.uniform(-1, 1, size=(rows, 2)).astype(np.float32),
        "rewards": rng.uniform(size=rows).astype(np.float32) - 5 * failed,
        "next_observations": states[1:],
        "terminals": failed,
        "timeouts": last & ~failed,
    }


def prepared() -> dict[str, object]:
    """What readers of a block have."""

    class Agent:
        def update(self, *batch: object) -> None:
            pass

    dataset = log()
    episodes = [
        {
            "observations": np.zeros((6, 3)),
            "actions": np.zeros((5, 2)),
            "rewards": np.ones(5),
            "terminated": True,
        }
    ] * 300
    return {
        "dataset": dataset,
        "episodes": episodes,
        "observation": np.zeros(3, np.float32),
        "q_next": np.zeros(256, np.float32),
        "q_values": np.zeros((2, 256), np.float32),
        "device": "cpu",
        "steps": 2,
        "agent": Agent(),
    }


def write_logs(folder: Path) -> None:
    """log.csv, log.npz, and log.hdf5 where h5py is installed."""
    data = log()
    np.savez(folder / "log.npz", **data)
    columns = {"episode": np.arange(600) // 30, "failed": data["terminals"], "reward": data["rewards"]}
    columns |= dict(zip(("level", "inflow", "demand"), data["observations"].T, strict=True))
    columns |= dict(zip(("pump", "valve"), data["actions"].T, strict=True))
    table = np.stack([column.astype(float) for column in columns.values()], axis=1)
    np.savetxt(folder / "log.csv", table, "%g", delimiter=",", header=",".join(columns), comments="")
    try:
        import h5py
    except ImportError:
        return
    with h5py.File(folder / "log.hdf5", "w") as file:
        for name, column in data.items():
            file[name] = column


def write_policy(folder: Path) -> None:
    """A policy of three observations and two actions."""
    folder.mkdir(parents=True)
    layers, data = ([np.zeros((3, 2))], [np.zeros(2)]), log()
    support = support_of(data["observations"], data["actions"])
    Policy(*layers, mean=np.zeros(3), scale=np.ones(3), support=support).save(folder)
