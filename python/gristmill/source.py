"""Where the records come from: files, named one by one or by a pattern, or items."""

from __future__ import annotations

import errno
import glob
import io
import os
import socket
import sys
from typing import Any, BinaryIO, Iterable, List, Optional, Sequence, Union

from . import _core
from . import option_values as read
from .errors import ArgumentTypeError, GristmillError, SourceError

Path = Union[str, "os.PathLike[str]"]
Source = Union[Path, Sequence[Path], int, BinaryIO, Iterable[Any]]


class Items:
    """An iterable that is to be taken item by item, whatever else it might be; see items()."""

    def __init__(self, iterable: Iterable[Any]) -> None:
        self.iterable = iterable


def items(iterable: Iterable[Any]) -> Items:
    """Marks an iterable as items, one record each, also when it could be taken for paths."""
    return Items(iterable)


def resolve(source: Source) -> Union[List[_core.Source], Items]:
    """What ``source`` names, as the core wants it; or items.

    Raises SourceError (also a FileNotFoundError) when a pattern matches nothing, and
    ArgumentTypeError. Files are opened when their turn comes.
    """
    if isinstance(source, (str, os.PathLike)):
        return [_named(path) for path in _matching(source)]
    if isinstance(source, (list, tuple)) and all(isinstance(p, (str, os.PathLike)) for p in source):
        return [_named(path) for path in source]
    if isinstance(source, Items):
        return source
    refusal = _refusal(source)
    if refusal is not None:
        raise refusal
    if isinstance(source, int):
        return [_descriptor(source)]
    if hasattr(source, "fileno"):
        return [_open_file(source)]
    return Items(source)


def _named(path: Union[Path, bytes]) -> _core.Source:
    if path == "-":
        return _standard_input()
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise SourceError(f"{path!r} is no path: it has a NUL character", None, errno.EINVAL)
    return _core.Source.path(encoded)


def _standard_input() -> _core.Source:
    stream = sys.stdin
    if stream is None:
        raise SourceError("standard input is closed", "<stdin>", errno.EBADF)
    return _open_file(stream.buffer) if hasattr(stream, "buffer") else _descriptor(0)


def _descriptor(number: int) -> _core.Source:
    try:
        offset: Optional[int] = os.lseek(number, 0, os.SEEK_CUR)
    except OSError:  # it cannot be seeked, or is none
        offset = None
    return _core.Source.descriptor(number, f"<descriptor {number}>", offset, b"")


def _open_file(file: Any) -> _core.Source:
    """The descriptor of a file object, and what the object has read of it and not given yet."""
    file = getattr(file, "file", file) if not isinstance(file, io.IOBase) else file  # tempfile's
    if not _gives_its_descriptors_bytes(file):
        raise ArgumentTypeError(
            f"source={type(file).__name__} makes its bytes out of others: give its path, or its"
            " records as gm.items(...)"
        )
    try:
        number = read.integer("source", file.fileno(), 0, "a descriptor")
    except (OSError, ValueError) as error:  # in memory, or closed
        raise ArgumentTypeError(
            f"source has no descriptor ({error}); for its lines give gm.items(source)"
        ) from None
    name = getattr(file, "name", None)
    shown = name if isinstance(name, str) else f"<descriptor {number}>"
    try:
        return _core.Source.descriptor(number, shown, file.tell(), b"")
    except (OSError, AttributeError):  # it cannot be seeked
        return _core.Source.descriptor(number, shown, None, _buffered(file))


def _gives_its_descriptors_bytes(file: Any) -> bool:
    if isinstance(file, (io.BufferedReader, io.BufferedRandom)):
        file = file.raw
        if not isinstance(file, io.IOBase):
            return False
    if isinstance(file, io.IOBase):
        return isinstance(file, (io.FileIO, socket.SocketIO))
    return not hasattr(file, "do_handshake")  # a socket that encrypts


def _buffered(file: Any) -> bytes:
    """Takes the bytes out of the buffer of an io.BufferedReader, without filling it: that might
    wait for whoever writes."""
    if not isinstance(file, io.BufferedReader):
        return b""
    file.raw.readinto = lambda _: None  # nothing there yet
    try:
        held = len(file.peek())
    finally:
        del file.raw.readinto
    return file.read(held) if held else b""


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
    if isinstance(source, int) and source < 0:
        return ArgumentTypeError(f"source={source} is no descriptor")
    if isinstance(source, int) or hasattr(source, "fileno") or hasattr(source, "__iter__"):
        return None
    return ArgumentTypeError(
        f"source takes a path, a list of paths, or an iterable of items, not {type(source).__name__}"
    )
