"""One of several engines that share nothing: ``python -m gristmill.bench.scaling_part SPEC``, for scaling.

It runs its task each time that a line with a moment comes, from that moment on.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any, Callable, Iterator, List, Sequence, Tuple

from . import ours, processes
from .inputs import Input
from .task import Task

_HEAD_START_SECONDS = 0.05


@dataclass(frozen=True)
class Took:
    """What one run of a task took."""

    begun: float
    """By time.monotonic(), which is the same for all processes."""
    ended: float
    cpu_s: float
    """User and system time of the process and all its descendants."""
    digest: str
    """Of the output."""


def measure(run: Callable[[], Any], moment: float = 0.0) -> Took:
    """``moment``: to begin at, by time.monotonic()."""
    cpu = processes.cpu_seconds()
    time.sleep(max(0.0, moment - time.monotonic()))
    begun = time.monotonic()
    results = run()
    ended = time.monotonic()
    cpu = processes.cpu_seconds() - cpu
    digest = hashlib.sha256()
    for chunk in ours.output(results):
        digest.update(chunk)
    return Took(begun, ended, cpu, digest.hexdigest())


class Parts:
    """Engines of one worker, each in a process of its own, and on a CPU of its own while there are enough."""

    def __init__(self, tasks: Sequence[Task], cpus: Sequence[int]) -> None:
        self._children: List["subprocess.Popen[str]"] = []
        try:
            for task, cpu in zip(tasks, cpus):
                spec = json.dumps({"task": asdict(task), "cpu": cpu})
                command = [sys.executable, "-m", "gristmill.bench.scaling_part", spec]
                pipe = subprocess.PIPE
                self._children.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))
            for child in self._children:
                _answer(child)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Parts":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for child in self._children:
            with contextlib.suppress(BrokenPipeError):
                child.communicate()

    def measure(self) -> Tuple[float, float, List[str]]:
        """All together: seconds from the first beginning to the last end, CPU seconds, digests of the outputs."""
        moment = time.monotonic() + _HEAD_START_SECONDS
        for child in self._children:
            assert child.stdin is not None
            child.stdin.write(f"{moment}\n")
            child.stdin.flush()
        took = [Took(**_answer(child)) for child in self._children]
        wall = max(each.ended for each in took) - min(each.begun for each in took)
        return wall, sum(each.cpu_s for each in took), [each.digest for each in took]


def _answer(child: "subprocess.Popen[str]") -> Any:
    assert child.stdout is not None
    line = child.stdout.readline()
    if not line:
        raise RuntimeError("a process of the ideal has ended")
    return json.loads(line)


@contextlib.contextmanager
def _kept_to(cpu: int) -> Iterator[None]:
    """An engine that is made meanwhile plans for this CPU alone."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def main() -> None:
    spec = json.loads(sys.argv[1])
    task = Task(**{**spec["task"], "input": Input(**spec["task"]["input"])})
    with contextlib.ExitStack() as stack:
        with _kept_to(spec["cpu"]):
            run = stack.enter_context(ours.ready(task))
        run()
        print("{}", flush=True)
        for line in sys.stdin:
            print(json.dumps(asdict(measure(run, float(line)))), flush=True)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):  # who started this says so
        main()
