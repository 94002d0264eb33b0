"""The Python twins, as other systems are given them: picklable, and with the errors taken care of."""

from __future__ import annotations

import functools
from typing import Any, Callable, List, Optional, Sequence, Tuple

from .. import workloads

Function = Callable[[bytes], Optional[bytes]]


def function(name: str, vocabulary: str = "") -> Function:
    """The twin of a record set, as gristmill takes it."""
    if name.startswith("tokenize"):
        return workloads.Tokenize(vocabulary)
    found: Function = getattr(workloads, name)
    return found


class Twin:
    """``twin(record)`` is the output record: b"" for one that is filtered or malformed.

    Its pickle is its name: each process makes the function once, however often it is sent.
    """

    def __init__(self, name: str, vocabulary: str) -> None:
        self._made_of = (name, vocabulary)
        self._function = function(name, vocabulary)

    def __call__(self, record: bytes) -> bytes:
        try:
            return self._function(record) or b""
        except ValueError:
            return b""

    def many(self, records: Sequence[bytes]) -> List[bytes]:
        """For those who send chunks."""
        return [self(record) for record in records]

    def __reduce__(self) -> Tuple[Any, Tuple[str, str]]:
        return twin, self._made_of


@functools.lru_cache(maxsize=None)
def twin(name: str, vocabulary: str = "") -> Twin:
    """The twin of a record set, made once in each process."""
    return Twin(name, vocabulary)
