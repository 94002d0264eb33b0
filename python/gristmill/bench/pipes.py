"""What `cat` writes into a pipe, and what that alone takes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import IO, Any


class Pipe:
    """``cat PATH |``; ended when it is left."""

    def __init__(self, path: Path) -> None:
        self._child = subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE)
        assert self._child.stdout is not None
        self.output: IO[bytes] = self._child.stdout
        self.cpu_seconds = 0.0
        """That cat took, once it has ended."""

    def __enter__(self) -> Pipe:
        return self

    def __exit__(self, *_: Any) -> None:
        self.output.close()
        _, _, usage = os.wait4(self._child.pid, 0)
        self._child.returncode = 0
        self.cpu_seconds = usage.ru_utime + usage.ru_stime


def cat_dd(path: Path) -> None:
    """``cat PATH | dd bs=1M of=/dev/null``."""
    with Pipe(path) as pipe:
        subprocess.run(["dd", "bs=1M", "of=/dev/null", "status=none"], stdin=pipe.output, check=True)
