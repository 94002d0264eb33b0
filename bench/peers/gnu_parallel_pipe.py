"""GNU parallel --pipe --keep-order: blocks of lines through a filter, a process for each block.

The filter is the same compiled plugin (plugin_filter.c), or Python with the same function (twin_filter.py). Its
output goes to memory; what parallel keeps of each job meanwhile, too (--tmpdir). gnu_parallel_pipepart.py
lets the jobs read the file themselves.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from contextlib import contextmanager
from typing import IO, Callable, Iterable, Iterator, List

from compiling import HERE, compiled
from gristmill.bench.task import PLUGIN, Task

name = "GNU parallel --pipe"
payloads = ("plugin", "function")

__all__ = ["available", "name", "output", "payloads", "ready", "settings"]

_READ = 1 << 24


def available() -> str:
    return "" if shutil.which("parallel") else "GNU parallel is not installed: scripts/setup --peers"


def block(task: Task) -> str:
    """Large enough that starting a process for it weighs little, and several for each worker."""
    wanted = 10 << 20 if task.payload == PLUGIN else 4 << 20
    return str(max(1 << 16, min(wanted, task.input.bytes // (4 * task.workers))))


def settings(task: Task) -> str:
    return f"--block {block(task)}"


def filter_command(task: Task) -> List[str]:
    if task.payload == PLUGIN:
        return [compiled("plugin_filter.c", shared=False), task.plugin_path(), task.plugin_config]
    return [sys.executable, str(HERE / "twin_filter.py"), task.input.set, task.input.vocabulary]


def shared_options(task: Task) -> List[str]:
    folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp"
    return ["--will-cite", "--keep-order", f"--jobs={task.workers}", "--block", block(task), f"--tmpdir={folder}"]


@contextmanager
def ready(task: Task) -> Iterator[Callable[[], IO[bytes]]]:
    command = ["parallel", *shared_options(task), "--pipe", shlex.join(filter_command(task))]

    def run() -> IO[bytes]:
        with open(task.input.path, "rb") as source:
            return kept_output(command, source)

    yield run


def kept_output(command: List[str], source: "IO[bytes] | int") -> IO[bytes]:
    kept = os.fdopen(os.memfd_create("parallel-output"), "w+b")
    subprocess.run(command, stdin=source, stdout=kept, check=True)
    return kept


def output(kept: IO[bytes]) -> Iterable[bytes]:
    kept.seek(0)
    rest = b""
    while more := kept.read(_READ):
        whole, newline, rest = (rest + more).rpartition(b"\n")
        yield whole + newline
