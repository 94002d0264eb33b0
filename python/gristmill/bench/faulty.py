"""Records that make their payload fail, a Python function and a plugin that obey them, and what has to come out."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Mapping, Sequence, Tuple

from ..payload import Plugin

KILL, CRASH, TRANSIENT, HANG, FAIL = b"!k", b"!c", b"!t", b"!h", b"!f"
"""How a marked record begins. KILL and CRASH end the worker (SIGKILL, SIGSEGV) and TRANSIENT raises, the first time
that anybody works on the record; HANG never returns, FAIL always fails."""
ALWAYS_KILL, ALWAYS_CRASH = b"!K", b"!C"
"""End each worker that works on the record."""

_TEXT = b" a record of some sixty bytes, as lines of logs often are"


class Passing(ValueError):
    """Of a record that does not fail again."""


class Faulty:
    """Upper case, a function of one record; marked ones misbehave. The plugin of faulty.c does the same."""

    def __init__(self, marks: str) -> None:
        """``marks``: a folder that remembers which records were there."""
        self._marks = marks

    def __call__(self, record: bytes) -> bytes:
        if record[:1] == b"!":
            self._misbehave(record)
        return record.upper()

    def _misbehave(self, record: bytes) -> None:
        way = record[:2]
        if way in (KILL, CRASH, TRANSIENT) and not self._first_time(record):
            return
        if way in (KILL, ALWAYS_KILL):
            os.kill(os.getpid(), signal.SIGKILL)
        elif way in (CRASH, ALWAYS_CRASH):
            os.kill(os.getpid(), signal.SIGSEGV)
        elif way == TRANSIENT:
            raise Passing("asked to fail once")
        elif way == HANG:
            time.sleep(1e6)
        else:
            raise ValueError("asked to fail")

    def _first_time(self, record: bytes) -> bool:
        try:
            os.close(os.open(os.path.join(self._marks, record.decode()), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True


class Guarded(Faulty):
    """As those write it who are not told which record failed: nothing for one that did."""

    def __call__(self, record: bytes) -> Any:
        try:
            return super().__call__(record)
        except ValueError:
            return None


@dataclass(frozen=True)
class Subject:
    """Who obeys the records: a function or the plugin, and the options that it needs."""

    name: str
    plugin: str
    """Its shared object; empty: the function."""
    options: Mapping[str, Any]

    def payload(self, marks: Path) -> Any:
        return Plugin(self.plugin, config=marks) if self.plugin else Faulty(str(marks))


def subjects(folder: Path) -> Dict[str, Subject]:
    """By name. Compiles the plugin into ``folder``; raises GristmillError where that cannot be done."""
    from ..workshop import build  # not in workers, which import this module each time that one has died

    built = build(Path(__file__).with_name("faulty.c"), folder / "faulty.so")
    found = [
        Subject("function, fork", "", {"start": "fork"}),
        Subject("function, fresh", "", {"start": "fresh"}),
        Subject("plugin", str(built.path), {"isolation": "process"}),
    ]
    return {each.name: each for each in found}


@dataclass(frozen=True)
class Job:
    """A file of records, some of them marked, and the output that it has to have."""

    path: Path
    records: int
    marked: Tuple[int, ...]
    """Which records, from 0."""
    output: bytes
    """With that of marked records, which then have to have succeeded at last."""
    output_without: bytes
    """Without that of marked ones."""


def job(path: Path, records: int, way: bytes, marked: Sequence[int] = ()) -> Job:
    """``way``: what the marked records do."""
    lines = [b"%08d" % number + _TEXT for number in range(records)]
    for number in marked:
        lines[number] = way + b"%d" % number
    path.write_bytes(b"\n".join(lines) + b"\n")
    upper = [line.upper() + b"\n" for line in lines]
    gone = set(marked)
    rest = b"".join(line for number, line in enumerate(upper) if number not in gone)
    return Job(path, records, tuple(marked), b"".join(upper), rest)


def spread(records: int, count: int) -> Tuple[int, ...]:
    """So many of them, at equal distances."""
    return tuple((2 * at + 1) * records // (2 * count) for at in range(count))
