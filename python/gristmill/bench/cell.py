"""The process of one cell: ``python -m gristmill.bench.cell``, started by running.

Reads a task from standard input, a line of JSON. Makes its subject ready, says "ready" and runs the task
once, to warm up; says "held" while it holds the output, and waits for a line, so that the memory can be
looked at. Then runs it once more, on the clock, and afterwards counts and digests the output. Ends with a line
of JSON that holds what was measured. Whatever the subject prints goes to standard error.
"""

from __future__ import annotations

import gc
import importlib.metadata
import importlib.util
import json
import os
import sys
import time
from dataclasses import asdict
from types import ModuleType
from typing import Any, Dict, TextIO

from . import ours, processes
from .inputs import Input
from .task import Task, counted
from .values import compared_by_value


def main() -> int:
    tell = _private_output()
    processes.adopt_orphans()
    given = json.loads(sys.stdin.readline())
    peer = given.pop("peer_file", "")
    task = Task(**{**given, "input": Input(**given["input"])})
    found = measure(_module(peer) if peer else ours, task, tell)
    print(json.dumps(found), file=tell, flush=True)
    return 0


def _private_output() -> TextIO:
    """Standard output, for us alone."""
    kept = os.dup(1)
    os.dup2(2, 1)
    return open(kept, "w")


def _module(path: str) -> ModuleType:
    """A peer: a file with the interface that bench/peers/README.md describes."""
    sys.path.insert(0, os.path.dirname(path))
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def measure(subject: Any, task: Task, tell: TextIO) -> Dict[str, Any]:
    if reason := getattr(subject, "available", lambda: "")():
        return {"absent": reason}
    with subject.ready(task) as run:
        print("ready", file=tell, flush=True)
        kept = run()
        print("held", file=tell, flush=True)
        sys.stdin.readline()
        kept = None
        gc.collect()
        load = os.getloadavg()[0]
        cpu, begun = processes.cpu_seconds(), time.perf_counter()
        kept = run()
        ended = time.perf_counter()
        found: Dict[str, Any] = {"wall_s": ended - begun, "cpu_s": processes.cpu_seconds() - cpu, "load": round(load, 2)}
        found.update(getattr(subject, "details", lambda _: {})(kept))
        chunks = subject.output(kept)
        if getattr(subject, "compared", "bytes") == "values":
            found.update(compared_by_value(chunks, task))
        else:
            found.update(counted(chunks).as_fields())
    found["settings"] = "; ".join(filter(None, [_version(subject), getattr(subject, "settings", lambda _: "")(task)]))
    found["task"] = {**asdict(task), "work_folder": ""}
    return found


def _version(subject: Any) -> str:
    package = getattr(subject, "package", "")
    return f"{package} {importlib.metadata.version(package)}" if package else ""


if __name__ == "__main__":
    sys.exit(main())
