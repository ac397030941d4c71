"""Download one file over HTTP into a `.part` file, resuming an interrupted download."""

import json
import time
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from rewind.files import read_json
from rewind.progress import Progress

ATTEMPTS = 5  # in a row without a new byte
PAUSE = 1.0  # seconds before the second attempt, doubled each time
TIMEOUT = 30.0  # seconds without an answer
CHUNK = 1 << 20
BUSY = (408, 425, 429)  # like 500 and above: the same request may succeed later


class TransferError(Exception):
    """The download failed, and another attempt will not help."""


class _Cut(Exception):
    """The download was interrupted; another attempt may succeed."""


def transfer(address: str, part: Path, progress: Progress) -> None:
    """Download `address` into `part`, retrying as long as attempts bring new bytes.

    The bytes in `part` are kept only if the server confirms that they come from the same version of the file
    (If-Range). A `.json` beside `part` records that version. `forget` removes both.
    """
    most, failures, connected = _size(part), 0, False
    while True:
        try:
            return _attempt(address, part, progress)
        except URLError as error:  # no server: wait for it only if it answered before
            if not connected:
                raise TransferError(str(error.reason)) from error
            reason = str(error.reason)
        except _Cut as error:
            reason, connected = str(error), True
        grown = _size(part) > most
        most, failures = max(most, _size(part)), 0 if grown else failures + 1
        if failures == ATTEMPTS:
            raise TransferError(f"{reason} (gave up after {ATTEMPTS} attempts without a new byte)")
        time.sleep(PAUSE * 2 ** max(failures - 1, 0))


def forget(part: Path) -> None:
    """Remove an incomplete download and its note."""
    part.unlink(missing_ok=True)
    _note_of(part).unlink(missing_ok=True)


def _attempt(address: str, part: Path, progress: Progress) -> None:
    note = _read_note(part)
    have = _size(part) if note.get("address") == address and note.get("validator") else 0
    if have and have == note["size"]:  # complete, but not yet renamed
        return
    request = Request(address, headers={"User-Agent": "rewind-rl", "Accept-Encoding": "identity"})
    if have:
        request.add_header("Range", f"bytes={have}-")
        request.add_header("If-Range", note["validator"])
    with _open(request, part) as response:
        resumed = response.status == 206
        have = have if resumed else 0  # 200: the file has changed, or the server does not support ranges
        whole = (response.headers["Content-Range"] or "").rpartition("/")[2]
        announced = whole if resumed else response.headers["Content-Length"]
        size = int(announced) if announced and announced.isdigit() else None
        if resumed and (size != note["size"] or not response.headers["Content-Range"].startswith(f"bytes {have}-")):
            forget(part)
            raise _Cut("the server sent another part of the file than requested")
        with part.open("ab" if resumed else "wb") as file:
            if not resumed:  # only now: a note must never describe the bytes of another version
                tag = response.headers["ETag"]  # weak ones do not guarantee equal bytes
                validator = tag if tag and not tag.startswith("W/") else response.headers["Last-Modified"]
                note = {"address": address, "validator": validator, "size": size}
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
        if error.code == 416:  # `part` is longer than the file
            forget(part)
        elif error.code < 500 and error.code not in BUSY:
            raise TransferError(reason) from error
        raise _Cut(reason) from error
    except (ConnectionError, TimeoutError, HTTPException) as error:
        raise _Cut(str(error) or type(error).__name__) from error


def _read(response: HTTPResponse) -> bytes:
    try:
        return response.read(CHUNK)
    except (OSError, HTTPException) as error:  # caught here, so that a full disk is not taken for a network error
        raise _Cut(str(error) or type(error).__name__) from error


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _note_of(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _read_note(part: Path) -> dict[str, Any]:
    try:
        return dict(read_json(_note_of(part)))
    except (FileNotFoundError, ValueError):
        return {}
