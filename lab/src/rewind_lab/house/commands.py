"""`rewind house`: the house as text, floors with their rooms, who imports whom; its walk; its lines."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rewind.errors import RewindError, UsageError
from rewind.table import table
from rewind_lab.house.rooms import BESIDE, Room, checkout, imports, repeated_classes, rooms
from rewind_lab.house.walk import walk

PAGE = "docs/architecture.md"
BEGIN, END = "<!-- house -->", "<!-- end of house -->"
MARKED = re.compile(f"{BEGIN}.*?{END}", re.DOTALL)
WIDTH = 52  # of a floor, in characters


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


def house_text() -> str:
    """The drawing and the table, in Markdown."""
    ours = list(rooms().values())
    lab, library = ([room for room in ours if room.package == name] for name in ("rewind_lab", "rewind"))
    beside = [room for room in library if room.name == BESIDE]
    inside = [room for room in library if room.name != BESIDE]
    drawing = [
        "lab/src/rewind_lab",
        *_floors([room for room in lab if _short(room) != "__main__"]),
        "src/rewind",
        *_floors(inside, beside),
    ]
    return "\n".join(["```text", *drawing, "```", "", *_table(lab + library)])


def insert_house(page: str) -> str:
    """The page with the house, as it is now, between its marks."""
    if not MARKED.search(page):
        raise UsageError(f"no place for the house: expected {BEGIN} and {END}")
    return MARKED.sub(lambda _: f"{BEGIN}\n\n{house_text()}\n\n{END}", page)


def _short(room: Room) -> str:
    return room.name.split(".")[1]


def _floors(inside: Sequence[Room], beside: Sequence[Room] = ()) -> list[str]:
    lines = []
    for floor in sorted({room.floor for room in inside}, reverse=True):
        names = [_short(room) for room in inside if room.floor == floor]
        lines.append("            +" + "-" * WIDTH + "+")
        label = f"floor {floor}" if floor else "the ground"
        for row in _wrapped(names):
            cells = f"{label:12}|{' ' + row:{WIDTH}}|"
            aside = "".join(f"  {_short(room)}, beside the house" for room in beside if room.floor == floor)
            lines.append(f"{cells}{aside}")
            label, beside = "", [room for room in beside if room.floor != floor]
    return [*lines, "            +" + "-" * WIDTH + "+"]


def _wrapped(names: Iterable[str]) -> list[str]:
    rows = [""]
    for name in names:
        longer = f"{rows[-1]} | {name}" if rows[-1] else name
        if len(longer) > WIDTH - 2:
            rows.append(name)
        else:
            rows[-1] = longer
    return rows


def _table(ours: Sequence[Room]) -> list[str]:
    lines = ["| floor | room | what it is for | imports |", "|---|---|---|---|"]
    for room in ours:
        if room.floor == 0 or _short(room) == "__main__":
            continue
        used = [other for other in ours if (room, other) in imports() and other.floor]
        names = [_short(other) if other.package == room.package else other.name for other in used]
        floor = "beside" if room.name == BESIDE else room.floor
        lines.append(f"| {floor} | `{room.name}` | {room.purpose} | {', '.join(names) or 'the ground'} |")
    ground = ", ".join(f"`{_short(room)}`" for room in ours if room.floor == 0)
    return [*lines, f"| 0 | the ground | {ground} | |"]
