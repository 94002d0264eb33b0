"""Counted runs that are disturbed by signals, in small numbers; tests/stress/kills.py has the large ones."""

import subprocess
import sys
from pathlib import Path

KILLS = Path(__file__).resolve().parents[1] / "stress" / "kills.py"


def kills(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(KILLS), *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)


def test_no_kill_changes_an_output():
    done = kills("--quick")
    assert done.returncode == 0, done.stdout


def test_a_changed_byte_is_seen():
    done = kills("--spoil", "--only", "one-kill-plugin", "--runs", "2")
    assert done.returncode == 1 and "0 identical outputs; 1 rows wrong" in done.stdout, done.stdout
