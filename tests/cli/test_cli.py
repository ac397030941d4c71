"""The command itself: what it says when nobody wants to hear more."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("asked", [["train", "--help"], ["data", "list"]])
def test_whoever_reads_no_further_gets_no_traceback(asked):
    command = subprocess.Popen(
        [sys.executable, "-m", "rewind.cli", *asked], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    command.stdout.close()  # as `| head` does
    said = command.stderr.read()
    command.stderr.close()
    assert command.wait(timeout=60) == 141
    assert said == b""
