"""Rows of arrays on the disk: selected, or put side by side, without being read."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.errors import UsageError

ROWS_AT_A_TIME = 16_384


class LazyRows:
    """One array of the rows of others, which are read when they are asked for; `np.asarray` reads all.

    parts: (rows, ...) each; several are put side by side
    chosen: which rows of the parts, in this order; default: all
    shape: of one row; default: that of the first part
    """

    def __init__(self, parts: Sequence[Any], chosen: Array | None = None, shape: tuple[int, ...] | None = None) -> None:
        self.parts, self.chosen = parts, chosen
        dtype = np.result_type(*(part.dtype for part in parts))
        self.dtype = np.dtype(np.float32) if dtype.kind == "f" else dtype.newbyteorder("=")
        row = parts[0].shape[1:] if shape is None else shape
        self.shape: tuple[int, ...] = (len(parts[0] if chosen is None else chosen), *row)
        self.ndim, self.size = len(self.shape), math.prod(self.shape)
        self.nbytes = self.size * self.dtype.itemsize
        self.checked = chosen is not None or len(parts) > 1  # some rows, or columns, of arrays that were checked

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Array:
        if isinstance(rows, tuple):
            return np.asarray(np.asarray(self)[rows])
        chosen = rows if self.chosen is None else self.chosen[rows]
        return self._read(lambda part: part[chosen])

    def take(self, rows: Any, axis: int = 0, out: None = None, mode: str = "raise") -> Array:
        rows = np.clip(rows, 0, len(self) - 1) if mode == "clip" else rows
        chosen = rows if self.chosen is None else self.chosen.take(rows)
        return self._read(lambda part: part.take(chosen, axis=0))

    def _read(self, read: Callable[[Any], Array]) -> Array:
        pieces = [read(part) for part in self.parts]
        several = pieces[0].shape[: pieces[0].ndim - self.parts[0].ndim + 1]  # (), or how many rows
        flat = [
            piece.reshape(*several, math.prod(part.shape[1:])) for piece, part in zip(pieces, self.parts, strict=True)
        ]
        with np.errstate(over="ignore"):  # check_finite reports what becomes infinite
            joined = flat[0] if len(flat) == 1 else np.concatenate(flat, axis=-1, dtype=self.dtype)
            return joined.astype(self.dtype, copy=False).reshape(*several, *self.shape[1:])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype)

    def min(self, axis: int) -> Array:
        return np.asarray(np.min([piece.min(axis) for piece in self._pieces(axis)], 0))

    def max(self, axis: int) -> Array:
        return np.asarray(np.max([piece.max(axis) for piece in self._pieces(axis)], 0))

    def mean(self, axis: int, dtype: Any) -> Array:
        return self._sum(axis, dtype, lambda piece: piece) / len(self)

    def std(self, axis: int, dtype: Any) -> Array:
        mean = self.mean(axis, dtype)
        return np.asarray(np.sqrt(self._sum(axis, dtype, lambda piece: (piece - mean) ** 2) / len(self)))

    def _pieces(self, axis: int) -> Iterator[Array]:
        if axis != 0:
            raise UsageError(f"axis is {axis}; expected 0: rows are read a piece at a time (np.asarray reads all)")
        return (self[at : at + ROWS_AT_A_TIME] for at in range(0, len(self), ROWS_AT_A_TIME))

    def _sum(self, axis: int, dtype: Any, function: Callable[[Array], Array]) -> Array:
        """One row after another, as NumPy adds them: the same bits as in memory."""
        total: list[Any] = []
        for piece in self._pieces(axis):
            total = [np.concatenate([*total, function(piece.astype(dtype))]).sum(0, keepdims=True)]
        return np.asarray(total[0][0])
