"""Byte ranges of whole lines."""

from __future__ import annotations

import os
from typing import List, Tuple


def cut(path: str, size: int) -> List[Tuple[int, int]]:
    """(begin, size) of each: about as long as asked for, up to the end of a line."""
    found, begin, whole = [], 0, os.path.getsize(path)
    with open(path, "rb") as file:
        while begin < whole:
            file.seek(min(begin + size, whole) - 1)
            file.readline()
            end = file.tell()
            found.append((begin, end - begin))
            begin = end
    return found


def read_lines(path: str, begin: int, size: int) -> List[bytes]:
    with open(path, "rb") as file:
        file.seek(begin)
        return file.read(size).split(b"\n")[:-1]
