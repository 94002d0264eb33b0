"""The payloads of the record sets in plain Python: twins of the bundled plugins.

Each takes a record, a line of JSON, and returns its result; None when the record is filtered.
A malformed record raises ValueError. Mapped with ``filtered="blank", on_error="skip"`` a twin gives
the bytes of its plugin, and its counts:

    gm.map(workloads.medium, "events.jsonl", filtered="blank", on_error="skip")
    gm.map("medium", "events.jsonl")
"""

from __future__ import annotations

import functools
import json
import math
import os
import re
import sys
import zlib
from typing import Any, Dict, List, NoReturn, Optional, Union

EVENT_TYPES = {"view": 0, "click": 1, "scroll": 2, "hover": 3, "purchase": 4, "skip": 5}
DEVICES = {"ios": 0, "android": 1, "web": 2, "desktop": 3, "tablet": 4}
TIERS = {"free": 0, "basic": 1, "premium": 2}
TIME_ORIGIN = 1700000000  # seconds
HOUR, DAY = 3600, 86400

Object = Dict[str, Any]


def light(record: bytes) -> Optional[bytes]:
    """Seven fields of an event, written compactly; nothing for one of less than 50 ms."""
    event = parse(record)
    if event is None:
        return None
    row = {
        "e": string(event, "eid"),
        "u": int64(event, "uid"),
        "i": int64(event, "iid"),
        "t": exact(int64(event, "ts")) - TIME_ORIGIN,
        "v": EVENT_TYPES.get(string(event, "et"), -1),
        "d": DEVICES.get(string(event, "dev"), -1),
    }
    return None if exact(int64(event, "dur")) < 50 else print_json(row)


def medium(record: bytes) -> Optional[bytes]:
    """A nested event as a flat row of features; nothing for one of less than 100 ms or of an unknown type."""
    event = parse(record)
    if event is None:
        return None
    row = event_features(event)
    return None if row is None else print_json(row)


def heavy(record: bytes) -> Optional[bytes]:
    """The row of `medium`, and the features of the words in a review and a search query."""
    event = parse(record)
    if event is None:
        return None
    row = event_features(event)
    review = string(event, "review_text", "")
    query = string(event, "search_query", "")
    if row is None:
        return None
    review_stems, query_stems = stems(review), stems(query)
    distinct = len(set(review_stems))
    row["rv_wc"] = len(review_stems)
    row["rv_uw"] = distinct
    row["rv_fh"] = fold(review_stems)
    row["rv_ld"] = round(distinct / len(review_stems), 4) if review_stems else 0.0
    row["sq_wc"] = len(query_stems)
    row["sq_fh"] = fold(query_stems)
    return print_json(row)


class Tokenize:
    """The text of a document as the ids of its words; nothing for one with too few, too many or too equal tokens.

    A word that the vocabulary does not have gives the ids of its stem and its suffix, or 0. The
    vocabulary is a file of lines "id TAB word". Raises ValueError when it is malformed, OSError.
    """

    SUFFIXES = b"ing tion ness ment able ible ful less ly er est ed es s".split()

    def __init__(self, vocabulary: Union[str, "os.PathLike[str]"]):
        self._ids = read_vocabulary(vocabulary)

    def __call__(self, record: bytes) -> Optional[bytes]:
        document = parse(record)
        if document is None:
            return None
        doc_id, text = integer(document, "doc_id"), string(document, "text")
        tokens = self.tokens(text)
        distinct = len(set(tokens))
        if not 20 <= len(tokens) <= 1000 or distinct / len(tokens) < 0.1:
            return None
        return print_json(
            {
                "doc_id": doc_id,
                "tokens": tokens,
                "n_tokens": len(tokens),
                "n_unique": distinct,
                "diversity": round(distinct / len(tokens), 4),
            }
        )

    def tokens(self, text: str) -> List[int]:
        tokens = []
        for word in text.encode().split():  # bytes know no whitespace but that of ASCII
            known = self._ids.get(word)
            if known is None:
                tokens += self._split(word)
            else:
                tokens.append(known)
        return tokens

    def _split(self, word: bytes) -> List[int]:
        for suffix in self.SUFFIXES:
            if word.endswith(suffix) and len(word) > len(suffix) + 2:
                stem = self._ids.get(word[: -len(suffix)])
                if stem is not None:
                    return [stem, self._ids.get(suffix, 0)]
        return [0]


def read_vocabulary(path: Union[str, "os.PathLike[str]"]) -> Dict[bytes, int]:
    """Ids by words. Ids are 1 to 2^31-1, words are not empty and hold no whitespace; none stands there twice."""
    ids: Dict[bytes, int] = {}
    with open(path, "rb") as lines:
        for number, line in enumerate(lines, 1):
            printed_id, _, word = line.removesuffix(b"\n").partition(b"\t")
            if not printed_id.isdigit() or not 1 <= int(printed_id) < 2**31:
                raise ValueError(f"vocabulary {path}, line {number}: the id is not a number from 1 to 2147483647")
            if word.split() != [word]:
                raise ValueError(f"vocabulary {path}, line {number}: the word is empty or holds whitespace")
            if word in ids:
                raise ValueError(f"vocabulary {path}, line {number}: the word stands there twice")
            ids[word] = int(printed_id)
    if not ids:
        raise ValueError(f"vocabulary {path}: no entries")
    if len(set(ids.values())) != len(ids):
        raise ValueError(f"vocabulary {path}: an id stands there twice")
    return ids


# What medium and heavy are made of.


def event_features(event: Object) -> Optional[Object]:
    """The features of an event, None when it is to be left out."""
    user, item = table(event, "user_context"), table(event, "item_context")
    seconds = exact(number(event, "timestamp"))
    event_type = EVENT_TYPES.get(string(event, "event_type"))
    duration = size(number(event, "duration_ms", 0))
    row = {
        "eid": string(event, "event_id"),
        "uid": string(event, "user_id"),
        "iid": string(event, "item_id"),
        "ts_n": (seconds - TIME_ORIGIN) / DAY,
        "hod": seconds % DAY // HOUR,
        "dow": seconds // DAY % 7,
        "et": event_type,
        "dev": DEVICES.get(string(event, "device"), -1),
        "log_dur": round(math.log(1 + duration), 4),
        "scr": number(event, "scroll_depth", 0.0),
        "rev": 1 if exact(number(event, "revenue_cents", 0)) > 0 else 0,
        "tier": TIERS.get(string(user, "user_tier", ""), 0),
        "sess": number(user, "num_prev_sessions", 0),
        "dss": number(user, "days_since_signup", 0),
        "log_pr": round(math.log(1 + size(number(item, "price_cents", 0))), 4),
        "rate": number(item, "rating", 0.0),
    }
    return None if event_type is None or duration < 100 else row


SUFFIXES = b"ing ed ly es s ment ness ful less".split()
find_words = re.compile(rb"\b[a-z]+\b").findall  # in bytes, what is not ASCII bounds a word


def stems(text: str) -> List[bytes]:
    return [stem(word) for word in find_words(text.encode().lower())]


@functools.lru_cache(maxsize=1 << 16)
def stem(word: bytes) -> bytes:
    for suffix in SUFFIXES:
        if word.endswith(suffix) and len(word) > len(suffix) + 2:
            return word[: -len(suffix)]
    return word


def fold(words: List[bytes]) -> int:
    folded = 0
    for word in words:
        folded = (folded * 31 + zlib.crc32(word)) & 0xFFFFFFFF
    return folded


# Fields. Each function raises ValueError unless the field is there, or has a default, and is of its type.


def string(fields: Object, name: str, default: Optional[str] = None) -> str:
    value = fields.get(name, default)
    if type(value) is not str:
        raise ValueError(f"{name} is not a string")
    return value


def integer(fields: Object, name: str) -> int:
    value = fields.get(name)
    if type(value) is not int:  # True is an instance of int
        raise ValueError(f"{name} is not an integer")
    return value


def int64(fields: Object, name: str) -> int:
    value = integer(fields, name)
    if value >= 2**63:
        raise ValueError(f"{name} is beyond the signed 64 bits")
    return value


def number(fields: Object, name: str, default: Optional[float] = None) -> float:
    value = fields.get(name, default)
    if type(value) is not int and type(value) is not float:
        raise ValueError(f"{name} is not a number")
    return value


def table(fields: Object, name: str) -> Object:
    value = fields.get(name, {})
    if type(value) is not dict:
        raise ValueError(f"{name} is not an object")
    return value


def exact(value: float) -> float:
    """A number to compute with: an integer must be one that a double holds."""
    if type(value) is int and not -(2**53) <= value <= 2**53:
        raise ValueError("an integer beyond 2^53")
    return value


def size(value: float) -> float:
    """A number to take the logarithm of, increased by one."""
    if value <= -1:
        raise ValueError("a size of -1 or less")
    return exact(value)


# Reading and writing JSON. Python reads more than RFC 8259 allows, and numbers of any size.

NESTING_MAX = 1000


def parse(record: bytes) -> Optional[Object]:
    """The JSON object in a record, None when the record is blank. Raises ValueError."""
    text = record.decode("utf-8").strip(" \t\r")
    if not text:
        return None
    try:
        value = decode(text)
    except RecursionError:
        value = decode_deep(text)
    if type(value) is not dict:
        raise ValueError("not an object")
    if text.count("{") + text.count("[") > NESTING_MAX and nesting(text) > NESTING_MAX:
        raise ValueError("nested too deep")
    if "\\u" in text and has_lone_surrogate(text):
        raise ValueError("half of a surrogate pair")
    return value


def decode_deep(text: str) -> Any:
    if nesting(text) > NESTING_MAX:
        raise ValueError("nested too deep")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + 2 * NESTING_MAX)
    try:
        return decode(text)
    finally:
        sys.setrecursionlimit(limit)


def nesting(text: str) -> int:
    """How many brackets outside of strings stand inside each other."""
    depth = deepest = 0
    for bracket in re.findall(r"[][{}]", re.sub(r'"(?:[^"\\]|\\.)*"', "", text, flags=re.DOTALL)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def has_lone_surrogate(text: str) -> bool:
    """True if a string in valid JSON has an escape of half a pair."""
    pair = r"\\u[dD][89abAB]..\\u[dD][c-fC-F].."
    return re.search(r"\\u[dD][89a-fA-F]", re.sub(pair, "", text.replace("\\\\", "__"))) is not None


def int_of_64_bits(digits: str) -> int:
    value = int(digits)
    if not -(2**63) <= value < 2**64:
        raise ValueError("an integer beyond 64 bits")
    return value


def finite_float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError("a number beyond a double")
    return value


def no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


decode = json.JSONDecoder(parse_int=int_of_64_bits, parse_float=finite_float, parse_constant=no_constant).decode
encode = json.JSONEncoder(separators=(",", ":")).encode


def print_json(row: Object) -> bytes:
    return encode(row).encode()
