"""Looking at processes: whose children there are, what they are doing, and whether they have gone."""

import os
import time
from pathlib import Path

LIVENESS_SECONDS = 20  # however slow the machine is


def _stat(pid) -> list[str]:
    """Fields of /proc/PID/stat from the third on: state, ppid, pgrp, session, ..."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def alive(pid: int) -> bool:
    return _stat(pid)[:1] not in ([], ["Z"], ["X"])


def _of_multiprocessing(pid) -> bool:
    """Its servers stay until the interpreter ends."""
    try:
        return b"from multiprocessing." in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(pid: int = 0) -> list[int]:
    """Living children of a process, by default of this one; without the servers of multiprocessing."""
    found = []
    for each in filter(str.isdigit, os.listdir("/proc")):
        fields = _stat(each)
        if fields and int(fields[1]) == (pid or os.getpid()) and fields[0] not in "ZX":
            if not _of_multiprocessing(each):
                found.append(int(each))
    return sorted(found)


def descendants(pid: int = 0) -> list[int]:
    found = []
    for child in children(pid):
        found += [child, *descendants(child)]
    return found


def workers() -> list[int]:
    """Worker processes of this process's engines: the nurseries' children."""
    return [worker for nursery in children() for worker in children(nursery)]


def await_true(condition, seconds: float = LIVENESS_SECONDS):
    """What the condition gives, once that is true; fails after a time that only a hang can take."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"{condition} is still false"
        time.sleep(0.002)
    return found


def await_gone(pids, seconds: float = LIVENESS_SECONDS) -> None:
    await_true(lambda: not [pid for pid in pids if alive(pid)], seconds)
