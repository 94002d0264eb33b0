"""What a process and all that it started use: memory and CPU time, from /proc."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import time
from typing import Dict, List, Set, Tuple

_TICK_SECONDS = 1 / os.sysconf("SC_CLK_TCK")
_PR_SET_CHILD_SUBREAPER = 36
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)


def adopt_orphans() -> None:
    """Lets what descendants of this process leave behind become its children, so that they are seen."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def tree(root: int) -> List[int]:
    """A process and its descendants, those that live now."""
    children: Dict[int, List[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            parent = _parent(int(name))
            children.setdefault(parent, []).append(int(name))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


def _stat(pid: int) -> List[str]:
    """Fields of /proc/PID/stat from the state (its third) on; empty when the process is gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()
    except _GONE:
        return []


def _parent(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[1]) if fields else 0


def identities(pids: List[int]) -> Dict[int, str]:
    """The processes that live of these, each with its start: a number may be given again, both may not."""
    return {pid: fields[19] for pid in pids if (fields := _stat(pid)) and fields[0] != "Z"}


def kill(known: Dict[int, str]) -> None:
    """Those of identities() that still live."""
    for pid, start in known.items():
        if identities([pid]).get(pid) == start:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def memory_bytes(root: int) -> int:
    """Memory of a process tree: the proportional share of private and file pages, and the blocks of files
    in memory (memfds and shared memory), each once, whoever has mapped them."""
    total = 0
    files: Dict[Tuple[int, int], int] = {}
    for pid in tree(root):
        try:
            total += _share_without_shared_memory(pid)
            _add_memory_files(pid, files)
        except _GONE:
            continue
    return total + sum(files.values())


def _share_without_shared_memory(pid: int) -> int:
    share = 0
    with open(f"/proc/{pid}/smaps_rollup") as rollup:
        for line in rollup:
            if line.startswith("Pss:"):
                share += int(line.split()[1]) * 1024
            elif line.startswith("Pss_Shmem:"):
                share -= int(line.split()[1]) * 1024
    return share


def _add_memory_files(pid: int, files: Dict[Tuple[int, int], int]) -> None:
    places = [f"/proc/{pid}/fd/{each}" for each in os.listdir(f"/proc/{pid}/fd")]
    places += [f"/proc/{pid}/map_files/{each}" for each in _mapped(pid)]
    for place in places:
        try:
            target = os.readlink(place)
            if target.startswith(("/memfd:", "/dev/shm/")):
                facts = os.stat(place)
                files[facts.st_dev, facts.st_ino] = facts.st_blocks * 512
        except OSError:
            continue


def _mapped(pid: int) -> List[str]:
    """Files that are mapped though their descriptor is closed; who may not look sees none."""
    try:
        return os.listdir(f"/proc/{pid}/map_files")
    except OSError:
        return []


def cpu_seconds() -> float:
    """CPU time of this process, of its children that ended, and of its descendants that live."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = time.process_time() + ended.ru_utime + ended.ru_stime
    seen: Set[int] = {os.getpid()}
    for pid in tree(os.getpid()):
        if pid not in seen:
            seen.add(pid)
            total += _cpu_of(pid)
    return total


def cpu_seconds_of(pids: List[int]) -> float:
    """CPU time of live processes and of their children that ended, each of them named."""
    return sum(map(_cpu_of, pids))


def switches_of(pids: List[int]) -> Tuple[int, int]:
    """How often threads of these live processes went to sleep by themselves, and were made to wait."""
    voluntary = involuntary = 0
    for pid in pids:
        for thread in _threads(pid):
            with contextlib.suppress(*_GONE), open(f"/proc/{pid}/task/{thread}/status") as status:
                facts = dict(line.split(":", 1) for line in status)
                voluntary += int(facts["voluntary_ctxt_switches"])
                involuntary += int(facts["nonvoluntary_ctxt_switches"])
    return voluntary, involuntary


def _threads(pid: int) -> List[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except _GONE:
        return []


def _cpu_of(pid: int) -> float:
    """Of a live process and of its children that ended."""
    fields = _stat(pid)
    if not fields:
        return 0.0
    children = (int(fields[13]) + int(fields[14])) * _TICK_SECONDS
    try:
        return time.clock_gettime((~pid << 3) | 2) + children  # the CPU clock of that process
    except OSError:
        return (int(fields[11]) + int(fields[12])) * _TICK_SECONDS + children
