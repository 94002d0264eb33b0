"""The light payload, written from its specification alone: what every other version must agree with.

light(record) returns the output record, None when the record is filtered, and raises ValueError
when it is malformed. Python's json reads more than RFC 8259 allows and less than the rules of the
record sets ask for; the hooks and checks here close the difference. Slow and plain on purpose.
"""
from __future__ import annotations

import json
import re
import sys

EVENTS = ["view", "click", "scroll", "hover", "purchase", "skip"]
DEVICES = ["ios", "android", "web", "desktop", "tablet"]
EXACT_MAX = 2**53
NESTING_MAX = 1000


def light(record: bytes) -> bytes | None:
    record = record.strip(b" \t\r")
    if not record:
        return None
    event = strict_object(record)
    eid, et, dev = (require(event, key, str) for key in ("eid", "et", "dev"))
    uid, iid, ts, dur = (require(event, key, int) for key in ("uid", "iid", "ts", "dur"))
    if not all(-(2**63) <= value < 2**63 for value in (uid, iid)):
        raise ValueError("beyond int64")
    if abs(ts) > EXACT_MAX or abs(dur) > EXACT_MAX:
        raise ValueError("beyond 2^53")
    if dur < 50:
        return None
    result = {"e": eid, "u": uid, "i": iid, "t": ts - 1700000000, "v": code(EVENTS, et), "d": code(DEVICES, dev)}
    return json.dumps(result, ensure_ascii=True, separators=(",", ":")).encode()


def require(event: dict, key: str, kind: type):
    """The field `key`; ValueError when it is absent or not exactly of `kind` (a bool is no int)."""
    if type(event.get(key)) is not kind:
        raise ValueError(f"{key} is not {kind.__name__}")
    return event[key]


def code(names: list, name: str) -> int:
    return names.index(name) if name in names else -1


def strict_object(record: bytes) -> dict:
    """The JSON object `record`; ValueError when it is anything that the rules call malformed."""
    text = record.decode("utf-8")  # strict: no encoded surrogates, nothing overlong
    if nesting(text) > NESTING_MAX:
        raise ValueError("nested too deep")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + 3 * NESTING_MAX)
    try:
        event = json.loads(text, parse_int=strict_int, parse_float=strict_float,
                           parse_constant=reject, object_pairs_hook=strict_pairs)
    finally:
        sys.setrecursionlimit(limit)
    if type(event) is not dict:
        raise ValueError("not an object")
    return event


def nesting(text: str) -> int:
    """How deep brackets outside of strings are nested."""
    depth = deepest = 0
    for bracket in re.findall(r'[\[{]|[\]}]', re.sub(r'"(?:[^"\\]|\\.)*"', "", text, flags=re.DOTALL)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def strict_int(digits: str) -> int:
    value = int(digits)
    if not -(2**63) <= value < 2**64:
        raise ValueError("beyond 64 bits")
    return value


def strict_float(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError("overflows a double")
    return value


def reject(constant: str):
    raise ValueError(f"{constant} is no JSON")


def strict_pairs(pairs: list) -> dict:
    """An object from all its pairs, overwritten duplicates included; no string may hold half a surrogate pair."""
    for key, value in pairs:
        check_text(key)
        check_text(value)
    return dict(pairs)


def check_text(value) -> None:
    if isinstance(value, list):
        for item in value:
            check_text(item)
    elif isinstance(value, str):
        value.encode("utf-8")  # UnicodeEncodeError, a ValueError, for a lone surrogate
