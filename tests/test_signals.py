"""The first SIGINT or SIGTERM is noted; the second is obeyed at once, whatever the process is doing."""

import os
import signal
import subprocess
import sys
import time

import pytest

from rewind import signals
from rewind.errors import UsageError
from rewind.signals import obey_signal, stop_signals

# The main thread runs no Python while it computes, as while JAX compiles.
DEAF = """
import hashlib
from rewind.signals import stop_signals
with stop_signals(end=True):
    print("ready", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"x", b"y", 1 << 30)
"""


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_the_second_ends_a_command_at_once_with_status_130(second):
    command = [sys.executable, "-c", DEAF]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline() == b"\n" and b"again to stop at once" in process.stderr.readline()
        assert process.poll() is None
        process.send_signal(second)
        assert process.wait(20) == signals.STATUS
        assert process.stderr.read() == b"rewind: stopped at once\n"


def test_the_second_raises_an_interrupt_in_a_callers_process(capfd):
    with stop_signals() as received, stop_signals() as inner:
        os.kill(os.getpid(), signal.SIGTERM)
        assert inner is received == [signal.SIGTERM]
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert capfd.readouterr().err.count("again to stop at once") == 1
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


def test_long_work_that_keeps_nothing_obeys_what_was_noted(capfd):
    obey_signal()
    with stop_signals():
        obey_signal()
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            obey_signal()
    obey_signal()


def test_a_command_notes_one_signal_and_leaves_handlers_as_they_were(capfd):
    before = signal.getsignal(signal.SIGINT)
    with stop_signals(end=True) as received:
        os.kill(os.getpid(), signal.SIGINT)
        assert received
        while "again to stop at once" not in capfd.readouterr().err:  # from a thread
            time.sleep(0.01)
    assert signal.getsignal(signal.SIGINT) is before and signals._noted is None


def test_train_notes_signals_before_it_imports_jax(monkeypatch):
    pytest.importorskip("tyro")
    from rewind.cli import train
    from rewind.cli.train_options import DataOptions

    def require_training():
        assert signals._noted == []
        raise UsageError("seen")

    monkeypatch.setattr(train, "require_training", require_training)
    with pytest.raises(UsageError, match="seen"):
        train.Train(DataOptions("x.npz")).run()
