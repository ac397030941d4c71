"""Name and notes of the data in our own files, as JSON, and the digest that may be among the notes."""

import json
from typing import Any

from rewind.data.trajectories import Trajectories
from rewind.errors import DataError

ALTERED = "altered or damaged: its arrays do not match the recorded digest; make the file again"


def header_text(trajectories: Trajectories) -> str:
    """Without the digest of other data, which this data was made from."""
    notes = dict(trajectories.notes)
    if "digest" in notes and notes["digest"] != trajectories.digest:
        del notes["digest"]
    return json.dumps({"name": trajectories.name, "notes": notes})


def read_header(text: object, name: str | None) -> dict[str, Any]:
    """Name and notes, as arguments of `Trajectories`. name: where the header has none"""
    try:
        header = json.loads(str(text))
        fields = {"name": header.get("name", name), "notes": header.get("notes", {})}
    except (ValueError, AttributeError, RecursionError) as error:
        raise DataError(f"its header is damaged: {error}") from error
    if not isinstance(fields["name"], str | None) or not isinstance(fields["notes"], dict):
        raise DataError("its header is damaged: expected a name and notes")
    return fields


def verified(trajectories: Trajectories) -> Trajectories:
    """The same, if its arrays match the digest in its notes."""
    if "digest" in trajectories.notes and trajectories.notes["digest"] != trajectories.digest:
        raise DataError(ALTERED)
    return trajectories
