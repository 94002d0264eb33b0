"""How far a study is, with the time left, on standard error."""

from __future__ import annotations

import sys
import time

from .plan import Configuration
from .table import size

_BAR = 24


class ProgressLine:
    """A line that is written over on a terminal; elsewhere one now and then."""

    _EVERY_SECONDS = 30.0

    def __init__(self, cells: int) -> None:
        self._cells = cells
        self._finished = 0
        self._begun = time.monotonic()
        self._spent = 0.0
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        self._next = 0.0

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(self, *_: object) -> None:
        if self._terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def show(self, each: Configuration, trial: int) -> None:
        """This cell begins."""
        now = time.monotonic()
        self._begun = now
        if sys.stderr is None or (not self._terminal and now < self._next):
            return
        self._next = now + self._EVERY_SECONDS
        filled = _BAR * self._finished // max(1, self._cells)
        left = f", {self._left()} left" if self._finished else ""
        task = each.task
        what = f"{task.input.set} {task.payload} ({size(task.input.bytes)}), {task.subject} {task.nodes}"
        text = f"[{'#' * filled:<{_BAR}}] {self._finished}/{self._cells}{left}  trial {trial + 1}: {what.rstrip()}"
        begin, end = ("\r", "\x1b[K") if self._terminal else ("", "\n")
        print(begin + text, end=end, file=sys.stderr, flush=True)

    def done(self, each: Configuration) -> None:
        self._finished += 1
        self._spent += time.monotonic() - self._begun

    def skip(self, each: Configuration) -> None:
        self._cells -= 1

    def _left(self) -> str:
        """As long for each cell that is to come as for those that were."""
        seconds = int(self._spent / self._finished * (self._cells - self._finished))
        return f"{seconds // 60}:{seconds % 60:02}"
