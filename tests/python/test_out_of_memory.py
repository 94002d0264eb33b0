"""Functions that use up a memory limit: of their process, or of the group that the kernel watches."""

import os
import subprocess
import sys
from pathlib import Path

import misbehaviour as bad
import pytest

import gristmill as gm

LIMIT_BYTES = 96 << 20
IN_A_GROUP = """
import os, sys
open(sys.argv[1] + "/cgroup.procs", "w").write(str(os.getpid()))
import gristmill as gm

def hungry(record):
    kept = []
    while record == b"7":
        kept.append(os.urandom(1 << 20))
    return record

for policy in ("raise", "skip"):
    try:
        gm.run(hungry, sys.argv[2], workers=2, batch_records=3, on_error=policy)
    except gm.WorkerCrashed as error:
        print(error.oom, error)
print(gm.run(bytes.upper, sys.argv[2]).emitted)
"""


@pytest.fixture
def small_group():
    """A control group with little memory, of either version."""
    root = Path("/sys/fs/cgroup")
    old = (root / "memory").is_dir()
    group = root / ("memory" if old else "") / f"gristmill-test-{os.getpid()}"
    limits = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"] if old else ["memory.max", "memory.swap.max"]
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"cannot make a control group here: {error}")
    try:
        (group / limits[0]).write_text(str(LIMIT_BYTES))
        if (group / limits[1]).exists():
            (group / limits[1]).write_text(str(LIMIT_BYTES) if old else "0")
        yield str(group)
    except OSError as error:
        pytest.skip(f"cannot limit memory here: {error}")
    finally:
        group.rmdir()


def test_the_kernel_kills_workers_for_want_of_memory(file, small_group):
    source = file(b"".join(b"%d\n" % n for n in range(20)))
    done = subprocess.run(
        [sys.executable, "-c", IN_A_GROUP, small_group, source], capture_output=True, text=True, timeout=50
    )
    lines = done.stdout.splitlines()
    assert (len(lines), lines[-1], done.stderr) == (3, "20", "")
    for line in lines[:2]:
        assert line.startswith("True ") and "want of memory" in line


def test_a_function_that_meets_the_limit_of_its_process(file):
    source = file(b"".join(b"%d\n" % n for n in range(20)))

    def hungry(record):
        if record == b"7":
            bad.exhaust_memory()
        return record

    for start in ("fork", "fresh"):
        results = gm.map(hungry, source, workers=2, batch_records=3, start=start, on_error="collect")
        assert list(results) == [b"%d" % n for n in range(20) if n != 7]
        assert [(error.index, error.kind) for error in results.errors] == [(7, "MemoryError")]
