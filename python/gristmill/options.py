"""The options of calls and engines: their names, their types, and how they are checked.

What each means stands in gristmill.map().

Every option is checked in full before anything is started. One that makes no sense for the payload
at hand is refused, never ignored.
"""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from functools import partial
from typing import Any, Callable, Dict, Iterable, Mapping, Tuple, Type, TypedDict, Union

from . import _core
from . import option_values as read
from .errors import ArgumentTypeError, OptionError

Path = Union[str, "os.PathLike[str]"]


class EngineOptions(TypedDict, total=False):
    """What an Engine is made of. A call of the module makes an Engine of its own from them."""

    workers: int | None
    nodes: str | int
    smt: bool


class RunOptions(TypedDict, total=False):
    """What one run does. Given to an Engine they are the defaults of its runs."""

    order: str
    batch_records: int | None
    batch_bytes: int | str | None
    delimiter: bytes | str
    framing: str | int
    max_record: int | str
    on_error: str
    errors_to: Path | None
    max_errors: int | None
    memory: int | str
    config: Path | None
    filtered: str | None
    isolation: str | None
    progress: bool | None
    timeout: float | None
    start: str | None
    retries: int | None
    retry_exceptions: Type[BaseException] | Tuple[Type[BaseException], ...] | None
    batches_per_worker: int | None


class CallOptions(EngineOptions, RunOptions, total=False):
    """Options of a module-level call."""


Parser = Callable[[str, Any], Any]


def _unless_none(parse: Parser) -> Parser:
    return lambda name, value: None if value is None else parse(name, value)


_MANY = 100  # a batch's state counts to 255

_ENGINE: Dict[str, Parser] = {
    "workers": _unless_none(read.integer),
    "nodes": read.nodes,
    "smt": read.switch,
}
_RUN: Dict[str, Parser] = {
    "order": partial(read.choice, choices=("index", "none")),
    "batch_records": _unless_none(partial(read.integer, least=1)),
    "batch_bytes": _unless_none(read.size),
    "delimiter": read.delimiter,
    "framing": read.framing,
    "max_record": read.size,
    "on_error": partial(read.choice, choices=("raise", "skip", "collect")),
    "errors_to": _unless_none(read.path),
    "max_errors": _unless_none(read.integer),
    "memory": read.size,
    "config": _unless_none(read.text),
    "filtered": _unless_none(partial(read.choice, choices=("drop", "blank", "keep"))),
    "isolation": _unless_none(partial(read.choice, choices=("process", "thread"))),
    "progress": read.progress,
    "timeout": _unless_none(read.seconds),
    "start": _unless_none(partial(read.choice, choices=("auto", "fork", "fresh"))),
    "retries": _unless_none(partial(read.integer, most=_MANY)),
    "retry_exceptions": _unless_none(read.exceptions),
    "batches_per_worker": _unless_none(partial(read.integer, least=1, most=2**31)),
}

_RETRIES = 2

# One of a pair given by a call replaces an Engine's default for the other.
_EXCLUSIVE = {
    "batch_records": "batch_bytes",
    "batch_bytes": "batch_records",
    "delimiter": "framing",
    "framing": "delimiter",
}

def refuse_unknown(names: Iterable[str], known: Iterable[str]) -> None:
    known = list(known)
    for name in names:
        if name in known:
            continue
        if name == "output":
            raise ArgumentTypeError(
                "output belongs to run(): gm.run(payload, source, output=...);"
                " what map() returns has results.write(path)"
            )
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(sorted(known))}"
        raise ArgumentTypeError(f"unknown option {name!r}; {hint}")


def split(given: Mapping[str, Any]) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """The engine's options, and those of the run."""
    refuse_unknown(given, [*_ENGINE, *_RUN])
    engine = {name: value for name, value in given.items() if name in _ENGINE}
    return engine, {name: value for name, value in given.items() if name in _RUN}


def refuse_engine_options(given: Mapping[str, Any]) -> None:
    """For calls of an Engine that exists already."""
    for name in given:
        if name in _ENGINE:
            raise ArgumentTypeError(
                f"{name} belongs to the engine and is fixed for all its runs:"
                f" gm.Engine({name}=...), or a call of the module, gm.map(..., {name}=...)"
            )
    refuse_unknown(given, _RUN)


def with_defaults(defaults: Mapping[str, Any], given: Mapping[str, Any]) -> Dict[str, Any]:
    """The options of one run of an engine that has defaults."""
    replaced = {_EXCLUSIVE.get(name) for name, value in given.items() if value is not None}
    kept = {name: value for name, value in defaults.items() if name not in replaced}
    return {**kept, **given}


def parse_engine(given: Mapping[str, Any]) -> Dict[str, Any]:
    """Arguments of _core.Engine."""
    values: Dict[str, Any] = {"workers": None, "nodes": "auto", "smt": True}
    values.update({name: _ENGINE[name](name, value) for name, value in given.items()})
    if values["workers"] is not None and values["workers"] > _core.WORKERS_MAX:
        raise OptionError(
            f"workers={values['workers']} is out of range:"
            f" an engine may have {_core.WORKERS_MAX} at most"
        )
    return values


@dataclass(frozen=True)
class ParsedRun:
    """The options of one run: the core's, and those of this side."""

    core: _core.RunOptions
    config: bytes | None
    filtered: str | None
    isolation: str | None
    start: str
    retries: int
    retry_exceptions: Any
    progress: bool | None


def parse_run(given: Mapping[str, Any], items: bool = False) -> ParsedRun:
    """``items``: the source is an iterable, whose items travel as frames of this side's making."""
    if items:
        given = _for_items(given)
    values = {name: _RUN[name](name, value) for name, value in given.items()}
    framing = values.get("framing", "delimiter")
    if framing != "delimiter" and "delimiter" in values:
        raise OptionError(f"delimiter goes with framing='delimiter' only, not with {framing!r}")
    fixed = isinstance(framing, int)
    retries = values.get("retries")
    core = _core.RunOptions(
        order=values.get("order", "index"),
        framing="fixed" if fixed else framing,
        delimiter=values.get("delimiter", b"\n"),
        record_bytes=framing if fixed else 0,
        batch_records=values.get("batch_records"),
        batch_bytes=values.get("batch_bytes"),
        max_record=values.get("max_record", 2**30),
        on_error=values.get("on_error", "raise"),
        errors_to=values.get("errors_to") or b"",
        max_errors=values.get("max_errors"),
        memory=values.get("memory", 2**29),
        isolation=values.get("isolation") or "process",
        retries=_RETRIES if retries is None else retries,
        timeout_seconds=values.get("timeout") or 0,
        batches_per_worker=values.get("batches_per_worker") or 0,
    )
    return ParsedRun(
        core,
        values.get("config"),
        values.get("filtered"),
        values.get("isolation"),
        values.get("start") or "auto",
        _RETRIES if retries is None else retries,
        values.get("retry_exceptions"),
        values.get("progress"),
    )


def _for_items(given: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in ("delimiter", "framing"):
        if given.get(name) is not None:
            raise OptionError(f"{name} says how records lie in a file; items are records already")
    return {**given, "framing": "u32le"}


def refuse_function_options(run: ParsedRun) -> None:
    """For payloads that are no Python functions."""
    if run.filtered is not None:
        raise OptionError(
            "filtered belongs to Python functions: a plugin or a command writes its output itself,"
            " so what a filtered record leaves there is its own decision"
        )
    if run.start != "auto":
        raise OptionError("start belongs to Python functions: there is one way to start the workers of others")
    if run.retry_exceptions is not None:
        raise OptionError("retry_exceptions belongs to Python functions")
