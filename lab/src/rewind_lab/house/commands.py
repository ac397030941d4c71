"""`rewind house`: what its commands take and print."""

from dataclasses import dataclass

from rewind.errors import RewindError
from rewind.table import table
from rewind_lab.house.draw import house_text, insert_house
from rewind_lab.house.rooms import checkout, imports, repeated_classes, rooms
from rewind_lab.house.walk import walk

PAGE = "docs/architecture.md"


@dataclass
class HouseDraw:
    """Draw the rooms by floor, with their imports, in docs/architecture.md.

    Example: rewind house draw --check
    """

    check: bool = False
    """Change nothing; fail if the page differs from the code."""

    def run(self) -> None:
        path = checkout() / PAGE
        page = path.read_text(encoding="utf-8")
        new = insert_house(page)
        if self.check:
            if new != page:
                raise RewindError(f"{PAGE} differs from the code: run `rewind house draw`")
            return
        path.write_text(new, encoding="utf-8")
        print(f"{house_text()}\n\nwrote {path}")


@dataclass
class HouseWalk:
    """Follow a transition through a small training: list the files that receive row data, up to the update.

    Example: rewind house walk --algorithm iql
    """

    algorithm: str = "td3_bc"
    """The agent to train."""
    sampler: str = "tr"
    """The sampler of its memory."""
    beta: float = 0.5
    """Weight of the weighted target."""

    def run(self) -> None:
        steps = walk(["--algorithm", self.algorithm, "--samplers", self.sampler, "--betas", str(self.beta)])
        print(table([{"": at, "floor": step.floor, **step._asdict()} for at, step in enumerate(steps, 1)]))
        entered = dict.fromkeys(step.module.split(".")[1] for step in steps)
        print(f"\n{len(steps)} files; rooms in order of first entry: {', '.join(entered)}")


@dataclass
class HouseLines:
    """Count lines and imports by room, and list class names that occur twice.

    Example: rewind house lines
    """

    def run(self) -> None:
        ours = list(rooms().values())
        rows = []
        for room in ours:
            used = sum(count for (_, imported), count in imports().items() if imported == room)
            rows.append({"floor": room.floor, "room": room.name, "files": len(room.files), "lines": room.lines,
                         "imported": used})  # fmt: skip
        print(table(rows))
        for package, what in (("rewind", "the library"), ("rewind_lab", "the lab")):
            print(f"{what}: {sum(room.lines for room in ours if room.package == package):,} lines")
        for name, modules in repeated_classes().items():
            print(f"class {name} occurs in {', '.join(modules)}")
