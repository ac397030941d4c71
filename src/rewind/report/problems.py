"""Problems of a data set to know before training on it, each with what to do."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rewind.arrays import Array
from rewind.data.boundaries import FEWEST_STEPS, jumps
from rewind.data.parts import missing_codes, named_parts
from rewind.data.table_rows import NO_EPISODE
from rewind.data.trajectories import CHUNK_ROWS, Trajectories
from rewind.memory.sweeps import common_length
from rewind.table import counted, listed

SLOTS = 256  # the paper's batch size
ALIKE = 0.8  # steps as large as this share of the difference of two rows of a trajectory are not those of time
AT_A_TIME = 1 << 22  # numbers that are compared: a row may be an image
LISTED = 8  # numbers of trajectories or columns in a line
THROUGHOUT = 5  # steps of a trajectory from which terminals in all of them are no stay at a goal
STUCK = (0.5, 10)  # share of a trajectory, and steps, in which nothing changes


@dataclass(frozen=True)
class Problem:
    """Something to know before training."""

    kind: str
    text: str


def find_problems(data: Trajectories, values: dict[str, Array]) -> list[Problem]:
    """Each kind at most once, the most important for a replay memory first.

    values: `quality(data)` of the inspection
    """
    finders = (_ends(data), _trajectories(data), _rewards(data, values), _arrays(data), _order(data))
    return [Problem(kind, text) for finder in finders for kind, text in finder]


def _ends(data: Trajectories) -> Iterator[tuple[str, str]]:
    one = len(data) == 1 and data.rows > 1 and not data.terminated[0]
    rule = str(data.notes.get("boundaries"))
    if one and rule == "flags":
        yield (
            "no ends",
            f"no flag ends a trajectory, so all {data.rows:,} rows form one; if there are several, set timeouts where "
            "they were cut, or look for jumps: boundaries flags+jump",
        )
    elif one and rule.startswith(NO_EPISODE):
        named = rule.removeprefix(NO_EPISODE)
        yield (
            "no ends",
            f"there is no episode column, and {named} ends nothing before the last of {data.rows:,} rows, so all form "
            "one trajectory; if there are several, name the column that tells them apart (--episode)",
        )
    if repeated := _terminal_throughout(data):
        yield (
            "terminals throughout",
            f"{repeated:,} of {len(data):,} trajectories have a terminal in each of their rows, so that the critic "
            "learns the next reward and nothing after it; if the flag tells how an episode ended, set it in the last "
            "row alone",
        )
    if "doubt" in data.notes:
        yield "terminals at one step", data.notes["doubt"]
    if missing := int((data.transitions < data.lengths).sum()):
        yield (
            "missing successors",
            f"{missing:,} of {len(data):,} trajectories end with a time-out whose next state was not recorded: their "
            "last step counts in their quality, but is never replayed",
        )


def _terminal_throughout(data: Trajectories) -> int:
    """How many trajectories, other than a few steps at a goal, consist of terminals."""
    if data.inner_terminals is None:
        return 0
    inner = np.add.reduceat(data.inner_terminals, data.starts, dtype=np.int64)
    return int((data.terminated & (data.lengths >= THROUGHOUT) & (inner == data.lengths - 1)).sum())


def _trajectories(data: Trajectories) -> Iterator[tuple[str, str]]:
    single = data.lengths == 1
    if single.any():
        count, successes = counted(int(single.sum()), "trajectory"), int((single & data.terminated).sum())
        hint = "; merge_fragments joins those that continue the row before them" if successes else ""
        yield "single steps", f"{count} of one step, {successes:,} of them terminal{hint}"
    if (rows := int(data.transitions.sum())) < SLOTS:
        yield (
            "few rows",
            f"{rows:,} rows to replay for the usual batch of {SLOTS}: every batch has some of them several times, and "
            "so few teach an agent little; collect more, or take a smaller batch (--batch-size)",
        )
    if len(data) < SLOTS:
        yield (
            "few trajectories",
            f"{counted(len(data), 'trajectory')} for the usual {SLOTS} slots: some are played by several slots at a "
            "time",
        )
    if (common := common_length(data.lengths) or 0) > 1:  # a single step cannot be spread
        yield (
            "equal lengths",
            f"{np.mean(data.lengths == common):.0%} of the trajectories have {common:,} steps, so that batches contain "
            "a single time step; stagger=True spreads them",
        )
    if (stuck := _stuck(data)).size:
        yield (
            "nothing changes",
            f"in {counted(len(stuck), 'trajectory')} ({listed(stuck.tolist(), LISTED)}) no observation changes from "
            "the middle to the time-out: a broken sensor or simulator, or waiting; leave them out if they teach "
            "nothing",
        )
    digests = _digests(data)
    if copies := len(digests) - len(set(digests)):
        first = {digest: number for number, digest in reversed([*enumerate(digests)])}
        again = np.array([number for number, digest in enumerate(digests) if first[digest] != number])
        are = "is a copy" if copies == 1 else "are copies"
        yield (
            "duplicates",
            f"{counted(copies, 'trajectory')} {are} of others ({listed(again.tolist(), LISTED)}): they are drawn more "
            "often; leave them out if the log was joined twice",
        )


def _rewards(data: Trajectories, values: dict[str, Array]) -> Iterator[tuple[str, str]]:
    if data.rows > 1 and (data.rewards == data.rewards[0]).all():
        yield (
            "equal rewards",
            f"every reward is {data.rewards[0]:g}: there is nothing to learn but how long a trajectory lasts; check "
            "the reward column, or the task that rewards were computed for",
        )
    tied = [name for name, of in values.items() if len(data) > 1 and (of == of[0]).all()]
    if tied:
        yield "ties", f"every trajectory has the same {', '.join(tied)}: such a priority is uniform"
    after = _after_success(data)
    if after:
        yield (
            "rows after success",
            f"{after:,} rows ({after / data.rows:.0%}) come after the first success of their trajectory, without a "
            "terminal there: values then depend on how long a log waits at its goal. Mark successes as terminals, or "
            "end trajectories there",
        )


def _arrays(data: Trajectories) -> Iterator[tuple[str, str]]:
    discrete = data.actions.dtype.kind != "f" and data.actions.size == data.rows
    parts = named_parts("observations", data.observations) | ({} if discrete else {"actions": data.actions})
    unsupported = [f"{name} of shape {array.shape[1:]}" for name, array in parts.items() if array.ndim != 2]
    if unsupported:
        yield "not for our agents", f"{', '.join(unsupported)}: rewind train needs vectors"
    if discrete and data.actions.min() < 0:
        yield (
            "not for our agents",
            f"discrete actions from {data.actions.min()}: rewind train counts them from 0; add {-data.actions.min()}",
        )
    if discrete and (missing := missing_codes(data.actions)):
        yield "missing codes", f"discrete actions: {missing}"
    outside = int((np.abs(data.actions) > 1).reshape(data.rows, -1).any(axis=1).sum())
    if data.actions.dtype.kind == "f" and outside:
        yield (
            "wide actions",
            f"{outside:,} rows ({outside / data.rows:.1%}) have actions outside [-1, 1], from "
            f"{data.actions.min():.3g} to {data.actions.max():.3g}: policies stay within the bounds of each column "
            "(--action-bounds chooses others); D4RL clips such actions",
        )
    columns = [part.reshape(data.rows, -1) for part in named_parts("", data.observations).values()]
    still = np.concatenate([part.min(axis=0) == part.max(axis=0) for part in columns])
    constant = np.flatnonzero(still)
    if constant.size and data.rows > 1:
        yield (
            "constant columns",
            f"{len(constant)} of {len(still)} observation columns never change ({listed(constant.tolist(), LISTED)}): "
            "normalisation must not divide by their standard deviation",
        )


def _order(data: Trajectories) -> Iterator[tuple[str, str]]:
    tails = np.zeros(data.rows, bool)
    tails[data.ends] = True
    inside = np.flatnonzero(~tails)
    if len(inside) < FEWEST_STEPS or isinstance(data.observations, dict) or data.observations.ndim != 2:
        return
    if not _follow_in_time(data, inside):
        yield (
            "unsorted rows",
            "consecutive observations are no more alike than any two of a trajectory: the rows may be out of order; "
            "sort them by time (for a table, name its time column)",
        )
    elif count := int((jumps(data.observations, tails) & ~tails).sum()):
        yield (
            "jumps",
            f"{count:,} steps inside trajectories are far larger than all others: rows may be out of order there, or "
            "episodes joined; boundaries flags+jump ends trajectories at them",
        )


def _follow_in_time(data: Trajectories, inside: Array) -> bool:
    """Whether some column changes less from row to row than between any two rows of a trajectory."""
    rng = np.random.default_rng(0)
    rows = rng.choice(inside, min(len(inside), CHUNK_ROWS))
    of = data.trajectory_of(rows)
    others = data.starts[of] + rng.integers(0, data.lengths[of])
    seen = data.observations

    def change(other: Array) -> Array:
        return np.asarray(np.abs(np.subtract(seen[other], seen[rows], dtype=np.float64)).mean(axis=0))

    apart, steps = change(others), change(rows + 1)
    # A row is often compared with itself where trajectories are short, a step never is.
    apart /= np.mean(others != rows)
    moving = apart > 0
    return not moving.any() or bool((steps[moving] < ALIKE * apart[moving]).any())


def _stuck(data: Trajectories) -> Array:
    """The trajectories that were cut and in which nothing changes at the end."""
    moved = np.zeros(data.rows, bool)  # whether this row differs from the one before it
    for part in named_parts("", data.observations).values():
        flat = part.reshape(data.rows, -1)
        count = max(1, AT_A_TIME // max(1, flat.shape[1]))
        for begin in range(1, data.rows, count):
            rows = slice(begin, min(begin + count, data.rows))
            moved[rows] |= (flat[rows] != flat[rows.start - 1 : rows.stop - 1]).any(axis=1)
    moved[data.starts] = True
    last_move = np.maximum.reduceat(np.where(moved, np.arange(data.rows), 0), data.starts)
    still = data.ends - last_move
    share, steps = STUCK
    return np.flatnonzero(~data.terminated & (still >= steps) & (still >= share * data.lengths))


def _after_success(data: Trajectories) -> int:
    """Rows after the first success: the higher one of two rewards, if no terminal marks it."""
    low, high = data.rewards.min(), data.rewards.max()
    success = data.rewards == high
    if low == high or not (success | (data.rewards == low)).all():
        return 0
    if (success & data.terminals).any():
        return 0
    first = np.minimum.reduceat(np.where(success, np.arange(data.rows), data.rows), data.starts)
    return int(np.maximum(data.ends - first, 0).sum())


def _digests(data: Trajectories) -> list[bytes]:
    """What identifies each trajectory."""
    digests = []
    for episode in data.episodes():
        digest = hashlib.blake2b(episode["actions"].tobytes(), digest_size=16)
        for part in named_parts("", episode["observations"]).values():
            digest.update(part.tobytes())
        digests.append(digest.digest())
    return digests


def overlap(data: Trajectories, other: Trajectories) -> list[Problem]:
    """Trajectories and rows that two data sets have in common, such as those for training and for validation."""
    digests = set(_digests(other))
    shared = np.flatnonzero([digest in digests for digest in _digests(data)])
    both = int(np.isin(_row_hashes(data), _row_hashes(other)).sum())
    if not both:
        return []
    numbers = f" ({listed(shared.tolist(), LISTED)})" if shared.size else ""
    return [
        Problem(
            "overlap",
            f"{counted(len(shared), 'trajectory')}{numbers} and {counted(both, 'row')} ({both / data.rows:.1%}) are "
            f"also in {other.name or 'the other data'}: what is measured there is no validation; split by trajectories",
        )
    ]


def _row_hashes(data: Trajectories) -> Array:
    """(rows,) a number for the observation and action of each row."""
    hashes = np.zeros(data.rows, np.uint64)
    for array in (*named_parts("", data.observations).values(), data.actions):
        words = np.ascontiguousarray(array).reshape(data.rows, -1)
        for column in words.view(f"u{array.dtype.itemsize}").T:
            hashes = (hashes ^ column) * np.uint64(0x9E3779B97F4A7C15)
            hashes ^= hashes >> np.uint64(29)
    return hashes
