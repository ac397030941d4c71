"""One file over HTTP into a `.part` file; a cut transfer goes on where it stopped."""

from __future__ import annotations

import json
import time
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from rewind.progress import Progress

ATTEMPTS = 5  # in a row that bring no new byte
PAUSE = 1.0  # seconds before the second attempt, doubled each time
TIMEOUT = 30.0  # seconds without an answer
CHUNK = 1 << 20
BUSY = (408, 425, 429)  # and everything from 500 on: the same request may succeed later


class TransferError(Exception):
    """It did not come, and asking again now will not help."""


class _Cut(Exception):
    """It stopped on the way; worth another attempt."""


def transfer(address: str, part: Path, progress: Progress) -> None:
    """Bring the whole of `address` into `part`, for as long as attempts bring new bytes.

    Bytes that `part` already holds are kept only if the server confirms that the file is still the one they
    came from (If-Range); beside `part`, a `.json` says which one that was. `forget` removes both.
    """
    most, failures, begun = _size(part), 0, False
    while True:
        try:
            return _attempt(address, part, progress)
        except URLError as error:  # no server at all: only worth waiting for if there was one before
            if not begun:
                raise TransferError(str(error.reason)) from error
            reason = str(error.reason)
        except _Cut as error:
            reason, begun = str(error), True
        grown = _size(part) > most
        most, failures = max(most, _size(part)), 0 if grown else failures + 1
        if failures == ATTEMPTS:
            raise TransferError(f"{reason} (gave up after {ATTEMPTS} attempts without a new byte)")
        time.sleep(PAUSE * 2 ** max(failures - 1, 0))


def forget(part: Path) -> None:
    """Remove what has arrived, and the note of where it came from."""
    part.unlink(missing_ok=True)
    _note_of(part).unlink(missing_ok=True)


def _attempt(address: str, part: Path, progress: Progress) -> None:
    note = _read_note(part)
    have = _size(part) if note.get("address") == address and note.get("validator") else 0
    if have and have == note["size"]:  # complete: only its rename was missing
        return
    request = Request(address, headers={"User-Agent": "rewind-rl", "Accept-Encoding": "identity"})
    if have:
        request.add_header("Range", f"bytes={have}-")
        request.add_header("If-Range", note["validator"])
    with _open(request, part) as response:
        resumed = response.status == 206
        have = have if resumed else 0  # 200: the file has changed, or the server knows no ranges
        size = _announced(response)
        if resumed and (size != note["size"] or not response.headers["Content-Range"].startswith(f"bytes {have}-")):
            forget(part)
            raise _Cut("the server sent another part of the file than the one asked for")
        with part.open("ab" if resumed else "wb") as file:
            if not resumed:  # after the old bytes are gone: a note must never vouch for bytes of another file
                note = {"address": address, "validator": _validator(response), "size": size}
                _note_of(part).write_text(json.dumps(note), encoding="utf-8")
            progress(have, size)
            while chunk := _read(response):
                file.write(chunk)
                have += len(chunk)
                progress(have, size)
    if size is not None and have != size:
        raise _Cut(f"the connection ended after {have:,} of {size:,} bytes")


def _open(request: Request, part: Path) -> HTTPResponse:
    try:
        response: HTTPResponse = urlopen(request, timeout=TIMEOUT)
        return response
    except HTTPError as error:
        error.close()
        reason = f"{error.code} {error.reason}"
        if error.code == 416:  # we hold more than there is
            forget(part)
        elif error.code < 500 and error.code not in BUSY:
            raise TransferError(reason) from error
        raise _Cut(reason) from error
    except (ConnectionError, TimeoutError, HTTPException) as error:
        raise _Cut(str(error) or type(error).__name__) from error


def _read(response: HTTPResponse) -> bytes:
    try:
        return response.read(CHUNK)
    except (OSError, HTTPException) as error:  # here, so that a full disk is not taken for a bad line
        raise _Cut(str(error) or type(error).__name__) from error


def _announced(response: HTTPResponse) -> int | None:
    """Bytes in the whole file."""
    text = response.headers["Content-Length"]
    if response.status == 206:
        text = (response.headers["Content-Range"] or "").rpartition("/")[2]
    return int(text) if text and text.isdigit() else None


def _validator(response: HTTPResponse) -> str | None:
    """What tells this version of the file from another; weak tags do not promise equal bytes."""
    tag = response.headers["ETag"]
    return tag if tag and not tag.startswith("W/") else response.headers["Last-Modified"]


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _note_of(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _read_note(part: Path) -> dict[str, Any]:
    try:
        note: dict[str, Any] = json.loads(_note_of(part).read_text(encoding="utf-8"))
        return note
    except (FileNotFoundError, ValueError):
        return {}
