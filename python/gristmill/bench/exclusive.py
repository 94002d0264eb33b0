"""One measurement at a time on a machine, whoever runs it: two that overlap measure each other."""

from __future__ import annotations

import fcntl
import os
import sys
import tempfile
from contextlib import contextmanager, suppress
from typing import Iterator

_said = False
_held = False


@contextmanager
def machine() -> Iterator[None]:
    """Waits for other measurements that use this; says so once. ``flock /tmp COMMAND`` takes the same turn.

    The lock is on the folder for temporary files: all see the same, and nothing is left behind. A process may
    take it again while it has it; for one thread.
    """
    global _held
    if _held:
        yield
        return
    folder = os.open(tempfile.gettempdir(), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _take(folder)
        _held = True
        yield
    finally:
        _held = False
        with suppress(OSError):
            fcntl.flock(folder, fcntl.LOCK_UN)  # closing alone would leave it with processes that were forked meanwhile
        os.close(folder)


def _take(folder: int) -> None:
    global _said
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if not _said and sys.stderr is not None:
            print(f"waiting for another measurement on this machine to end{_holder(folder)}", file=sys.stderr, flush=True)
        _said = True
        fcntl.flock(folder, fcntl.LOCK_EX)
    except OSError:  # a file system without locks: no turns there
        pass


def _holder(folder: int) -> str:
    """Which process has the lock, where the kernel tells."""
    place = f":{os.fstat(folder).st_ino}"
    try:
        with open("/proc/locks") as locks:
            held = (line.split() for line in locks if "->" not in line)
            return next((f" (process {word[4]})" for word in held if word[1] == "FLOCK" and word[5].endswith(place)), "")
    except (OSError, IndexError):
        return ""
