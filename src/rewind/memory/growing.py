"""Arrays that grow: what a memory holds per trajectory, and the rows added to loaded ones."""

from typing import Any

import numpy as np

from rewind.arrays import Array


class Column:
    """An array that grows at its end and shrinks at its start, both in constant time per entry."""

    def __init__(self, array: Array) -> None:
        self._buffer, self._begin, self._end = array, 0, len(array)  # full: the given array is never written to

    def view(self) -> Array:
        return self._buffer[self._begin : self._end]

    def append(self, more: Array) -> None:
        if self._end + len(more) > len(self._buffer):
            held = self.view()
            self._buffer = resized(held, 2 * (len(held) + len(more)))
            self._begin, self._end = 0, len(held)
        self._buffer[self._end : self._end + len(more)] = more
        self._end += len(more)

    def drop(self, count: int) -> None:
        self._begin += count


class Rows:
    """Loaded rows, which stay where they are, for example in a file, and space for added rows after them."""

    def __init__(self, loaded: Array, space: int) -> None:
        self._loaded = loaded
        self._added = np.zeros((space, *loaded.shape[1:]), loaded.dtype)
        self.shape, self.dtype = (len(loaded) + space, *loaded.shape[1:]), loaded.dtype

    def __len__(self) -> int:
        return int(self.shape[0])

    def take(self, indices: Array, axis: int = 0, mode: str = "raise") -> Array:
        result: Array = self._loaded.take(indices, axis=0, mode="clip")
        (later,) = (indices >= len(self._loaded)).nonzero()
        if later.size:
            result[later] = self._added.take(indices[later] - len(self._loaded), axis=0, mode="clip")
        return result

    def __setitem__(self, rows: slice, values: Array) -> None:
        """Write consecutive added rows."""
        self._added[rows.start - len(self._loaded) : rows.stop - len(self._loaded)] = values

    def resized(self, rows: int) -> "Rows":
        more = Rows(self._loaded, rows - len(self._loaded))
        more._added[: len(self._added)] = self._added
        return more

    def joined(self) -> Array:
        """All rows in one array."""
        return np.concatenate([self._loaded, self._added])


def resized(array: Any, length: int) -> Any:
    """A longer copy; new entries are 0."""
    if isinstance(array, Rows):
        return array.resized(length)
    longer = np.zeros((length, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
