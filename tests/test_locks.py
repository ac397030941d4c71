"""A lock is held by one process, says when it waits, and ends with its process."""

import errno
import subprocess
import sys

import pytest

pytest.importorskip("filelock")

from rewind.errors import UsageError
from rewind.files import only_one

HOLDER = """
import sys, time
from pathlib import Path
from rewind.files import only_one
with only_one(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


@pytest.fixture
def target(tmp_path):
    return tmp_path / "data.hdf5"


def hold(target, seconds):
    """Another process that holds the lock for so long."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(target), str(seconds)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"held\n"
    return process


def test_who_waits_says_so_once_and_then_goes_on(target, capsys):
    with hold(target, 0.5) as holder, only_one(target):
        assert holder.wait(5) == 0
    assert capsys.readouterr().err == "waiting for another process that is getting data.hdf5\n"


def test_who_must_not_wait_gets_the_error_at_once(target):
    with hold(target, 60) as holder:
        with pytest.raises(UsageError, match="come back later"), only_one(target, busy="come back later"):
            pass
        holder.kill()


def test_the_lock_of_a_killed_process_is_free(target, capsys):
    with hold(target, 60) as holder:
        holder.kill()
    with only_one(target, busy="held"):
        pass
    assert [path.name for path in target.parent.iterdir()] == [".data.hdf5.lock"]


@pytest.mark.skipif(sys.platform == "win32", reason="flock")
@pytest.mark.parametrize("code", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_still_works_and_keeps_no_mark(target, monkeypatch, code, recwarn):
    def flock(*_):
        raise OSError(code, "no locks here")

    monkeypatch.setattr("fcntl.flock", flock)
    with only_one(target), only_one(target):
        pass
    assert not recwarn.list


def test_a_folder_that_cannot_be_written_is_an_error(target):
    target.parent.rmdir()
    target.parent.write_text("not a folder")
    with pytest.raises(OSError), only_one(target):
        pass
