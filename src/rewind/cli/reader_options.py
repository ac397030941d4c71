"""The options of `rewind inspect` and `rewind train` for single kinds of files, mostly for tables."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class ReaderOptions:
    """Which column of a table (.csv, .parquet) is what. Columns that are not named are guessed, and printed."""

    map: Path | None = None
    """A file that names them: rewind inspect LOG --write-map FILE writes one."""
    episode: str | None = None
    """The column that tells episodes apart."""
    time: str | None = None
    """The column that orders the rows of an episode."""
    observations: tuple[str, ...] | None = None
    """Columns, or a pattern such as 'obs_*'."""
    actions: tuple[str, ...] | None = None
    """Columns, or a pattern. One column of whole numbers: discrete actions."""
    reward: str | None = None
    """The column of the rewards."""
    terminal: str | None = None
    """The column that is true where an episode really ended."""
    truncated: str | None = None
    """The column that is true where an episode was cut."""
    next_observations: tuple[str, ...] | None = None
    """Columns, or a pattern, of the observations after the action."""
    horizon: int | None = None
    """A done at this step is a time-out; 0: none is. Default: if the longest episodes are also the most frequent."""
    discrete: bool | None = None
    """Whether actions are discrete. Default: if they are one column of whole numbers."""
    mask: str | None = None
    """For a robomimic file: only the demos of this filter, such as train."""

    def given(self) -> dict[str, Any]:
        """Those that were given, as options of `load`."""
        return {name: value for name, value in asdict(self).items() if value is not None}
