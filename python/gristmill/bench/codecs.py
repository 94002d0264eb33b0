"""What it costs to bring objects to workers and back, by codec.

For objects from an integer to a document of 200 KB:

In process: size when encoded, and rates of encode and decode, one thread, warm. MB/s are of each codec's own
encoded bytes: compare objects/s. Arrow IPC is made for tables; anything else is a table of one row for it.

Through workers: the caller has a list of objects and gets the equal list back; a worker has held each as an
object in between.

    executor         ProcessPoolExecutor.map() with its own pickling; of several chunk sizes the best counts
    gristmill        objects as items: pickled by gristmill, each by itself, where the executor pickles a chunk at
                     once, so that what its objects share (the keys of dicts) is written once
    gristmill CODEC  the caller encodes, and gives bytes as items, which need no pickling and no framing, so that
                     any byte may be in them; a Python function in the worker decodes and encodes again; the caller
                     decodes. Twice the codec's work of the two above, whose workers do the same unseen.

Executor and engines are kept from call to call. Every list that comes back is compared with the one that was
given, after the clock has stopped.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, Callable, Dict, List, Tuple

import gristmill as gm

from . import codec_kinds, exclusive, sheet
from .codec_kinds import KINDS, SHAPES, Codec
from .sheet import Bars, Column

CHUNKS = (1, 8, 64, 512, 4096)
SHAPE = Column("shape", "")
IN_PROCESS = [
    SHAPE,
    Column("codec", "codec"),
    Column("encoded_bytes", "bytes", ",.0f", "mean size of an encoded object"),
    Column("encode_per_s", "encode/s", ",.0f", "objects, median of the trials", better="higher"),
    Column("encode_per_s_min", "min", ",.0f", "slowest trial"),
    Column("encode_per_s_max", "max", ",.0f", "fastest trial"),
    Column("encode_mb_per_s", "MB/s", ",.0f", "10^6 encoded bytes"),
    Column("decode_per_s", "decode/s", ",.0f", "objects, median of the trials", better="higher"),
    Column("decode_per_s_min", "min", ",.0f", "slowest trial"),
    Column("decode_per_s_max", "max", ",.0f", "fastest trial"),
    Column("decode_mb_per_s", "MB/s", ",.0f", "10^6 encoded bytes"),
]
THROUGH = [
    Column("subject", ""),
    Column("shape", "shape".rjust(19)),
    Column("objects", "objects", ",d", "of one trial"),
    Column("objects_per_s", "objects/s", ",.0f", "there and back, median of the trials", better="higher"),
    Column("objects_per_s_min", "min", ",.0f", "slowest trial"),
    Column("objects_per_s_max", "max", ",.0f", "fastest trial"),
    Column("ratio", "ratio", ".2f", "rate by that of the executor"),
    Column("chunk", "chunk", ",d", "of the executor, the best of several"),
]

Body = Callable[[], List[Any]]


def identity(value: Any) -> Any:
    return value


def through(codec: Codec) -> Callable[[bytes], bytes]:
    """What the worker does."""
    encode, decode = codec

    def recode(data: bytes) -> bytes:
        return encode(decode(data))

    return recode


def rounds(bodies: Dict[str, Body], expected: List[Any], trials: int) -> Tuple[Dict[str, List[float]], List[str]]:
    """Seconds of each, in trials that go round after one that warms up; and those that gave anything else."""
    times: Dict[str, List[float]] = {name: [] for name in bodies}
    wrong: List[str] = []
    for trial in range(-1, trials):
        for name, body in bodies.items():
            started = time.perf_counter()
            found = body()
            took = time.perf_counter() - started
            if found != expected and name not in wrong:
                wrong.append(name)
            if trial >= 0:
                times[name].append(took)
    return times, wrong


def rates(name: str, count: int, seconds: List[float]) -> Dict[str, float]:
    return {
        name: count / statistics.median(seconds),
        f"{name}_min": count / max(seconds),
        f"{name}_max": count / min(seconds),
    }


def in_process(table: sheet.Table, shape: str, codecs: Dict[str, Codec], values: List[Any], trials: int) -> List[str]:
    """Gives what was wrong."""
    encoded = {name: [codec.encode(value) for value in values] for name, codec in codecs.items()}
    encodes: Dict[str, Body] = {}
    decodes: Dict[str, Body] = {}
    for name, codec in codecs.items():
        encodes[name] = lambda encode=codec.encode: list(map(encode, values))
        decodes[name] = lambda decode=codec.decode, data=encoded[name]: list(map(decode, data))
    encode_times = sheet.interleaved(encodes, trials)
    decode_times, wrong = rounds(decodes, values, trials)
    for name in codecs:
        if name in wrong:
            table.add(shape=shape, codec=name, note="wrong: what was decoded is not what was encoded")
            continue
        mean = sum(map(len, encoded[name])) / len(values)
        encode = rates("encode_per_s", len(values), encode_times[name])
        decode = rates("decode_per_s", len(values), decode_times[name])
        table.add(
            shape=shape,
            codec=name,
            encoded_bytes=mean,
            **encode,
            encode_mb_per_s=mean * encode["encode_per_s"] / 1e6,
            **decode,
            decode_mb_per_s=mean * decode["decode_per_s"] / 1e6,
        )
    return [f"{name} of {shape}" for name in wrong]


class Workers:
    """An executor, and an engine for each function, kept."""

    def __init__(self, stack: contextlib.ExitStack, workers: int) -> None:
        self._workers = workers
        self._stack = stack
        self._executor = stack.enter_context(ProcessPoolExecutor(workers))
        list(self._executor.map(identity, range(100)))  # forks before there are threads of engines
        self._engine = stack.enter_context(gm.Engine(workers=workers))

    def bodies(self, codecs: Dict[str, Codec], values: List[Any]) -> Dict[str, Body]:
        found: Dict[str, Body] = {"gristmill": lambda: list(self._engine.map(identity, gm.items(values)))}
        for name, codec in codecs.items():
            engine = self._stack.enter_context(gm.Engine(workers=self._workers))
            found[f"gristmill {name}"] = partial(self._by_codec, engine, codec, through(codec), values)
        return found

    @staticmethod
    def _by_codec(engine: gm.Engine, codec: Codec, recode: Callable[[bytes], bytes], values: List[Any]) -> List[Any]:
        return list(map(codec.decode, engine.map(recode, gm.items(map(codec.encode, values)))))

    def executor(self, values: List[Any]) -> Tuple[int, Body]:
        """With the best chunk size."""
        most = max(1, len(values) // self._workers)
        bodies: Dict[str, Body] = {
            str(chunk): lambda chunk=chunk: list(self._executor.map(identity, values, chunksize=chunk))
            for chunk in sorted({min(chunk, most) for chunk in CHUNKS if chunk > 1 or len(values) <= 20_000})
        }
        times = sheet.interleaved(bodies, 1, warm=0)
        best = min(times, key=lambda name: times[name][0])
        return int(best), bodies[best]


def through_workers(
    table: sheet.Table, shape: str, codecs: Dict[str, Codec], values: List[Any], arguments: argparse.Namespace
) -> List[str]:
    """Gives what was wrong."""
    with contextlib.ExitStack() as stack:
        workers = Workers(stack, arguments.workers)
        chunk, executor = workers.executor(values)
        times, wrong = rounds({"executor": executor, **workers.bodies(codecs, values)}, values, arguments.trials)
    base = statistics.median(times["executor"])
    for name, seconds in times.items():
        if name in wrong:
            table.add(shape=shape, subject=name, note="wrong: other objects came back")
            continue
        table.add(
            subject=name,
            shape=shape,
            objects=len(values),
            **rates("objects_per_s", len(values), seconds),
            ratio=base / statistics.median(seconds),
            chunk=chunk if name == "executor" else None,
            all_seconds=seconds,
        )
    return [f"{name} with {shape}" for name in wrong]


def measure(found: sheet.Sheet, arguments: argparse.Namespace) -> List[str]:
    bars = [Bars(("codec",), f"{way}_per_s", f"{way}_per_s_min", f"{way}_per_s_max", "shape") for way in ("encode", "decode")]
    alone = found.table("in_process", "In process", IN_PROCESS, plots=bars)
    away = found.table("through_workers", "Through workers and back", THROUGH, plots=[
        Bars(("subject",), "objects_per_s", "objects_per_s_min", "objects_per_s_max", "shape")])  # fmt: skip
    wrong: List[str] = []
    with exclusive.machine():  # one turn for all, of about two minutes: codecs are compared across shapes, too
        for shape in arguments.shapes or SHAPES:
            values = codec_kinds.objects(shape, max(2, int(SHAPES[shape].count * arguments.scale)))
            codecs = {name: kind.make(values[0]) for name, kind in KINDS.items() if not codec_kinds.missing(kind)}
            found.say(f"{shape}, in process")
            wrong += in_process(alone, shape, codecs, values[: max(2, len(values) // 10)], arguments.trials)
            found.say(f"{shape}, through workers")
            wrong += through_workers(away, shape, codecs, values, arguments)
    for name, kind in KINDS.items():
        if codec_kinds.missing(kind):
            alone.add(codec=name, note=codec_kinds.missing(kind))
    return wrong


def main() -> int:
    parser = sheet.parser(__doc__)
    parser.add_argument("--shapes", action="append", choices=tuple(SHAPES), metavar="NAME",
                        help=f"may be repeated; default all: {', '.join(SHAPES)}")  # fmt: skip
    parser.add_argument("--scale", type=float, default=1.0, metavar="F", help="F times as many objects")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    found = sheet.Sheet("codecs", __doc__, arguments)
    wrong = measure(found, arguments)
    return found.finish(wrong="; ".join(wrong))
