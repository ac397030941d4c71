"""Published files arrive whole or not at all, whatever the line, the server or another process does."""

import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from rewind.cli.data import DataGet
from rewind.data import originals, transfer
from rewind.data.catalogue import entry
from rewind.data.originals import cache_folder, get, verify
from rewind.errors import DataError, DownloadError, RewindError, UsageError

NAME = "hopper-medium-v2"
FILE = entry(NAME).file
REAL = Path(__file__).parents[2].parent / "shared" / "data" / "kitchen-complete-v0.hdf5"


def hdf5(size=300_000, seed=0):
    """Bytes that begin as an HDF5 file of that size does."""
    body = np.random.default_rng(seed).bytes(size)
    head = b"\x89HDF\r\n\x1a\n" + bytes(32) + size.to_bytes(8, "little")
    return head + body[len(head) :]


class Server(ThreadingHTTPServer):
    """One file, served as badly as asked for; remembers the Range of every request, and the path."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.body = hdf5()
        self.status = 200
        self.ranges = True  # whether Range is understood
        self.cut_after = []  # bytes after which each of the next answers is cut
        self.lengthen = 0  # added to the announced length
        self.flat = False  # whether the file lies at the top instead of in its folder
        self.tag = True
        self.delay = 0.0
        self.seen = []

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}/data"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.seen.append((self.path, self.headers["Range"]))
        time.sleep(server.delay)
        known = entry(NAME)
        path = f"/data/{known.file}" if server.flat else f"/data/{known.folder}/{known.file}"
        if server.status != 200 or self.path != path:
            self.send_error(server.status if server.status != 200 else 404)
            return
        tag = f'"{hashlib.sha256(server.body).hexdigest()}"'
        body, begin = server.body, 0
        if server.ranges and self.headers["Range"] and self.headers["If-Range"] in (None, tag):
            begin = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
            if begin >= len(body):
                self.send_error(416)
                return
        self.send_response(206 if begin else 200)
        if begin:
            end, total = len(body) - 1, len(body) + server.lengthen
            self.send_header("Content-Range", f"bytes {begin}-{end}/{total}")
        self.send_header("Content-Length", str(len(body) - begin + server.lengthen))
        if server.tag:
            self.send_header("ETag", tag)
            self.send_header("Last-Modified", formatdate(0, usegmt=True))
        self.end_headers()
        self.wfile.write(body[begin : begin + server.cut_after.pop(0)] if server.cut_after else body[begin:])

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache folder, no D4RL folder, no proxies, no waiting."""
    for variable in ("REWIND_MIRROR", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("REWIND_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("D4RL_DATASET_DIR", str(tmp_path / "d4rl"))
    monkeypatch.setattr(transfer, "PAUSE", 0.001)
    return tmp_path / "cache"


def fetch(server, **kwargs):
    return get(NAME, mirror=server.address, progress=False, **kwargs)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_download_arrives_whole_is_recorded_and_happens_once(server, cache):
    seen = []
    path = get(NAME, mirror=server.address, progress=lambda done, total: seen.append((done, total)))
    assert path == cache / FILE and path.read_bytes() == server.body
    assert seen[0] == (0, len(server.body)) and seen[-1] == (len(server.body), len(server.body))
    record = json.loads((cache / f"{FILE}.json").read_text())
    assert record["size"] == len(server.body)
    assert record["sha256"] == hashlib.sha256(server.body).hexdigest()
    assert record["origin"].startswith(server.address)
    assert names(cache) == [f".{FILE}.lock", FILE, f"{FILE}.json"]
    fetch(server)
    assert len(server.seen) == 1


def test_a_cut_connection_is_taken_up_where_it_stopped(server):
    server.cut_after = [100_000, 50_000, 1]
    assert fetch(server).read_bytes() == server.body
    assert [range for _, range in server.seen] == [None, "bytes=100000-", "bytes=150000-", "bytes=150001-"]


def test_a_transfer_that_made_way_each_time_may_be_cut_any_number_of_times(server):
    server.cut_after = [10_000] * (3 * transfer.ATTEMPTS)
    assert fetch(server).read_bytes() == server.body


def test_what_an_earlier_process_left_is_resumed(server, cache):
    server.cut_after = [100_000] + [0] * transfer.ATTEMPTS
    with pytest.raises(DownloadError, match="gave up after 5 attempts"):
        fetch(server)
    assert not (cache / FILE).exists() and (cache / f"{FILE}.part").stat().st_size == 100_000
    server.seen.clear()
    server.cut_after = []
    assert fetch(server).read_bytes() == server.body
    assert server.seen[0][1] == "bytes=100000-"


def test_a_complete_part_needs_only_its_rename(server, cache, monkeypatch):
    def crash(target):
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(originals, "_broken", crash)
        with pytest.raises(KeyboardInterrupt):
            fetch(server)
    assert fetch(server).read_bytes() == server.body
    assert len(server.seen) == 1


@pytest.mark.parametrize("way", ["no ranges", "no validator", "changed", "another address"])
def test_a_transfer_that_cannot_be_resumed_starts_again(server, cache, way):
    server.tag = way != "no validator"
    server.cut_after = [100_000] + [0] * transfer.ATTEMPTS
    with pytest.raises(DownloadError):
        fetch(server)
    server.cut_after = []
    server.ranges = way != "no ranges"
    server.flat = way == "another address"
    if way == "changed":
        server.body = hdf5(seed=1)
    assert fetch(server).read_bytes() == server.body


def test_a_server_that_knows_no_ranges_and_always_cuts_is_given_up(server, cache):
    server.ranges = False
    server.cut_after = [1000] * 100
    with pytest.raises(DownloadError, match=r"ended after 1,000 of 300,000 bytes"):
        fetch(server)
    assert len(server.cut_after) > 80


def test_a_part_larger_than_the_file_is_thrown_away(server, cache):
    server.cut_after = [100_000] + [0] * transfer.ATTEMPTS
    with pytest.raises(DownloadError):
        fetch(server)
    with (cache / f"{FILE}.part").open("ab") as part:
        part.write(bytes(400_000))
    server.cut_after = []
    assert fetch(server).read_bytes() == server.body


def test_less_than_announced_is_never_taken_for_the_file(server, cache):
    server.lengthen = 10
    with pytest.raises(DownloadError, match=FILE):
        fetch(server)
    assert not (cache / FILE).exists()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (hdf5()[:-1], "cut: 299,999 of 300,000"),
        (b"<html>please log in", "not an HDF5 file"),
        (hdf5()[:20], "cut"),
    ],
)
def test_a_wrong_file_that_looks_like_success_is_refused(server, cache, body, reason):
    server.body = body
    with pytest.raises(DownloadError, match=reason):
        fetch(server)
    assert names(cache) == [f".{FILE}.lock"]


@pytest.mark.parametrize(("status", "requests"), [(403, 2), (404, 2), (503, 2 * transfer.ATTEMPTS)])
def test_a_refusal_says_which_file_which_address_where_to_put_it_and_what_is_nearest(server, cache, status, requests):
    server.status = status
    with pytest.raises(DownloadError) as caught:
        fetch(server)
    for part in (
        NAME,
        f"{server.address}/gym_mujoco_v2/{FILE}: {status}",
        str(cache / FILE),
        "--from",
        "--mirror",
    ):
        assert part in str(caught.value)
    assert "rewind/hopper-medium-v1 (Rewind's own data, not D4RL's)" in str(caught.value)
    assert isinstance(caught.value, RewindError)
    assert len(server.seen) == requests  # a folder below the mirror, then the mirror itself


def test_no_network_fails_at_once_with_the_same_advice(server, cache):
    server.server_close()
    with pytest.raises(DownloadError, match=r"refused(.|\n)*rewind/hopper-medium-v1"):
        fetch(server)


def test_without_a_mirror_the_publishers_address_is_asked(monkeypatch):
    asked = []

    def refuse(address, part, progress):
        asked.append(address)
        raise transfer.TransferError("403 Forbidden")

    monkeypatch.setattr(transfer, "transfer", refuse)
    with pytest.raises(DownloadError):
        get(NAME, progress=False)
    assert asked == [entry(NAME).address]


def test_a_mirror_may_be_flat_and_may_come_from_the_environment(server, monkeypatch):
    server.flat = True
    monkeypatch.setenv("REWIND_MIRROR", f"{server.address}/")
    assert get(NAME, progress=False).read_bytes() == server.body
    with pytest.raises(UsageError, match="not a base address"):
        get("hopper-expert-v2", mirror="somewhere")


@pytest.mark.parametrize("same_size", [True, False])
def test_a_file_altered_later_is_detected_when_used(server, cache, same_size):
    path = fetch(server)
    body = bytearray(server.body)
    body[-1] ^= 1
    path.write_bytes(body if same_size else body + b"more")
    with pytest.raises(DataError, match="altered or damaged"):
        fetch(server)


def test_verify_reads_everything_even_if_the_dates_say_nothing_changed(server, cache):
    path = fetch(server)
    before = path.stat()
    assert verify(NAME)["sha256"] == hashlib.sha256(server.body).hexdigest()
    path.write_bytes(hdf5(seed=1))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(DataError, match="altered or damaged"):
        verify(NAME)
    path.unlink()  # deleting the file alone is enough to get it again
    assert fetch(server).read_bytes() == server.body
    path.touch()  # a new date alone is no alteration
    assert fetch(server) == path
    path.unlink()
    with pytest.raises(DataError, match="rewind data get"):
        verify(NAME)


@pytest.mark.parametrize("folder", [True, False])
def test_a_file_on_this_machine_is_taken_and_replaces_the_cached_one(server, cache, tmp_path, folder):
    fetch(server)
    there = tmp_path / "there"
    there.mkdir()
    given = there / (FILE if folder else "mine.hdf5")
    given.write_bytes(hdf5(seed=2))
    assert get(NAME, source=there if folder else given).read_bytes() == given.read_bytes()
    assert verify(NAME)["origin"] == str(given) and given.stat().st_nlink == 1
    assert get(NAME, source=cache).read_bytes() == given.read_bytes()  # the cache itself
    assert names(cache) == [f".{FILE}.lock", FILE, f"{FILE}.json"]


def test_a_bad_source_is_refused_and_nothing_is_lost(server, cache, tmp_path):
    fetch(server)
    (tmp_path / "cut.hdf5").write_bytes(hdf5()[:-1])
    with pytest.raises(DataError, match="cut"):
        get(NAME, source=tmp_path / "cut.hdf5")
    with pytest.raises(UsageError, match=FILE):
        get(NAME, source=tmp_path)
    assert fetch(server).read_bytes() == server.body


def test_d4rls_own_folder_is_used_unless_its_download_was_cut(server, tmp_path):
    (tmp_path / "d4rl").mkdir()
    theirs = tmp_path / "d4rl" / FILE
    theirs.write_bytes(hdf5(seed=3)[:-1])
    assert fetch(server).read_bytes() == server.body
    (cache_folder() / FILE).unlink()
    theirs.write_bytes(hdf5(seed=3))
    assert fetch(server).read_bytes() == theirs.read_bytes()


def test_a_file_put_into_the_cache_by_hand_is_checked_and_recorded(cache):
    cache.mkdir()
    (cache / FILE).write_bytes(hdf5()[:1000])
    with pytest.raises(DataError, match="cut: 1,000 of 300,000"):
        get(NAME)
    (cache / FILE).write_bytes(hdf5())
    assert get(NAME) == cache / FILE
    assert verify(NAME)["origin"] == "found in place"


def test_a_cache_that_cannot_be_written_is_an_error_that_names_it(server, cache):
    cache.write_text("a file where the folder should be")
    with pytest.raises(DownloadError, match=rf"{cache}(.|\n)*set \$REWIND_DATA"):
        fetch(server)


def test_a_read_only_cache_serves_what_it_has_and_refuses_the_rest(cache):
    cache.mkdir()
    (cache / FILE).write_bytes(hdf5())
    cache.chmod(0o500)
    if os.access(cache, os.W_OK):
        pytest.skip("nothing is read-only to this user")
    try:
        assert get(NAME) == cache / FILE
        with pytest.raises(DownloadError, match="cannot be written"):
            get("hopper-expert-v2")
    finally:
        cache.chmod(0o700)


@pytest.mark.parametrize("content", ["", "{", "null", "[]", "{}", '{"size": 1}', '{"size": "1"}', "\xff"])
def test_a_damaged_record_is_an_error_that_says_what_to_do_and_stays_as_it_is(cache, content):
    cache.mkdir()
    (cache / FILE).write_bytes(hdf5())
    (cache / f"{FILE}.json").write_text(content, encoding="latin-1")
    for check in (get, verify):
        with pytest.raises(DataError, match=rf"json is damaged: expected the size.* Delete it .*data get {NAME}"):
            check(NAME)
    assert (cache / f"{FILE}.json").read_text(encoding="latin-1") == content
    (cache / f"{FILE}.json").unlink()
    assert get(NAME) == cache / FILE and verify(NAME)["origin"] == "found in place"


def test_a_folder_that_is_only_read_needs_no_record(cache, monkeypatch):
    cache.mkdir()
    (cache / FILE).write_bytes(hdf5())
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert get(NAME) == cache / FILE
    assert names(cache) == [FILE]


def test_a_full_disk_is_not_taken_for_a_bad_line(server, monkeypatch):
    def full(address, part, progress):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(transfer, "_attempt", full)
    with pytest.raises(DownloadError, match="No space left"):
        fetch(server)


def test_two_processes_at_once_get_one_whole_file_from_one_download(server, cache):
    server.delay = 1.0  # long enough for the other to start
    call = f"get({NAME!r}, mirror={server.address!r}, progress=False)"
    command = [sys.executable, "-c", f"from rewind.data.originals import get; print({call})"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate(timeout=30)[0].strip() for process in both] == [str(cache / FILE)] * 2
    assert (cache / FILE).read_bytes() == server.body
    assert len(server.seen) == 1
    verify(NAME)


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("bar", [True, False])
def test_progress_is_a_bar_on_a_terminal_with_tqdm_and_lines_elsewhere(server, monkeypatch, capfd, bar, terminal):
    if bar:
        pytest.importorskip("tqdm")
    else:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    server.cut_after = [100_000]
    get(NAME, mirror=server.address)
    shown = capfd.readouterr().err
    assert FILE in shown and ("100%" in shown) == (bar and terminal) and ("MiB\n" in shown) != (bar and terminal)


def test_the_command_prints_and_writes_where_the_file_is(server, cache, tmp_path, capsys):
    DataGet(NAME, mirror=server.address, json=tmp_path / "got.json").run()
    written = json.loads((tmp_path / "got.json").read_text())
    assert set(written) == {"name", "path", "file", "size", "sha256", "origin"}
    assert written["path"] == str(cache / FILE) and written["sha256"] in capsys.readouterr().out


@pytest.mark.skipif(not REAL.exists(), reason="the real D4RL file is not beside this checkout")
def test_a_real_d4rl_file_is_taken_and_a_cut_one_is_not(tmp_path):
    assert get("pen-human-v1", source=REAL).stat().st_size == REAL.stat().st_size
    cut = tmp_path / "cut.hdf5"
    cut.write_bytes(REAL.read_bytes()[:-1])
    with pytest.raises(DataError, match="cut"):
        get("pen-human-v1", source=cut)
