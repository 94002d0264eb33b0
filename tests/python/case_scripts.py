"""What the numbered cases share: time limits, scripts in process groups of their own, and that all is as before."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from typing import NamedTuple

from expected_records import split
from processes import await_true, descendants

import gristmill as gm

LARGE = "GRISTMILL_LARGE_CASES"  # set it to run cases at their full size


class Done(NamedTuple):
    code: int
    out: str
    err: str
    seconds: float


@contextlib.contextmanager
def limited(seconds: float):
    """Raises TimeoutError in what takes longer."""

    def late(*_):
        raise TimeoutError(f"not done within {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _state():
    tasks = len(os.listdir("/proc/self/task"))
    return {"descriptors": len(os.listdir("/proc/self/fd")), "threads": tasks, "children": len(descendants())}


@contextlib.contextmanager
def all_as_before(seconds: float = 2):
    """Descriptors, threads, children, shared memory and temporary files: none more at the end."""
    before, shared, kept = _state(), set(os.listdir("/dev/shm")), tempfile.tempdir
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ.get("TMPDIR")
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        try:
            yield
        finally:
            tempfile.tempdir = kept
            os.environ.pop("TMPDIR") if environment is None else os.environ.update(TMPDIR=environment)
        end = time.monotonic() + seconds
        while more := _more(before, shared, folder):
            assert time.monotonic() < end, f"left behind: {more}"
            time.sleep(0.01)


def _more(before, shared, folder):
    more = {name: count for name, count in _state().items() if count > before[name]}
    files = {*set(os.listdir("/dev/shm")) - shared, *os.listdir(folder)}
    return {**more, **({"files": files} if files else {})}


def _marked(mark: bytes):
    """Processes that have it in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as environment:
            if mark in environment.read():
                with open(f"/proc/{pid}/stat") as stat:
                    if stat.read().rpartition(")")[2].split()[0] not in "ZX":
                        found.append(int(pid))
    return found


def run_command(command, *, seconds: float = 30, env=None, **options) -> Done:
    """Runs it in a session of its own; it must end in time, and no process of it may live 2 s longer."""
    mark = f"GRISTMILL_CASE={uuid.uuid4()}"
    here = os.pathsep.join(filter(None, sys.path))
    env = {**os.environ, "PYTHONPATH": here, **(env or {}), **dict([mark.split("=")])}
    began = time.monotonic()
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    with subprocess.Popen(command, text=True, start_new_session=True, env=env, **pipes) as child:
        try:
            out, err = child.communicate(timeout=seconds)
            taken = time.monotonic() - began
            await_true(lambda: not _marked(mark.encode()), 2)
        finally:
            for pid in {child.pid, *_marked(mark.encode())} if child.poll() is None else _marked(mark.encode()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    return Done(child.returncode, out, err, taken)


def run_script(script: str, *arguments, **options) -> Done:
    return run_command([sys.executable, "-c", script, *map(str, arguments)], **options)


def take(way: str, payload, source, folder, **options):
    """The records that come by map, run or stream."""
    if way == "map":
        return list(gm.map(payload, source, **options))
    if way == "stream":
        return list(gm.stream(payload, source, **options))
    output = os.path.join(folder, "taken")
    gm.run(payload, source, output=output, **options)
    with open(output, "rb") as file:
        return split(file.read())


@contextlib.contextmanager
def piped(data: bytes, pieces: int = 0, pause: float = 0):
    """A descriptor of a pipe that a thread fills, in pieces of that many bytes."""
    reading, writing = os.pipe()

    def write():
        with contextlib.suppress(BrokenPipeError):
            for at in range(0, len(data), pieces or max(len(data), 1)):
                view = memoryview(data)[at : at + pieces if pieces else None]
                while view:
                    view = view[os.write(writing, view) :]
                if pause:
                    time.sleep(pause)
        os.close(writing)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield reading
    finally:
        os.close(reading)
        writer.join(10)
        assert not writer.is_alive()


def opened(source, path, pieces=0):
    """The path itself, or a pipe through which the file comes."""
    if source == "file":
        return contextlib.nullcontext(path)
    with open(path, "rb") as file:
        return piped(file.read(), pieces)
