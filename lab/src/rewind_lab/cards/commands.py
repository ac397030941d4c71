"""`rewind data` with the lab: also `rewind data cards`."""

from dataclasses import dataclass
from pathlib import Path

from rewind.cli.arguments import Positional, command
from rewind.cli.data import COMMANDS, HELP
from rewind.errors import DataError


@dataclass
class DataCards:
    """Write a page for each rebuilt data set, beside D4RL's published figures. Builds missing data sets.

    With --check: print how like D4RL's the -v1 sets are, and fail if a figure is outside its limit or was measured on
    fewer rows than the recipe has. Builds nothing. Unmatched: outside, but no ending that was tried comes nearer.

    Example: rewind data cards --check
    """

    names: Positional[tuple[str, ...]] = ()
    """The data sets, for example rewind/hopper-medium-v1. Default: all."""
    out: Path = Path("docs/data_cards")
    """Folder for the pages, their pictures and cards.json."""
    check: bool = False
    """Write nothing: check the -v1 sets."""
    pages_only: bool = False
    """Write the pages again from the figures in the folder; no data is read or built."""

    def run(self) -> None:
        from rewind_lab.cards.cards import write_cards  # imports Numba
        from rewind_lab.cards.check import check_cards
        from rewind_lab.cards.likeness import FIGURES

        if self.check:
            if not (self.out / FIGURES).exists():
                raise DataError(
                    f"{self.out / FIGURES} is missing: call this in a checkout of Rewind, or give its --out"
                )
            checked = check_cards(self.names, self.out)
            if failed := checked.failed:
                count = f"{len(failed)} figure{'s' if len(failed) > 1 else ''}"
                raise DataError(
                    f"{count} of -v1 data sets outside the limits, or not measured on enough rows: "
                    f"{'; '.join(failed)}. The tables above show them"
                )
            unmatched = f"{len(checked.unmatched)} unmatched: {'; '.join(checked.unmatched)}"
            print(f"no figure is outside its limit; {unmatched if checked.unmatched else 'none is unmatched'}")
            return
        for path in write_cards(self.names, self.out, not self.pages_only):
            print(f"wrote {path}")


Data = command("Data", HELP, *COMMANDS, DataCards)
