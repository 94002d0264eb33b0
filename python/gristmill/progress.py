"""How far a run is, shown while it lasts: with tqdm where it is installed, else as a line of text."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import contextmanager
from typing import Any, Callable, Iterator, List, Optional

from . import _core

Tell = Callable[[int, int, int, int, int, float], None]


@contextmanager
def shown(
    wanted: Optional[bool], sources: List[_core.Source], workers: int
) -> Iterator[Optional[Tell]]:
    """What the engine is to call about ten times a second; None when nothing is to be shown."""
    if not wanted or sys.stderr is None:
        yield None
        return
    display = _display(_total_bytes(sources), max(workers, 1))
    try:
        yield display.tell
    finally:
        display.close()


def _total_bytes(sources: List[_core.Source]) -> int:
    """0 when nobody knows."""
    total = 0
    for source in sources:
        try:
            facts = os.stat(source.file)
        except OSError:  # the run will say so
            continue
        if not stat.S_ISREG(facts.st_mode):
            return 0
        total += facts.st_size
    return total


def _display(total: int, workers: int) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line(total, workers)
    return _Bar(tqdm(total=total or None, unit="B", unit_scale=True, file=sys.stderr), workers)


class _Bar:
    def __init__(self, bar: Any, workers: int) -> None:
        self._bar = bar
        self._workers = workers

    def tell(
        self, records: int, failed: int, done: int, retries: int, busy: int, seconds: float
    ) -> None:
        self._bar.n = done
        self._bar.set_postfix_str(_words(records, failed, retries, busy, self._workers), refresh=False)
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


class _Line:
    """One line, written over on a terminal; elsewhere one every few seconds."""

    _EVERY_SECONDS = 5.0

    def __init__(self, total: int, workers: int) -> None:
        self._total = total
        self._workers = workers
        self._terminal = _is_terminal()
        self._next = 0.0
        self._written = 0

    def tell(
        self, records: int, failed: int, done: int, retries: int, busy: int, seconds: float
    ) -> None:
        if not self._terminal and seconds < self._next and done < self._total:
            return
        self._next = seconds + self._EVERY_SECONDS
        share = f"{100 * done / self._total:3.0f} %  " if self._total else ""
        rate = done / seconds / 1e6 if seconds else 0.0
        text = f"{share}{_words(records, failed, retries, busy, self._workers)}, {rate:,.0f} MB/s"
        if 0 < done < self._total:
            text += f", {seconds * (self._total - done) / done:,.0f} s left"
        self._write(text)

    def _write(self, text: str) -> None:
        begin, end = ("\r", "") if self._terminal else ("", "\n")
        _say(begin + text.ljust(self._written) + end)
        self._written = len(text) if self._terminal else 0

    def close(self) -> None:
        if self._written:
            _say("\n")


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except ValueError:  # closed
        return False


def _say(text: str) -> None:
    """A display that cannot be written does not end the run."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        pass


def _words(records: int, failed: int, retries: int, busy: int, workers: int) -> str:
    text = f"{records:,} records, {busy} of {workers} workers busy"
    if failed:
        text += f", {failed:,} failed"
    if retries:
        text += f", {retries:,} retries"
    return text
