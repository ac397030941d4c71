"""Trajectories from and to `.npz` files, without pickling."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.data.boundaries import Boundaries, extra_columns, from_d4rl, missing_columns
from rewind.data.flags import FLAGS
from rewind.data.header import header_text, read_header, verified
from rewind.data.ogbench import is_ogbench, load_ogbench
from rewind.data.parts import find_parts
from rewind.data.trajectories import FIELDS, Trajectories
from rewind.errors import DataError, UsageError, reading
from rewind.files import Npz, whole_file


def load_npz(
    path: str | os.PathLike[str],
    *,
    boundaries: Boundaries | None = None,
    merge_fragments: bool | None = None,
    extras: Sequence[str] = (),
) -> Trajectories:
    """Trajectories from an `.npz` file: one written by `save_npz`, one with `lengths`, one with D4RL's flags,
    or one in OGBench's form.

    Dict observations are arrays named "observations/key".

    boundaries, merge_fragments: see `from_d4rl`; for a file with flags only
    extras: further columns to keep; a file written by `save_npz` keeps its own anyway
    """
    data = Npz(path)
    if is_ogbench(data):
        if extras:
            raise UsageError(f"{path} is in OGBench's form: leave out extras")
        if boundaries is not None or merge_fragments is not None:
            raise UsageError(f"{path} is in OGBench's form: leave out boundaries and merge_fragments")
        return load_ogbench(data)
    with reading(path, "cannot be read"):
        return _from_arrays(data, data.path.stem, boundaries, merge_fragments, extras)


def _from_arrays(
    data: Mapping[str, Array],
    name: str,
    boundaries: Boundaries | None,
    merge_fragments: bool | None,
    extras: Sequence[str],
) -> Trajectories:
    if not any(key in data for key in ("header", "final_observations", "final_known")):
        if boundaries is None and merge_fragments is None:
            return from_d4rl(data, name, extras=extras)
        if "lengths" in data and not any(flag in data for flag in FLAGS):
            raise UsageError("the file has the lengths of its trajectories: leave out boundaries and merge_fragments")
        rule: dict[str, Any] = {"boundaries": boundaries or "flags", "merge_fragments": bool(merge_fragments)}
        return from_d4rl(data, name, extras=extras, **rule)
    if boundaries is not None or merge_fragments is not None:
        raise UsageError("the file has the lengths of its trajectories: leave out boundaries and merge_fragments")
    arrays: dict[str, Any] = {key: find_parts(data, key) for key in FIELDS}
    if missing := [key for key, value in arrays.items() if value is None]:
        raise missing_columns(missing, data)
    if extra := [key for key in ("next_observations", *FLAGS) if key in data and key not in FIELDS]:
        raise DataError(
            f"{', '.join(extra)} beside final_observations and terminated, which say the same: leave it out"
        )
    arrays |= {"extras": extra_columns(data, extras), "inner_terminals": data.get("inner_terminals")}
    header = read_header(data.get("header", "{}"), name)
    return verified(Trajectories(**arrays, **header))


def save_npz(trajectories: Trajectories, path: str | os.PathLike[str]) -> None:
    """Write a file that `load_npz` reads back to equal arrays. The file is never half written.

    If the notes contain a digest, it is compared with the arrays when the file is read. The digest of other data
    (which this data was made from) is left out.
    """
    arrays: dict[str, Any] = {"header": np.array(header_text(trajectories)), **trajectories.arrays()}
    with whole_file(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)
