"""Inside worker processes: how payloads are made, called and described. Private; the compiled core
calls it."""

from __future__ import annotations

import gc
import importlib
import json
import os
import pickle
import sys
import traceback
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Tuple

from .batches import Batch, is_batch_function
from .errors import ArgumentTypeError, BadReturnError

inside = False
"""Is this process a worker, or the nursery that workers are forked from?"""

_ORIGINAL_BYTES_MAX = 4096
_TRACE_CHARACTERS_MAX = 4000

_known: Dict[bytes, "Work"] = {}
_unpickled: Dict[bytes, "Work"] = {}

_STACKS_MAX = 64
_stacks: Dict[Tuple[int, ...], Tuple[str, List[Any]]] = {}
"""Stacks as text, by their places: identities of code and offsets in it; with the code, that it stays what it is."""


@dataclass(frozen=True)
class Work:
    """A payload, and the exceptions after which a record is tried again."""

    payload: Any
    retry_exceptions: Any = None


@dataclass
class Made:
    """A payload that a worker can call."""

    call: Callable[..., Any]
    close: Callable[[], Any]
    whole_batches: bool
    items: bool
    keeps_none: bool
    blank: bool
    retries: int
    retry_exceptions: Any


def remember(token: bytes, work: Work) -> None:
    """Makes a payload known here, and to all processes that are forked from here."""
    _known[token] = work


def forget(token: bytes) -> None:
    _known.pop(token, None)


def become_nursery() -> None:
    """The process from which workers are forked: what is there now stays shared between them."""
    global inside
    inside = True
    gc.freeze()


def begin(worker: int, incarnation: int) -> None:
    """A worker begins: no two of them draw the same random numbers."""
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()
    _write_whole_lines()


def _write_whole_lines() -> None:
    """Or a full buffer would be written in the middle of a line, and another worker's text follow."""
    try:
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    except (AttributeError, ValueError):  # replaced by something else, or closed
        pass


def flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # closed, or replaced by something else
            pass


def make(texts: List[bytes], worker: int, incarnation: int) -> Made:
    """The payload that a run's order names; ``texts`` are those of payload.hosted_texts()."""
    how, what, options = texts
    work = _known[what] if how == b"known" else _unpickle(what)
    chosen = json.loads(options)
    call = resolve(work.payload)
    close: Callable[[], Any] = flush
    if _stands_for_instances(call):
        instance = call()
        finish = getattr(instance, "close", None)

        def close() -> None:
            if finish is not None:
                finish()
            flush()

        call = instance
    if not callable(call):
        raise ArgumentTypeError(f"payload {work.payload!r} is {call!r}, which is not callable")
    return Made(
        call,
        close,
        is_batch_function(call),
        chosen["items"],
        chosen["keeps_none"],
        chosen["blank"],
        chosen["retries"],
        work.retry_exceptions,
    )


def _stands_for_instances(payload: Any) -> bool:
    """A class whose instances are callable; any other (``int``) is a function that makes objects."""
    return isinstance(payload, type) and any("__call__" in vars(each) for each in payload.__mro__)


def pack(item: Any) -> bytes:
    """An item or a result as bytes: by pickle, or cloudpickle for what pickle cannot."""
    try:
        return pickle.dumps(item, pickle.HIGHEST_PROTOCOL)
    except Exception:
        import cloudpickle

        data: bytes = cloudpickle.dumps(item)
        return data


unpack = pickle.loads


def _unpickle(data: bytes) -> Work:
    work = _unpickled.get(data)
    if work is None:
        _unpickled.clear()
        work = _unpickled[data] = Work(*pickle.loads(data))
    return work


def resolve(payload: Any) -> Any:
    """The callable itself, of ``"package.module:function"``."""
    if not isinstance(payload, str):
        return payload
    module, _, names = payload.partition(":")
    found: Any = importlib.import_module(module)
    for name in names.split("."):
        found = getattr(found, name)
    return found


def name_of(function: Any) -> str:
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{name}()"


def wrong_return(function: Any, returned: Any) -> BaseException:
    return BadReturnError(
        f"{name_of(function)} returned {type(returned).__name__}; a function of records returns"
        " bytes, bytearray, memoryview or str, or None to leave the record out"
    )


def too_long(function: Any, size: int) -> BaseException:
    return BadReturnError(
        f"{name_of(function)} returned a result of {size:,} bytes; one result holds less than 4 GiB:"
        " give it back in parts, or write it to a file"
    )


def call_batch(
    function: Any, data: Any, records: int, sequence: int, offset: int
) -> Any:
    """What a function of batches returns, checked. ``data`` counts the views of its bytes."""
    view = memoryview(data)
    returned = _checked(function, function(Batch(view, records, sequence, offset)), records)
    try:
        view.release()
    except BufferError:  # somebody has a view of the view
        pass
    if data.views():
        raise BadReturnError(
            f"{name_of(function)} kept a view of batch.data, which is valid during the call only;"
            " copy what it needs: bytes(batch.data)"
        )
    return returned


def _checked(function: Any, returned: Any, records: int) -> Any:
    """Bytes, or a list of results; views are copied, they may show the batch itself."""
    if isinstance(returned, (bytes, bytearray)):
        return returned
    if isinstance(returned, memoryview):
        return bytes(returned)
    if isinstance(returned, str):
        return returned.encode()
    if not isinstance(returned, (list, tuple)):
        raise BadReturnError(
            f"{name_of(function)} returned {type(returned).__name__}; a function of batches returns"
            " bytes, or a list with one item for each record"
        )
    if len(returned) != records:
        raise BadReturnError(
            f"{name_of(function)} returned {len(returned)} results for a batch of {records}"
            " records; a list has one item for each record, None for one that is left out"
        )
    return [bytes(item) if isinstance(item, memoryview) else item for item in returned]


def describe(error: BaseException) -> Tuple[bytes, bytes, bytes, bytes]:
    """Class, words and traceback of an exception, and the exception itself, pickled if it can be."""
    kind = type(error)
    builtin = kind.__module__ in ("builtins", __package__ + ".errors")
    name = kind.__qualname__ if builtin else f"{kind.__module__}.{kind.__qualname__}"
    return _encoded(name), _encoded(_words(error)), _encoded(_trace(error)), _pickled(error)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _words(error: BaseException) -> str:
    try:
        said = str(error)
    except BaseException:
        said = "(an exception whose str() fails)"
    if isinstance(error, BadReturnError):
        return said
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _trace(error: BaseException) -> str:
    try:
        text = _plain_trace(error) if _is_plain(error) else _whole_trace(error)
    except BaseException:
        return ""
    half = _TRACE_CHARACTERS_MAX // 2
    return text if len(text) <= 2 * half else f"{text[:half]}\n...\n{text[-half:]}"


def _is_plain(error: BaseException) -> bool:
    """Whether its traceback is a stack and the exception's words."""
    chained = error.__cause__ is not None or error.__context__ is not None
    return not chained and not hasattr(error, "exceptions") and error.__traceback__ is not None


def _whole_trace(error: BaseException) -> str:
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


def _plain_trace(error: BaseException) -> str:
    """The same text. Records fail by thousands in one place, and formatting the stack costs more than most
    functions: it is kept, with the places that it names."""
    codes, places, at = [], [], error.__traceback__
    while at is not None:
        codes.append(at.tb_frame.f_code)
        places += (id(codes[-1]), at.tb_lasti)
        at = at.tb_next
    stack, _ = _stacks.get(tuple(places), ("", codes))
    if not stack:
        stack = "".join(["Traceback (most recent call last):\n", *traceback.format_tb(error.__traceback__)])
        if len(_stacks) < _STACKS_MAX:
            _stacks[tuple(places)] = (stack, codes)
    return stack + "".join(traceback.format_exception_only(type(error), error))


def _pickled(error: BaseException) -> bytes:
    try:
        data = pickle.dumps(error)
        # Some can be pickled and not be made again.
        if len(data) > _ORIGINAL_BYTES_MAX or type(pickle.loads(data)) is not type(error):
            return b""
        return data
    except BaseException:
        return b""


def main() -> None:
    """The life of a nursery that is an interpreter of its own; see _launcher.py."""
    import cloudpickle  # noqa: F401  here, or each worker would import it anew

    from . import _core

    become_nursery()
    _core.serve_fresh_nursery()
