"""How `rewind.load` reads rebuilt data sets (`rewind/...`). It finds this reader by name: `data` imports no recipes."""

import os
from typing import Any

from rewind.data.load import Reader
from rewind.data.trajectories import Trajectories
from rewind.rebuilt.quick import ENVIRONMENTS, quick
from rewind.rebuilt.recipes import is_rebuilt, recipes


def _is_rebuilt(dataset: Any) -> bool:
    name = os.fspath(dataset) if isinstance(dataset, (str, os.PathLike)) else ""
    return is_rebuilt(name) or name in ENVIRONMENTS


def _read(dataset: Any) -> Trajectories:
    from rewind.rebuilt.build import load_rebuilt  # simulators are needed only where data is made

    name = os.fspath(dataset)
    return quick(name) if name in ENVIRONMENTS else load_rebuilt(name)


READER = Reader(_read, reads=_is_rebuilt, names=lambda: [*recipes(), *ENVIRONMENTS])
