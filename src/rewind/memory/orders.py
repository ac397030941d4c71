"""The order in which a slot plays the rows of its sweep: backward, or, as controls, forward or shuffled.

step      backward   forward   shuffled
  0       A4*        A0*       A1*         the same trajectories in the same slots at the same steps
  1       A3         A1        A4
  2       A2         A2        A0
  3       A1         A3        A3
  4       A0         A4        A2
"""

from rewind.arrays import Array
from rewind.compiled import compiled
from rewind.memory.sweeps import Slots

ORDERS = ("backward", "forward", "shuffled")
ROUNDS = 5


@compiled
def reorder(indices: Array, fresh: Array, trajectories: Array, starts: Array, slots: Slots, shuffled: bool) -> None:
    """Replace the rows of a backward plan, sweep by sweep, by the same rows in another order.

    starts: (trajectories,) the first row of each
    """
    count, key = slots.rows, slots.key
    for step in range(indices.shape[0]):
        for slot in range(indices.shape[1]):
            start = starts[trajectories[step, slot]]
            left = int(indices[step, slot]) - int(start)
            if fresh[step, slot]:
                count[slot] = left + 1
                key[slot] = _mixed(int(key[slot]) + 1)
            played = int(count[slot]) - 1 - left
            indices[step, slot] = start + (_permuted(played, int(count[slot]), int(key[slot])) if shuffled else played)


@compiled
def _permuted(index: int, count: int, key: int) -> int:
    """The place of an index in a permutation of 0 to count - 1 that the key chooses.

    A Feistel network permutes a power of four; what is too large goes through it again, until it is not.
    """
    half = 3
    while 1 << (2 * half) < count:
        half += 1
    mask = (1 << half) - 1
    while True:
        left, right = index >> half, index & mask
        for number in range(ROUNDS):
            left, right = right, left ^ (_mixed(_mixed(key + number) + right) & mask)
        index = left << half | right
        if index < count:
            return index


@compiled
def _mixed(number: int) -> int:
    """32 bits that look random; products stay below 2^63, as they must when compiled."""
    number &= 0xFFFFFFFF
    for _ in range(2):
        number = ((number ^ (number >> 16)) * 0x45D9F3B) & 0xFFFFFFFF
    return number ^ (number >> 16)
