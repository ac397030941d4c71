"""`rewind data cards`: a page for each rebuilt data set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rewind.cli.arguments import Positional


@dataclass
class DataCards:
    """Write a page for each rebuilt data set, beside D4RL's published figures; builds what is not there."""

    names: Positional[tuple[str, ...]] = ()
    """The data sets, for example rewind/hopper-medium-v0; default: all."""
    out: Path = Path("docs/data_cards")
    """Folder for the pages, their pictures and cards.json."""

    def run(self) -> None:
        from rewind.report.cards import write_cards  # brings Numba

        for path in write_cards(self.names, self.out):
            print(f"wrote {path}")
