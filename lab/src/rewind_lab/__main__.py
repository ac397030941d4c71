"""`python -m rewind_lab`: the command `rewind` with the lab's commands, where the lab is not installed."""

from rewind.cli.main import OWN, main
from rewind_lab.commands import COMMANDS

if __name__ == "__main__":
    main(commands={**OWN, **COMMANDS})
