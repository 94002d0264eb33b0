"""Measurements take turns on a machine."""

import os
import subprocess
import sys
import tempfile

import pytest

from gristmill.bench import exclusive

WAITER = """
from gristmill.bench import exclusive
with exclusive.machine():
    print("mine", flush=True)
"""


@pytest.fixture(autouse=True)
def same_folder(monkeypatch):
    """As the processes that are started here see it, not as it was when this one began."""
    monkeypatch.setattr(tempfile, "tempdir", os.environ["TMPDIR"])


def waiter():
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", WAITER], stdout=pipe, stderr=pipe, text=True)


def test_the_next_waits_and_says_for_whom():
    with exclusive.machine():
        with exclusive.machine():  # again, in the same process
            pass
        other = waiter()
        assert f"to end (process {os.getpid()})" in other.stderr.readline()
        assert other.poll() is None
    out, rest = other.communicate(timeout=60)
    assert (out, rest, other.returncode) == ("mine\n", "", 0)


def test_a_process_that_was_forked_meanwhile_keeps_no_turn():
    reading, writing = os.pipe()
    with exclusive.machine():
        child = os.fork()
        if child == 0:
            os.close(writing)
            os.read(reading, 1)  # until the test is over
            os._exit(0)
    other = waiter()
    out, rest = other.communicate(timeout=60)
    os.close(writing)
    os.waitpid(child, 0)
    os.close(reading)
    assert (out, rest) == ("mine\n", "")
