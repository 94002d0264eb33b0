"""PUSH and PULL of libzmq in two C programs, compiled from zmq_push_pull.c: no Python on the way of a message."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import List

from ..errors import GristmillError
from .zmq_pair import PATIENCE_S, Received, Way

SOURCE = Path(__file__).with_name("zmq_push_pull.c")


def compiler() -> str:
    """Empty when there is none."""
    return shutil.which(os.environ.get("CC", "cc")) or ""


def library() -> str:
    """Path of the libzmq that this Python has loaded."""
    import zmq

    zmq.zmq_version()
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line.partition("/")[1] + line.partition("/")[2]
        if "libzmq" in Path(path).name:
            return path
    raise GristmillError("this pyzmq has libzmq inside, not as a library of its own")


class Programs:
    """Compiled once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program = folder / "zmq_push_pull"
        self._library = library()
        subprocess.run([compiler(), "-O2", "-o", str(self._program), str(SOURCE), "-ldl"], check=True)

    def push(self, path: Path, size: int, way: Way, digest: bool = False) -> Received:
        """The file's records of ``size`` bytes; the clock is the receiver's."""
        address = "tcp://127.0.0.1:*" if way.transport == "tcp" else f"ipc://{self._folder}/zmq-programs"
        output = self._folder / "received"
        started = [self._start("pull", address, str(way.limit), *([str(output)] if digest else []))]
        try:
            assert started[0].stdout is not None
            endpoint = started[0].stdout.readline().strip()
            how = "copy" if way.copy else "refer"
            started.append(self._start("push", endpoint, str(way.limit), how, str(path), str(size)))
            said, _ = started[0].communicate(timeout=PATIENCE_S)
            started[1].communicate(timeout=PATIENCE_S)
        finally:
            for each in started:
                each.kill()
                each.communicate()
        if any(each.returncode for each in started):
            raise GristmillError("a program that sends or takes zmq messages failed")
        records, total, seconds = said.split()
        found = hashlib.sha256(output.read_bytes()).hexdigest() if digest else ""
        output.unlink(missing_ok=True)
        return Received(int(records), int(total), float(seconds), found)

    def _start(self, *words: str) -> "subprocess.Popen[str]":
        command: List[str] = [str(self._program), self._library, *words]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
