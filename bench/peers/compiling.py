"""Compiles what a peer has in C or C++, outside of the clock."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Sequence

import gristmill as gm

HERE = Path(__file__).resolve().parent


def compiled(source: str, *options: str, shared: bool = True) -> str:
    """The path of a library (or a program) made of a file in this folder; in a folder that stays until the
    process ends. Raises CalledProcessError with what the compiler said."""
    folder = tempfile.TemporaryDirectory(prefix="gristmill-peer-")
    _kept.append(folder)
    target = Path(folder.name) / (Path(source).stem + (".so" if shared else ""))
    language: Sequence[str] = ["c++", "-std=c++20"] if source.endswith(".cpp") else ["cc", "-std=gnu99"]
    kind = ["-shared", "-fPIC"] if shared else []
    command = [*language, "-O3", *kind, f"-I{gm.plugins.include_dir()}", "-o", str(target), str(HERE / source)]
    subprocess.run([*command, *options, "-ldl"], check=True)
    return str(target)


_kept: "list[tempfile.TemporaryDirectory[str]]" = []
