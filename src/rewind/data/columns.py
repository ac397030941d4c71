"""Which column of a table is what: named by the user, read from a small TOML file, or guessed from usual names."""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from rewind.errors import DataError, UsageError, unknown_name
from rewind.files import check_file, whole_file
from rewind.table import listed

# Usual names, in lower case; the first that a table has is taken.
GUESSES = {
    "episode": ("episode", "episode_id", "episode_index", "eps_id", "ep_id", "ep", "trajectory", "trajectory_id",
                "traj", "traj_id", "run", "run_id", "id"),
    "time": ("t", "time", "step", "timestep", "time_step", "frame_index", "timestamp"),
    "reward": ("reward", "rewards", "r", "next.reward"),
    "terminal": ("terminal", "terminals", "terminated", "terminateds", "terminations", "is_terminal", "done", "dones",
                 "next.done"),
    "truncated": ("truncated", "truncateds", "truncations", "timeout", "timeouts", "next.truncated"),
}  # fmt: skip
PATTERNS = {
    "next_observations": r"(next|new)_(obs|observations?|states?)([_.\[].*|\d+)?",
    "observations": r"(obs|observations?|states?)([_.\[].*|\d+)?|s_?\d+",
    "actions": r"(act|actions?)([_.\[].*|\d+)?|[au]_?\d*",
}
NOT_ACTIONS = re.compile(r"prob|logp|dist|mask")  # of an action, such as RLlib's action_logp
SEVERAL = (*PATTERNS, "extras")  # roles that take several columns
DONES = ("done", "dones", "next.done")  # names that do not tell terminals from time-outs
NEEDED = ("observations", "actions", "reward")
EXAMPLES = {
    "observations": "observations='obs_*'", "actions": "actions=['u1', 'u2']", "reward": "reward='r'",
    "episode": "episode='id'",
}  # fmt: skip


@dataclass(frozen=True)
class ColumnMap:
    """Which column is what. None, or no columns, means: guess; an empty text means: there is none.

    episode: what the rows of one episode have in common
    time: orders the rows of an episode
    observations, actions, next_observations: names, or a pattern such as "obs_*"; a column may hold lists
    reward, terminal, truncated: terminal is True where an episode really ended, truncated where it was cut
    horizon: a `terminal` at this step of an episode is a time-out; 0: none is
    discrete: whether actions are whole numbers; default: if there is one column of whole numbers
    extras: names, or a pattern, of further columns of numbers to keep, as float32; an empty cell is NaN
    """

    episode: str | None = None
    time: str | None = None
    observations: tuple[str, ...] | None = None
    actions: tuple[str, ...] | None = None
    reward: str | None = None
    terminal: str | None = None
    truncated: str | None = None
    next_observations: tuple[str, ...] | None = None
    horizon: int | None = None
    discrete: bool | None = None
    extras: tuple[str, ...] | None = None

    def used(self) -> list[str]:
        """The names of all columns, each once."""
        single = [getattr(self, role) or "" for role in GUESSES]
        several = [name for role in SEVERAL for name in getattr(self, role) or ()]
        return list(dict.fromkeys(filter(None, single + several)))

    def record(self) -> dict[str, Any]:
        """The columns that there are, as plain values."""
        values = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return {name: value for name, value in values.items() if value is not None and value not in ("", [])}


OPTIONS = ("map", *(field.name for field in fields(ColumnMap)))


def as_names(value: Any, role: str) -> tuple[str, ...]:
    """One name or pattern, or several, as a tuple; an empty text means none."""
    if not isinstance(value, Iterable) or isinstance(value, (Mapping, bytes)):
        raise UsageError(f"{role}={value!r}; expected a name, or several as a list")
    return tuple(filter(None, (value,) if isinstance(value, str) else map(str, value)))


def column_map(map: Any = None, **given: Any) -> ColumnMap:
    """From a mapping file and from names, which win over the file's. map: its path, or a dict"""
    content = {} if map is None else dict(map) if isinstance(map, Mapping) else read_map(Path(map))
    content |= {name: value for name, value in given.items() if value is not None}
    roles = [field.name for field in fields(ColumnMap)]
    for name, value in content.items():
        if name not in roles:
            raise unknown_name("column of a table", name, roles)
        if name in SEVERAL:
            content[name] = as_names(value, name)
        elif name not in ("horizon", "discrete") and not isinstance(value, str):
            raise UsageError(f"{name}={value!r}; expected the name of one column")
    horizon, discrete = content.get("horizon"), content.get("discrete")
    if horizon is not None and (isinstance(horizon, bool) or not isinstance(horizon, int) or horizon < 0):
        raise UsageError(f"horizon={horizon!r}; expected the number of steps of a time limit, or 0 for none")
    if discrete is not None and not isinstance(discrete, bool):
        raise UsageError(f"discrete={discrete!r}; expected True or False")
    return ColumnMap(**content)


def read_map(path: Path) -> dict[str, Any]:
    """The content of a mapping file."""
    check_file(path)
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"{path} is not valid TOML: {error}; rewind inspect --write-map writes one") from error


def write_map(record: Mapping[str, Any], path: Path) -> None:
    """Write a mapping file. record: of a `ColumnMap`"""
    lines = ["# Which column of the table is what; empty: there is none. rewind train --map takes this file."]
    empty: dict[str, Any] = dict.fromkeys(GUESSES, "") | {role: [] for role in SEVERAL}
    # TOML writes texts, lists, whole numbers and booleans as JSON does, but wants one more character escaped.
    values = {name: json.dumps(value, ensure_ascii=False) for name, value in {**empty, **record}.items()}
    lines += [f"{name} = {value}".replace("\x7f", r"\u007f") for name, value in values.items()]
    with whole_file(path) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def resolve(wanted: ColumnMap, names: Sequence[str]) -> tuple[ColumnMap, dict[str, Any]]:
    """The map with patterns replaced by the names of a table and gaps filled by guesses, and the guesses alone."""
    repeated = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
    result = wanted
    for role in SEVERAL:
        if (patterns := getattr(wanted, role)) is not None:
            matching = [name for pattern in patterns for name in _matching(role, pattern, names)]
            result = _with(result, role, tuple(dict.fromkeys(matching)))
    guesses = {}
    for role in (*GUESSES, *PATTERNS):
        if getattr(result, role) is None and (guess := _guess(role, names, result)):
            guesses[role] = guess
            result = _with(result, role, guess)
    if lacks := [*_absent(wanted, names), *_unnamed(wanted, result)]:
        shown = [repr(name) if name != name.strip() else name for name in names]
        raise DataError(f"{'; '.join(lacks)}; the table has: {listed(shown, 40) or 'none'}")
    if wrong := repeated & set(result.used()):
        raise DataError(f"several columns are named {', '.join(sorted(wrong))}: give each its own name")
    if result.terminal and result.terminal == result.truncated:
        raise UsageError(f"{result.terminal} cannot be terminal and truncated at once: name it as one of them")
    if both := set(result.extras or ()) & {result.episode, result.terminal, result.truncated}:
        raise UsageError(f"{', '.join(map(str, both))} cannot be an extra and an episode or flag at once: leave it out")
    if both := set(result.observations or ()) & {*(result.actions or ()), result.reward or ""}:
        raise UsageError(f"{', '.join(sorted(both))} cannot be an observation and an action or reward at once")
    return result, guesses


def _with(columns: ColumnMap, role: str, value: Any) -> ColumnMap:
    return replace(columns, **{role: value})


def _matching(role: str, pattern: str, names: Sequence[str]) -> list[str]:
    if pattern in names:
        return [pattern]
    return [name for name in names if fnmatchcase(name, pattern)] if role in SEVERAL else []


def _absent(wanted: ColumnMap, names: Sequence[str]) -> list[str]:
    """Columns that were named and are not in the table."""
    given = {role: getattr(wanted, role) for role in (*GUESSES, *SEVERAL)}
    return [
        f"no column {pattern!r}, named as {role}"
        for role, value in given.items()
        for pattern in as_names(value or (), role)
        if not _matching(role, pattern, names)
    ]


def _unnamed(wanted: ColumnMap, resolved: ColumnMap) -> list[str]:
    """What a table needs and nobody named or guessed, in one question."""
    missing = [role for role in NEEDED if not getattr(resolved, role) and not getattr(wanted, role)]
    ends = resolved.episode or resolved.time or resolved.truncated or resolved.next_observations
    endless = not ends and (resolved.terminal or "").lower() not in DONES
    if missing:
        asked = [*missing, "episode"] if endless else missing
        examples = ", ".join(EXAMPLES[role] for role in asked)
        flags = " ".join(f"--{role}" for role in asked)
        instead = "; instead of the episode, a time, done or truncated column also tells episodes apart" * endless
        listed = " and ".join(filter(None, (", ".join(asked[:-1]), asked[-1])))
        which, name = ("column is", "it") if asked == ["reward"] else ("columns are", "them")
        return [f"which {which} the {listed}? Name {name}, such as {examples} (in a command: {flags}){instead}"]
    if endless:
        return [
            "the table has no episode column, so the ends of its trajectories are unknown: name one "
            "(episode=..., --episode), or a time, done or truncated column"
        ]
    return []


def _guess(role: str, names: Iterable[str], columns: ColumnMap) -> Any:
    kept = columns.extras or () if role in GUESSES else ()  # a time or reward that is also kept stays one
    used = [name for name in columns.used() if name not in kept]
    free = {name.strip().lower(): name for name in names if name not in used}
    if role in GUESSES:
        return next((free[name] for name in GUESSES[role] if name in free), None)
    matching = [name for low, name in free.items() if re.fullmatch(PATTERNS[role], low)]
    if role == "actions":
        matching = [name for name in matching if not NOT_ACTIONS.search(name.lower())]
    exact = [name for name in matching if not re.search(r"[_.\[\d]", name.removeprefix("next_").removeprefix("new_"))]
    return tuple(exact[:1] or matching)
