"""The executor: messages there and back, errors as if they were raised here, and no process that outlives its use."""

import errno
import gc
import signal
import time
from concurrent.futures import wait

import numpy as np
import pytest

from rewind.errors import Abandoned, DataError
from rewind.processes import Process, ProcessEnded, Processes

PROGRAM = """
import os, time
from rewind.errors import DataError
from rewind.processes import serve

def answer(message):
    print("what a library prints is no answer")
    kind = str(message["kind"])
    if kind == "bad data":
        raise DataError("not a number")
    if kind == "full disk":
        raise OSError({full}, "No space left on device")
    if kind == "end":
        os._exit(7)
    time.sleep(float(message.get("seconds", 0)))
    return {{"twice": 2 * message["values"], "process": os.getpid(), "folder": os.getcwd()}}

serve(answer)
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    (tmp_path / "echo_program.py").write_text(PROGRAM.format(full=errno.ENOSPC))
    monkeypatch.syspath_prepend(tmp_path)
    return "echo_program"


def echo(seconds=0.0):
    return {"kind": "echo", "values": np.arange(3.0), "seconds": seconds}


def test_a_message_there_and_back_in_the_same_process_and_folder(program, tmp_path):
    process = Process(program, tmp_path)
    first, second = process.ask(echo()), process.ask(echo())
    np.testing.assert_array_equal(first["twice"], [0, 2, 4])
    assert first["process"] == second["process"] and str(first["folder"]) == str(tmp_path.resolve())


def test_what_is_raised_there_is_raised_here_and_the_process_lives(program):
    process = Process(program)
    before = process.ask(echo())["process"]
    with pytest.raises(DataError, match="not a number"):
        process.ask({"kind": "bad data"})
    with pytest.raises(OSError, match="No space left") as full:
        process.ask({"kind": "full disk"})
    assert full.value.errno == errno.ENOSPC and process.ask(echo())["process"] == before


def test_a_process_that_ended_is_named_and_the_next_message_starts_another(program):
    process = Process(program)
    with pytest.raises(ProcessEnded, match="echo_program ended with status 7"):
        process.ask({"kind": "end"})
    assert process.ask(echo())["twice"][2] == 4


def test_whoever_no_longer_waits_gets_no_late_answer(program):
    process = Process(program)
    begin = time.monotonic()
    with pytest.raises(Abandoned):
        process.ask(echo(seconds=60), stop=lambda: True)
    assert time.monotonic() - begin < 10
    np.testing.assert_array_equal(process.ask({**echo(), "values": 1.0})["twice"], 2.0)


def test_a_process_ends_with_whoever_asked_it(program):
    process = Process(program)
    process.ask(echo())
    running = process._process
    del process
    gc.collect()
    assert running.wait(10) == -signal.SIGKILL


def test_several_work_side_by_side_and_end_at_once_when_they_are_closed(program):
    with Processes(program, 2) as processes:
        both = [processes.submit(echo(0.2)) for _ in range(2)]
        wait(both)
        assert len({int(future.result()["process"]) for future in both}) == 2
        begin = time.monotonic()
        late = [processes.submit(echo(60)) for _ in range(3)]
    assert time.monotonic() - begin < 10 and late[2].cancelled()


def test_a_file_in_the_working_directory_stands_in_for_no_module_of_python(program, tmp_path, monkeypatch):
    """NumPy imports `secrets`. Modules that Python does not have are found there, as in this process."""
    here = tmp_path / "here"
    here.mkdir()
    (here / "secrets.py").write_text("raise SystemExit('a secrets.py in the working directory ran')")
    (here / "in_the_folder.py").write_text("from echo_program import *")
    monkeypatch.chdir(here)
    assert Process(program).ask(echo())["process"]
    monkeypatch.syspath_prepend("")
    assert Process("in_the_folder").ask(echo())["process"]
