"""GNU parallel --pipepart --keep-order: as gnu_parallel_pipe.py, but each job reads its part of the file itself."""

from __future__ import annotations

import shlex
import subprocess
from contextlib import contextmanager
from typing import IO, Callable, Iterator

from gnu_parallel_pipe import available, shared_options, filter_command, kept_output, output, settings
from gristmill.bench.task import Task

name = "GNU parallel --pipepart"
payloads = ("plugin", "function")

__all__ = ["available", "name", "output", "payloads", "ready", "settings"]


@contextmanager
def ready(task: Task) -> Iterator[Callable[[], IO[bytes]]]:
    command = ["parallel", *shared_options(task), "--pipepart", "-a", task.input.path, shlex.join(filter_command(task))]
    yield lambda: kept_output(command, subprocess.DEVNULL)
