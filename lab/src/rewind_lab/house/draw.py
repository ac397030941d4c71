"""The house as text: floors with their rooms, and a table of who imports whom."""

import re
from collections.abc import Iterable, Sequence

from rewind.errors import UsageError
from rewind_lab.house.rooms import BESIDE, Room, imports, rooms

BEGIN, END = "<!-- house -->", "<!-- end of house -->"
MARKED = re.compile(f"{BEGIN}.*?{END}", re.DOTALL)
WIDTH = 52  # of a floor, in characters


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
