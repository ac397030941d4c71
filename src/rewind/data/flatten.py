"""Dict observations as one vector, by a rule the user states: which keys, in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rewind.errors import DataError, UsageError


def check_keys(keys: Sequence[str] | None, known: Sequence[str] | None) -> None:
    """A rule where there are keys, and none where there are not.

    known: the keys of a dict observation, None where observations are arrays
    """
    if known is None:
        if keys is not None:
            raise UsageError(f"keys={list(keys)} given, but the observations are plain arrays: leave keys out")
        return
    if keys is None:
        raise DataError(
            f"observations are dicts with the keys {', '.join(known)}; say which to put side by side, and in which "
            f"order, for example keys={list(known)}"
        )
    unknown = [key for key in keys if key not in known]
    if unknown or not keys:
        raise UsageError(f"keys={list(keys)}: the observations have {', '.join(known)}")


def flatten(observations: Any, keys: Sequence[str] | None, single: bool = False) -> Any:
    """The named parts side by side, each flattened per step; arrays pass as they are.

    single: one observation rather than one per step
    """
    if not isinstance(observations, Mapping):
        check_keys(keys, None)
        return observations
    check_keys(keys, list(observations))
    assert keys is not None
    parts = [np.asarray(observations[key]) for key in keys]
    if single:
        return np.concatenate([part.reshape(-1) for part in parts])
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)
