"""What can go wrong, as exceptions: each a GristmillError, and the built-in kind it resembles."""

from __future__ import annotations

import builtins
import errno as _errno
import os
import pickle
from typing import Any, ClassVar, Dict, Optional, Tuple, Type


class GristmillError(Exception):
    """The base of everything that gristmill raises on its own account."""


class OptionError(GristmillError, ValueError):
    """An option, or a combination of options, that makes no sense."""


class ArgumentTypeError(OptionError, TypeError):
    """An argument of a wrong type, or an option that does not exist."""


class UnsupportedError(GristmillError, NotImplementedError):
    """A part of the design that this version does not have; the message says what works instead."""


class _AboutRecord(GristmillError):
    """An error that may know which record is to blame; without one, ``source`` is empty."""

    def __init__(
        self,
        message: str,
        source: str = "",
        offset: int = 0,
        index: Optional[int] = None,
        reason: str = "",
        excerpt: bytes = b"",
        kind: str = "RecordError",
        traceback: str = "",
        original: bytes = b"",
    ) -> None:
        super().__init__(message)
        self.source = source
        """Path of the source."""
        self.offset = offset
        """Of the record's first byte within its source."""
        self.index = index
        """Of the record within the run, from 0; None where the order does not tell."""
        self.reason = reason
        """What the payload said."""
        self.excerpt = excerpt
        """The record's first bytes, at most 256."""
        self.kind = kind
        """Class of the error: ``"RecordError"`` for a record that a plugin failed, ``"PluginError"``
        when its whole batch failed, or that of the exception of a Python function."""
        self.traceback = traceback
        """Where a Python function raised it, as text; empty otherwise."""
        self._original = original
        self.__cause__ = _unpickled(original)

    def __reduce__(self) -> Tuple[Any, ...]:
        details = (self.source, self.offset, self.index, self.reason, self.excerpt, self.kind)
        return type(self), (str(self), *details, self.traceback, self._original)

    def __str__(self) -> str:
        message = super().__str__()
        if self.traceback and self.__cause__ is None:
            return f"{message}\n\nThe worker's traceback:\n{self.traceback}"
        return message


def _unpickled(data: bytes) -> Optional[BaseException]:
    """The exception that a worker packed; None when it cannot be made here."""
    if not data:
        return None
    try:
        found = pickle.loads(data)
    except Exception:
        return None
    return found if isinstance(found, BaseException) else None


class RecordError(_AboutRecord):
    """A record that failed: raised under ``on_error="raise"``, kept under ``"collect"``."""


class BadReturnError(RecordError, TypeError):
    """A function returned something that is no record."""


class TooManyErrors(GristmillError):
    """More records failed than ``max_errors`` allows."""


class PluginError(GristmillError):
    """The plugin breaks the plugin interface, or failed a whole batch."""


class PluginLoadError(PluginError, ImportError):
    """The plugin does not load; ``path`` names its file."""

    def __init__(self, message: str, path: Optional[str] = None) -> None:
        super().__init__(message, path=path)

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.msg, self.path)


class WorkerCrashed(_AboutRecord):
    """A worker died, of one record or of something else, and its work could not be done by another."""

    oom: bool = False
    """Did the kernel end it for want of memory?"""


class PayloadTimeout(_AboutRecord, TimeoutError):
    """A payload made no progress for longer than ``timeout``."""


class AccountingError(GristmillError):
    """The engine lost count of a record: a bug of the engine, never the caller's fault."""


class OutOfMemoryError(GristmillError, MemoryError):
    """The machine has no room for what was asked."""


class _FileError(GristmillError, OSError):
    """Like OSError itself, it becomes a FileNotFoundError and so on where ``errno`` says so."""

    _base: ClassVar[Type["_FileError"]]
    _by_errno: ClassVar[Dict[int, Type["_FileError"]]]

    def __init_subclass__(cls, root: bool = False, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        if root:
            cls._base = cls
            cls._by_errno = {}
            for number, builtin in _BUILTINS.items():
                body = {"__doc__": cls.__doc__, "__module__": cls.__module__}
                cls._by_errno[number] = type(cls.__name__, (cls, builtin), body)

    def __new__(
        cls, message: str, filename: Optional[str] = None, errno: Optional[int] = None
    ) -> "_FileError":
        reason = os.strerror(errno) if errno else message
        chosen = cls._by_errno.get(errno or 0, cls)
        return super().__new__(chosen, errno, reason, filename)

    def __init__(
        self, message: str, filename: Optional[str] = None, errno: Optional[int] = None
    ) -> None:
        self.message = message

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> Tuple[Any, ...]:
        return self._base, (self.message, self.filename, self.errno)


_BUILTINS: Dict[int, Type[OSError]] = {
    _errno.ENOENT: builtins.FileNotFoundError,
    _errno.EISDIR: builtins.IsADirectoryError,
    _errno.ENOTDIR: builtins.NotADirectoryError,
    _errno.EACCES: builtins.PermissionError,
    _errno.EPERM: builtins.PermissionError,
    _errno.EPIPE: builtins.BrokenPipeError,
}


class SourceError(_FileError, root=True):
    """The input cannot be read, or is not what its framing says; see ``filename``, ``errno``."""


class OutputError(_FileError, root=True):
    """The output cannot be written; see ``filename``, ``errno``."""


class KernelError(_FileError, root=True):
    """The operating system refused something else."""


_BY_KIND: Dict[str, Type[GristmillError]] = {
    "invalid_option": OptionError,
    "unsupported": UnsupportedError,
    "too_many_errors": TooManyErrors,
    "plugin": PluginError,
    "memory": OutOfMemoryError,
    "accounting": AccountingError,
}
_BY_KIND_OF_FILE: Dict[str, Type[_FileError]] = {
    "source": SourceError,
    "output": OutputError,
    "system": KernelError,
}


def from_core(
    kind: str,
    message: str,
    path: Optional[str],
    errno: Optional[int],
    record: Optional[Tuple[Any, ...]],
    out_of_memory: bool = False,
) -> GristmillError:
    """The exception for an error of the engine; the compiled core calls this.

    ``record`` has the arguments of RecordError that follow the message.
    """
    if kind == "record":
        return _of_record(message, record or ())
    if kind == "crashed":
        crashed = WorkerCrashed(message, *(record or ()))
        crashed.oom = out_of_memory
        return crashed
    if kind == "timeout":
        return PayloadTimeout(message, *(record or ()))
    if kind == "plugin_load":
        return PluginLoadError(message, path)
    if kind in _BY_KIND_OF_FILE:
        return _BY_KIND_OF_FILE[kind](message, path, errno)
    return _BY_KIND.get(kind, GristmillError)(message)


def collected(fields: Tuple[Any, ...]) -> RecordError:
    """A record's error under ``on_error="collect"``, worded as the engine words a raised one."""
    source, offset, index, reason = fields[:4]
    number = "" if index is None else f"{index} "
    said = reason or "no reason given"
    message = f"record {number}of '{source}' (byte {offset}) failed: {said}"
    return _of_record(message, fields)


def _of_record(message: str, fields: Tuple[Any, ...]) -> RecordError:
    bad_return = len(fields) > 5 and fields[5] == BadReturnError.__name__
    return (BadReturnError if bad_return else RecordError)(message, *fields)
