"""The codecs that are compared, and the objects that they are given."""

from __future__ import annotations

import importlib.util
import json
import pickle
import random
from typing import Any, Callable, Dict, List, NamedTuple

Encode = Callable[[Any], bytes]
Decode = Callable[[bytes], Any]
_JSON = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)  # json.dumps() would make one for each call
WORDS = ("record", "batch", "worker", "order", "node", "ring", "slot", "output", "naïve", "\"quoted\"", "line\nend")


class Codec(NamedTuple):
    """Objects to bytes and back."""

    encode: Encode
    decode: Decode


class Kind(NamedTuple):
    """How a codec is made for objects that look like the one given, and what has to be installed for it."""

    make: Callable[[Any], Codec]
    package: str = ""


def _pickle(_: Any) -> Codec:
    return Codec(lambda value: pickle.dumps(value, pickle.HIGHEST_PROTOCOL), pickle.loads)


def _json(_: Any) -> Codec:
    return Codec(_to_json, json.loads)


def _to_json(value: Any) -> bytes:
    return _JSON.encode(value).encode()


def _msgpack(_: Any) -> Codec:
    import msgpack

    return Codec(msgpack.packb, msgpack.unpackb)


def _orjson(_: Any) -> Codec:
    import orjson

    return Codec(orjson.dumps, orjson.loads)


def _arrow(example: Any) -> Codec:
    """A list of dicts is a table; anything else is the only row of one. The schema is known beforehand."""
    import pyarrow as pa

    whole = isinstance(example, list) and isinstance(example[0], dict)
    schema = pa.Table.from_pylist(example if whole else [{"value": example}]).schema

    def encode(value: Any) -> bytes:
        batch = pa.RecordBatch.from_pylist(value if whole else [{"value": value}], schema=schema)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as writer:
            writer.write_batch(batch)
        return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]

    def decode(data: bytes) -> Any:
        rows = pa.ipc.open_stream(data).read_all().to_pylist()
        return rows if whole else rows[0]["value"]

    return Codec(encode, decode)


KINDS: Dict[str, Kind] = {
    "pickle": Kind(_pickle),
    "json": Kind(_json),
    "msgpack": Kind(_msgpack, "msgpack"),
    "orjson": Kind(_orjson, "orjson"),
    "arrow": Kind(_arrow, "pyarrow"),
}


def missing(kind: Kind) -> str:
    """Why there are no numbers of it; empty when there are."""
    there = not kind.package or importlib.util.find_spec(kind.package) is not None
    return "" if there else f"not installed: pip install {kind.package}"


def _text(draw: random.Random, words: int) -> str:
    return " ".join(draw.choices(WORDS, k=words))


def _small(draw: random.Random) -> Dict[str, Any]:
    return {"id": draw.getrandbits(40), "name": _text(draw, 2), "price": draw.random(), "valid": draw.random() < 0.5}


def _nested(draw: random.Random) -> Dict[str, Any]:
    lines = [{**_small(draw), "sizes": [draw.getrandbits(16) for _ in range(5)]} for _ in range(5)]
    return {"user": _small(draw), "lines": lines, "tags": [_text(draw, 1) for _ in range(4)]}


def _document(draw: random.Random) -> Dict[str, Any]:
    """200 KB or so, by most codecs."""
    numbers = [draw.random() for _ in range(5000)]
    return {"title": _text(draw, 5), "paragraphs": [_text(draw, 100) for _ in range(200)], "numbers": numbers}


class Shape(NamedTuple):
    """What the objects look like."""

    make: Callable[[random.Random], Any]
    count: int
    """So many are sent through workers, by default."""


SHAPES: Dict[str, Shape] = {
    "integer": Shape(lambda draw: draw.getrandbits(40), 100_000),
    "small dict": Shape(_small, 50_000),
    "nested dict": Shape(_nested, 10_000),
    "1,000 floats": Shape(lambda draw: [draw.random() for _ in range(1000)], 2_000),
    "table of 1,000 rows": Shape(lambda draw: [_small(draw) for _ in range(1000)], 100),
    "200 KB document": Shape(_document, 300),
}
DISTINCT = 100
"""So many objects of a shape differ; they come again and again."""


def objects(shape: str, count: int) -> List[Any]:
    """The same each time. Those that come again are other objects, as pickle writes one twice only by name."""
    draw = random.Random(shape)
    made = [pickle.dumps(SHAPES[shape].make(draw)) for _ in range(min(count, DISTINCT))]
    return [pickle.loads(made[at % len(made)]) for at in range(count)]
