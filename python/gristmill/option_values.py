"""Reading single option values: each function takes an option's name and value, and returns what
the engine wants or raises an OptionError that names the option and says what it takes."""

from __future__ import annotations

import operator
import os
import re
from typing import Any, NoReturn, Optional, Sequence, Union

from .errors import ArgumentTypeError, OptionError

_INTEGER_MAX = 2**63 - 1
_UNITS = {"": 1, "b": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_UNITS.update({"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12})
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", re.IGNORECASE)
_SIZE_WANTED = "a number of bytes, or a text like '256KiB', '512MiB', '1.5GiB'"


def wrong_type(name: str, value: object, wanted: str) -> NoReturn:
    raise ArgumentTypeError(f"{name} takes {wanted}, not {type(value).__name__}")


def integer(
    name: str, value: object, least: int = 0, wanted: str = "", most: int = _INTEGER_MAX
) -> int:
    """A whole number of at least ``least``; True and False are none."""
    wanted = wanted or f"an integer of at least {least}"
    if isinstance(value, bool):
        wrong_type(name, value, wanted)
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        wrong_type(name, value, wanted)
    if not least <= number <= most:
        why = "out of range" if number < least else "too large"
        raise OptionError(f"{name}={number} is {why}: it takes {wanted}")
    return number


def size(name: str, value: object) -> int:
    """A number of bytes, at least 1."""
    if not isinstance(value, str):
        return integer(name, value, 1, _SIZE_WANTED)
    found = _SIZE.fullmatch(value)
    unit = _UNITS.get(found[2].lower()) if found else None
    if found is None or unit is None:
        raise OptionError(f"{name}={value!r} is not understood: it takes {_SIZE_WANTED}")
    whole, _, fraction = found[1].partition(".")
    number = int(whole) * unit + int(fraction or 0) * unit // 10 ** len(fraction)
    return integer(name, number, 1, _SIZE_WANTED)


def seconds(name: str, value: object) -> float:
    """A time above 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        wrong_type(name, value, "a number of seconds")
    if not 0 < value < float("inf"):
        raise OptionError(f"{name}={value} is out of range: it takes a number of seconds above 0")
    return float(value)


def choice(name: str, value: object, choices: Sequence[str]) -> str:
    listed = ", ".join(map(repr, choices))
    if not isinstance(value, str):
        wrong_type(name, value, f"one of {listed}")
    if value not in choices:
        raise OptionError(f"{name}={value!r} is not one of {listed}")
    return value


def switch(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        wrong_type(name, value, "True or False")
    return value


def nodes(name: str, value: object) -> str:
    """``"auto"``, a number of nodes, a list of node numbers, or logical nodes, as text."""
    if isinstance(value, str):
        return value
    return str(integer(name, value, 1, "'auto', a number of nodes, a list ('0,1') or '@N'"))


def delimiter(name: str, value: object) -> bytes:
    """At least one byte; a str stands for its UTF-8."""
    if isinstance(value, str):
        value = value.encode()
    if not isinstance(value, (bytes, bytearray, memoryview)):
        wrong_type(name, value, "bytes or str")
    if not len(value):
        raise OptionError(f"{name} must not be empty")
    return bytes(value)


def framing(name: str, value: object) -> Union[str, int]:
    """``"delimiter"``, ``"u32le"``, or the length of fixed-size records in bytes."""
    wanted = "'delimiter', 'u32le', or the length of a fixed-size record in bytes"
    if not isinstance(value, str):
        return integer(name, value, 1, wanted)
    if value not in ("delimiter", "u32le"):
        raise OptionError(f"{name}={value!r} is not understood: it takes {wanted}")
    return value


def path(name: str, value: object) -> bytes:
    """A path of a file, as the operating system wants it."""
    if not isinstance(value, (str, bytes, os.PathLike)):
        wrong_type(name, value, "a path (str or PathLike)")
    encoded = os.fsencode(value)
    if not encoded or b"\0" in encoded:
        raise OptionError(f"{name}={value!r} is no path")
    return encoded


def text(name: str, value: object) -> bytes:
    """A text without NUL characters, or a path."""
    if not isinstance(value, (str, os.PathLike)):
        wrong_type(name, value, "a str or a path")
    encoded = os.fsencode(value)
    if b"\0" in encoded:
        raise OptionError(f"{name} must not have NUL characters in it")
    return encoded


def exceptions(name: str, value: object) -> Any:
    """An exception class, or a tuple of them."""
    classes = value if isinstance(value, tuple) else (value,)
    for each in classes:
        if not (isinstance(each, type) and issubclass(each, BaseException)):
            wrong_type(name, each, "an exception class, or a tuple of them")
    return value


def progress(name: str, value: object) -> Optional[bool]:
    return None if value is None else switch(name, value)
