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
    rule = {"boundaries": boundaries, "merge_fragments": merge_fragments}
    given = [name for name, value in rule.items() if value is not None]
    if is_ogbench(data):
        if given or extras:
            raise UsageError(f"{path} is in OGBench's form: leave out {' and '.join(given or ['extras'])}")
        return load_ogbench(data)
    with reading(path, "cannot be read"):
        written_by_us = any(key in data for key in ("header", "final_observations", "final_known"))
        if given and (written_by_us or ("lengths" in data and not any(flag in data for flag in FLAGS))):
            raise UsageError(f"the file has the lengths of its trajectories: leave out {' and '.join(given)}")
        if written_by_us:
            return _as_written(data, data.path.stem, extras)
        boundaries = boundaries or ("flags" if given else None)
        merge = bool(merge_fragments)
        return from_d4rl(data, data.path.stem, boundaries=boundaries, merge_fragments=merge, extras=extras)


def _as_written(data: Mapping[str, Array], name: str, extras: Sequence[str]) -> Trajectories:
    arrays: dict[str, Any] = {key: find_parts(data, key) for key in FIELDS}
    if missing := [key for key, value in arrays.items() if value is None]:
        raise missing_columns(missing, data)
    if extra := [key for key in ("next_observations", *FLAGS) if key in data and key not in FIELDS]:
        raise DataError(
            f"{', '.join(extra)} beside final_observations and terminated, which say the same: leave it out"
        )
    arrays |= {"extras": extra_columns(data, extras), "inner_terminals": data.get("inner_terminals")}
    return verified(Trajectories(**arrays, **read_header(data.get("header", "{}"), name)))


def save_npz(trajectories: Trajectories, path: str | os.PathLike[str]) -> None:
    """Write a file that `load_npz` reads back to equal arrays. The file is never half written.

    If the notes contain a digest, it is compared with the arrays when the file is read. The digest of other data
    (which this data was made from) is left out.
    """
    arrays: dict[str, Any] = {"header": np.array(header_text(trajectories)), **trajectories.arrays()}
    with whole_file(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)
