"""`rewind data` with the lab: also `rewind data cards`."""

from dataclasses import dataclass
from pathlib import Path

from rewind.cli.arguments import Positional, command
from rewind.cli.data import COMMANDS, HELP
from rewind.errors import DataError


@dataclass
class DataCards:
    """Write a page for each rebuilt data set, beside D4RL's published figures. Builds missing data sets.

    With --check: print how like D4RL's the -v1 sets are, and fail if a figure is outside its limits. Builds nothing.

    Example: rewind data cards --check
    """

    names: Positional[tuple[str, ...]] = ()
    """The data sets, for example rewind/hopper-medium-v0. Default: all."""
    out: Path = Path("docs/data_cards")
    """Folder for the pages, their pictures and cards.json."""
    check: bool = False
    """Write nothing: check the -v1 sets."""
    pages_only: bool = False
    """Write the pages again from the figures in the folder; no data is read or built."""

    def run(self) -> None:
        from rewind_lab.cards.cards import check_cards, write_cards  # imports Numba

        if self.check:
            if failed := check_cards(self.names, self.out):
                raise DataError(f"{failed} figures of -v1 data sets are outside their limits or not measured")
            print("all figures of the -v1 data sets are within their limits, or no ending matches them")
            return
        for path in write_cards(self.names, self.out, not self.pages_only):
            print(f"wrote {path}")


Data = command("Data", HELP, *COMMANDS, DataCards)
