"""The random numbers of a memory: one stream that does not depend on the size of requests."""

from __future__ import annotations  # NumPy loads its random module when it is used

from typing import Any

import numpy as np

from rewind.arrays import Array
from rewind.errors import UsageError

CHUNK = 16_384


class UniformStream:
    """Uniform numbers in [0, 1), always in the same order.

    Numbers are generated in chunks and used one by one, so that a plan of 100 steps uses the same ones as 100 samples.
    The saved state is that of the generator just after the last number used.
    """

    def __init__(self, seed: Any = None) -> None:
        self._generator = np.random.PCG64(_seed_sequence(seed))
        self._restart(self._generator)

    def _restart(self, generator: np.random.PCG64) -> None:
        self._generator = generator
        self._origin = generator.state
        self._rng = np.random.Generator(generator)
        self._used_before = 0  # numbers used that are no longer in the buffer
        self.numbers: Array = np.empty(0)
        self.cursor = 0

    def reserve(self, count: int) -> None:
        """Make sure that `numbers[cursor : cursor + count]` exist."""
        left = len(self.numbers) - self.cursor
        if left >= count:
            return
        more = self._rng.random(max(CHUNK, count - left))
        self._used_before += self.cursor
        self.numbers = np.concatenate([self.numbers[self.cursor :], more])
        self.cursor = 0

    def take(self, count: int) -> Array:
        """The next `count` numbers."""
        self.reserve(count)
        self.cursor += count
        return self.numbers[self.cursor - count : self.cursor]

    def state(self) -> Array:
        """(4,) the state and the increment of the generator, each as two 64-bit words."""
        generator = np.random.PCG64()
        generator.state = self._origin
        generator.advance(self._used_before + self.cursor)
        inner: Any = generator.state["state"]
        words = [(inner[key] >> shift) & 0xFFFF_FFFF_FFFF_FFFF for key in ("state", "inc") for shift in (64, 0)]
        return np.array(words, dtype=np.uint64)

    def load_state(self, words: Array) -> None:
        high_state, low_state, high_inc, low_inc = (int(word) for word in words)
        generator = np.random.PCG64()
        inner: Any = {"state": high_state << 64 | low_state, "inc": high_inc << 64 | low_inc}
        generator.state = {"bit_generator": "PCG64", "state": inner, "has_uint32": 0, "uinteger": 0}
        self._restart(generator)


def _seed_sequence(seed: Any) -> np.random.SeedSequence:
    if isinstance(seed, np.random.SeedSequence):
        return seed
    if isinstance(seed, np.random.Generator):
        return np.random.SeedSequence(int(seed.integers(2**63)))
    if seed is None or (isinstance(seed, (int, np.integer)) and not isinstance(seed, bool) and seed >= 0):
        return np.random.SeedSequence(None if seed is None else int(seed))
    raise UsageError(f"seed is {seed!r}; expected a non-negative integer, a NumPy Generator or SeedSequence, or None")
