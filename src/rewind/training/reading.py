"""Data on the disk: the rows of the next block are read by threads while the device works on this one.

    device     | block k                         | block k + 1 ...
    threads    |  rows of block k + 1 -> table   |  rows of block k + 2 -> table
    host       |  plan k + 1                     |  plan k + 2

A block gets a table of its own, with the rows it plays instead of all rows. Its plans then name places in that table.
Rows are read in the order of the file: a backward sweep reads its trajectory in one piece.
"""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from rewind.agents.agent import Agent
from rewind.arrays import Array
from rewind.data.parts import on_disk, read_soon
from rewind.training.planner import Planned
from rewind.training.view import Source, end_column, fill_rows, table_width

LARGEST = 1 << 28  # bytes of a table
READERS = 8  # threads: more than cores, as they wait for the disk
PIECE = 4_096  # rows that a thread reads at a time, at least: more pieces than threads only get in each other's way


def is_on_disk(sources: Sequence[Source]) -> bool:
    return any(on_disk(source.data.observations) or on_disk(source.data.actions) for source in sources)


class BlockReader:
    """Makes the tables of blocks.

    sources: of each run
    agent: of all runs: it says how many rows after a planned one it looks at
    """

    def __init__(self, sources: Sequence[Source], agent: Agent[Any], batch_size: int) -> None:
        self._firsts = np.array([source.first for source in sources])[:, None, None]
        self._sources = sorted({source.first: source for source in sources}.values(), key=lambda source: source.first)
        self._ends = [end_column(source.data) for source in self._sources]
        self._span = agent.window + agent.next_actions  # the last row of a window has a next action too
        self._width = table_width(self._sources[0].data)
        self._rows_per_step = len(sources) * batch_size * self._span
        self._pool = ThreadPoolExecutor(READERS, thread_name_prefix="reader")

    def most_steps(self, period: int) -> int:
        """The longest block whose table is not too large: a multiple of the agent's period."""
        return max(1, LARGEST // (4 * self._width * self._rows_per_step * period)) * period

    def start(self, planned: Planned) -> None:
        """Begin to read the rows of a block, and put the places of its rows into `planned.places`."""
        rows = planned.indices + self._firsts  # numbered over all sources
        if self._span == 1:
            chosen, planned.places = _in_file_order(rows)
        else:  # rows that follow one another must do so in the table
            chosen, places = np.unique(rows[..., None] + np.arange(self._span), return_inverse=True)
            planned.places = np.ascontiguousarray(places.reshape(*rows.shape, self._span)[..., 0], np.int32)
        most = planned.indices.shape[1] * self._rows_per_step
        if planned.table is None:
            planned.table = np.zeros((most, self._width), np.float32)  # what nobody fills must be finite
        planned.reading = self._read(chosen, planned.table)

    def _read(self, chosen: Array, table: Array) -> list[Future[None]]:
        reading = []
        for source, ends in zip(self._sources, self._ends, strict=True):
            begin, end = np.searchsorted(chosen, (source.first, source.first + source.data.rows))
            size = max(PIECE, -(-(end - begin) // READERS))
            for at in range(begin, end, size):
                piece = slice(at, min(at + size, end))
                rows = chosen[piece] - source.first
                reading.append(self._pool.submit(_fill, table[piece], rows, source, ends))
        return reading

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


def _in_file_order(rows: Array) -> tuple[Array, Array]:
    """Rows of a plan, (runs, steps, slots), in ascending order, and the place of each among them.

    Slot by slot, so that a backward sweep is one falling run: a merge sort finds those in order already.
    """
    by_slot = rows.swapaxes(1, 2)
    flat = by_slot.ravel()
    order = np.argsort(flat, kind="stable")
    places = np.empty(len(flat), np.int32)
    places[order] = np.arange(len(flat), dtype=np.int32)
    return flat[order], np.ascontiguousarray(places.reshape(by_slot.shape).swapaxes(1, 2))


def _fill(table: Array, rows: Array, source: Source, ends: Array) -> None:
    for array in (source.data.observations, source.data.actions):
        read_soon(array, rows)
    fill_rows(table, rows, source, ends)
