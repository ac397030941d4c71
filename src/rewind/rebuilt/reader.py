"""How `rewind.load` reads rebuilt data sets (`rewind/...`). It finds this reader by name: `data` imports no recipes."""

import os
from typing import Any

from rewind.data.load import Reader
from rewind.data.trajectories import Trajectories
from rewind.rebuilt.recipes import recipes


def _is_rebuilt(dataset: Any) -> bool:
    return isinstance(dataset, (str, os.PathLike)) and os.fspath(dataset) in recipes()


def _read(dataset: Any) -> Trajectories:
    from rewind.rebuilt.build import load_rebuilt  # simulators are needed only where data is made

    return load_rebuilt(os.fspath(dataset))


READER = Reader(_read, reads=_is_rebuilt, names=recipes)
