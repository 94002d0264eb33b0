"""Runs cells: each in a process of its own, whose memory is looked at while it warms up."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, Dict, Optional

from . import exclusive, processes
from .task import Task

_LOOK_SECONDS = 0.02
_END_SECONDS = 20
_LAST_WORDS = 2000
_MEASURING = ("cell.py", "ours.py", "processes.py", "running.py", "task.py", "twins.py", "values.py")


def measure(task: Task, python: str, peer_file: str = "", limit_s: float = 3600) -> Dict[str, Any]:
    """What the cell measured, with ``peak_memory_bytes``. One that fails gives {"error": why}."""
    with exclusive.machine(), tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            [python, "-m", "gristmill.bench.cell"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
            start_new_session=True, bufsize=0,  # a line in a buffer of ours would not be seen by select
        )  # fmt: skip
        found = None
        try:
            found = _converse(child, {**asdict(task), "peer_file": peer_file}, limit_s)
        finally:
            _end(child, _END_SECONDS if found and "wall_s" in found else 0)
        if found is None:
            return {"error": _last_words(errors) or f"the cell ended with status {child.returncode}"}
        return found


def _converse(child: "subprocess.Popen[bytes]", spec: Dict[str, Any], limit_s: float) -> Optional[Dict[str, Any]]:
    assert child.stdin is not None and child.stdout is not None
    deadline = time.monotonic() + limit_s
    peak = 0
    try:
        child.stdin.write(json.dumps(spec).encode() + b"\n")
        child.stdin.flush()
        line = _line_until(child.stdout, deadline)
        if line == b"ready\n":
            with selectors.DefaultSelector() as selector:
                selector.register(child.stdout, selectors.EVENT_READ)
                while not selector.select(_LOOK_SECONDS) and time.monotonic() < deadline:
                    peak = max(peak, processes.memory_bytes(child.pid))
            line = _line_until(child.stdout, deadline)
        if line == b"held\n":
            peak = max(peak, processes.memory_bytes(child.pid))
            child.stdin.write(b"\n")
            child.stdin.flush()
            line = _line_until(child.stdout, deadline)
        return {**json.loads(line), "peak_memory_bytes": peak}
    except (OSError, ValueError):
        return None


def _line_until(stream: IO[bytes], deadline: float) -> bytes:
    """The next line, which comes whole; at the deadline one that says so."""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        if not selector.select(max(0.0, deadline - time.monotonic())):
            return b'{"error": "not done within --cell-limit"}'
    return stream.readline()


def _end(child: "subprocess.Popen[bytes]", patience_s: float) -> None:
    """The cell, and whatever it started: waits so long for an end in good order."""
    assert child.stdin is not None and child.stdout is not None
    started = processes.identities(processes.tree(child.pid))
    child.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(patience_s)
    if child.returncode is None:
        started = processes.identities(processes.tree(child.pid))
    processes.kill(started)
    child.stdout.close()
    child.wait()


def _last_words(errors: IO[bytes]) -> str:
    errors.seek(0, os.SEEK_END)
    errors.seek(max(0, errors.tell() - _LAST_WORDS))
    said = errors.read().decode("utf-8", "replace").strip().splitlines()
    return said[-1] if said else ""


class Kept:
    """Results of cells that are kept in a folder, for a study that goes on or is run again."""

    def __init__(self, folder: Optional[Path]) -> None:
        self._folder = folder
        self._build = build_identity()
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def _place(self, task: Task, trial: int, peer: str) -> Optional[Path]:
        if self._folder is None:
            return None
        spec = asdict(task)
        spec["work_folder"] = spec["input"]["path"] = ""
        key = json.dumps([spec, trial, self._build, peer], sort_keys=True)
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"

    def find(self, task: Task, trial: int, peer: str) -> Optional[Dict[str, Any]]:
        """``peer``: see peer_identity()."""
        place = self._place(task, trial, peer)
        try:
            return json.loads(place.read_text()) if place else None
        except (OSError, ValueError):
            return None

    def keep(self, task: Task, trial: int, peer: str, found: Dict[str, Any]) -> None:
        """Nothing is kept of a cell that failed, or of a peer that is not there."""
        place = self._place(task, trial, peer)
        if place is None or "error" in found or "absent" in found:
            return
        written = place.with_suffix(".new")
        written.write_text(json.dumps(found))
        written.replace(place)


def build_identity() -> str:
    """Of the package that runs: a digest of its files, but for those that only plan and show studies."""
    package = Path(__file__).resolve().parents[1]
    files = [path for path in package.rglob("*") if path.is_file() and path.suffix in (".py", ".so", "")]
    files = [path for path in files if path.parent.name not in ("bench", "cli") or path.name in _MEASURING]
    return _digest_of(sorted(files)) + f"-{sys.version_info[0]}.{sys.version_info[1]}"


def peer_identity(file: str, python: str) -> str:
    """Of a peer: its file and what stands beside it, and what is installed for the Python that it runs in. Of ours
    empty."""
    if not file:
        return ""
    beside = sorted(path for path in Path(file).parent.iterdir() if path.is_file())
    installed = sorted(path.name for path in Path(python).parent.parent.glob("lib/python*/site-packages/*.dist-info"))
    return _digest_of([Path(file), *beside]) + hashlib.sha256(" ".join(installed).encode()).hexdigest()[:16]


def _digest_of(files: Any) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]
