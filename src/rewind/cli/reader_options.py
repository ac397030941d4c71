"""Options of `inspect`, `train` and `data convert` for kinds of files, mostly tables, and for further columns."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rewind.cli.arguments import Rare


@dataclass(frozen=True)
class ReaderOptions:
    """Which column of a table (.csv, .parquet) is what. Columns that are not named are guessed, and printed."""

    map: Path | None = None
    """For a table: the file that rewind inspect --write-map wrote. Or name columns by flags (--help-all)."""
    episode: Rare[str | None] = None
    """The column that tells episodes apart."""
    time: Rare[str | None] = None
    """The column that orders the rows of an episode."""
    observations: Rare[tuple[str, ...] | None] = None
    """Columns, or a pattern such as 'obs_*'."""
    actions: Rare[tuple[str, ...] | None] = None
    """Columns, or a pattern. One column of whole numbers: discrete actions."""
    reward: Rare[str | None] = None
    """The column of the rewards."""
    terminal: Rare[str | None] = None
    """The column that is true where an episode really ended."""
    truncated: Rare[str | None] = None
    """The column that is true where an episode was cut."""
    next_observations: Rare[tuple[str, ...] | None] = None
    """Columns, or a pattern, of the observations after the action."""
    horizon: Rare[int | None] = None
    """A done at this step counts as a time-out, not as a terminal; 0: none does. Default: the longest length, if it is
    also the most frequent, and 3 episodes have it."""
    discrete: Rare[bool | None] = None
    """Whether actions are discrete. Default: if they are one column of whole numbers."""
    extras: Rare[tuple[str, ...] | None] = None
    """Further columns to keep, such as costs. Offline evaluation uses log_prob, of the logged actions."""
    mask: Rare[str | None] = None
    """For a robomimic file: only the demos of this filter, such as train."""

    def given(self) -> dict[str, Any]:
        """Those that were given, as options of `load`."""
        return {name: value for name, value in asdict(self).items() if value is not None}
