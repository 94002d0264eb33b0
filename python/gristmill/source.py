"""Where the records come from: files, named one by one or by a pattern, or items."""

from __future__ import annotations

import errno
import glob
import io
import os
from typing import Any, Iterable, List, Optional, Sequence, Union

from .errors import ArgumentTypeError, GristmillError, SourceError, UnsupportedError

Path = Union[str, "os.PathLike[str]"]
Source = Union[Path, Sequence[Path], Iterable[Any]]

_INSTEAD = "save the records to a file and give its path"


class Items:
    """An iterable that is to be taken item by item, whatever else it might be; see items()."""

    def __init__(self, iterable: Iterable[Any]) -> None:
        self.iterable = iterable


def items(iterable: Iterable[Any]) -> Items:
    """Marks an iterable as items, one record each, also when it could be taken for paths."""
    return Items(iterable)


def resolve(source: Source) -> Union[List[bytes], Items]:
    """Paths of the files that ``source`` names, as the operating system wants them; or items.

    Raises SourceError (also a FileNotFoundError) when a pattern matches nothing,
    ArgumentTypeError and UnsupportedError. Files are opened when their turn comes.
    """
    if isinstance(source, (str, os.PathLike)):
        return [_encoded(path) for path in _matching(source)]
    if isinstance(source, (list, tuple)) and all(isinstance(p, (str, os.PathLike)) for p in source):
        return [_encoded(path) for path in source]
    if isinstance(source, Items):
        return source
    refusal = _refusal(source)
    if refusal is not None:
        raise refusal
    return Items(source)


def _encoded(path: Union[Path, bytes]) -> bytes:
    if path == "-":
        raise UnsupportedError(f"this version cannot read standard input ('-') yet; {_INSTEAD}")
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise SourceError(f"{path!r} is no path: it has a NUL character", None, errno.EINVAL)
    return encoded


def _matching(source: Path) -> List[Any]:
    path = os.fspath(source)
    if b"\0" in os.fsencode(path) or os.path.lexists(path) or not glob.has_magic(path):
        return [path]
    found = sorted(each for each in glob.glob(path, recursive=True) if not os.path.isdir(each))
    if not found:
        raise SourceError(f"no file matches {path!r}", os.fsdecode(path), errno.ENOENT)
    return found


def _refusal(source: object) -> Optional[GristmillError]:
    if isinstance(source, (bytes, bytearray, memoryview)):
        return ArgumentTypeError(
            f"source={type(source).__name__} could mean a path or the records themselves;"
            " for a path give a str, for records gm.items([...])"
        )
    if isinstance(source, io.TextIOBase) or (hasattr(source, "fileno") and hasattr(source, "encoding")):
        return ArgumentTypeError(
            "source is a file opened in text mode; records are bytes: open it in mode 'rb',"
            " or give its path"
        )
    if isinstance(source, bool):
        return ArgumentTypeError("source takes a path, a list of paths, or an iterable of items, not bool")
    if isinstance(source, int) or hasattr(source, "fileno"):
        return UnsupportedError(f"this version cannot read descriptors yet; {_INSTEAD}")
    if hasattr(source, "__iter__"):
        return None
    return ArgumentTypeError(
        f"source takes a path, a list of paths, or an iterable of items, not {type(source).__name__}"
    )
