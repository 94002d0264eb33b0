"""Python functions: gristmill against the executors of the standard library, on the same function.

For each function one row for gristmill and each rival: rates of interleaved trials, and how many times slower
each rival was in the same run. All do the same job: from a file of records to a sequence of results,
which is then dropped. The rivals read the file, split it, and keep a list; each is tuned: of several
chunk sizes the best counts. What each gives is compared before anything is timed. "kept" rows keep
an engine, an executor and a pool from call to call; in the others each call makes its own.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import statistics
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import Pool
from pathlib import Path
from typing import Any, Callable, ContextManager, Dict, Iterable, List

import gristmill as gm
from gristmill import workloads

from . import exclusive, sheet
from .sheet import Bars, Column

CHUNKS = (500, 2000, 8000)
SHARES = {"light": 1, "medium": 2, "heavy": 6, "tokenize": 40}
SUBJECTS = {"executor": "ProcessPoolExecutor", "pool": "multiprocessing.Pool", "serial": "map, serial"}
GOALS: Dict[str, Dict[str, float]] = {
    "light": {"executor": 1.15, "pool": 1.15},
    "medium": {"executor": 1.10, "pool": 1.10},
    "heavy": {"executor": 1.05, "pool": 1.05},
    "tokenize": {"executor": 1.05, "pool": 1.05},
    "bytes.upper": {"executor": 8, "serial": 2.5},
    "bytes.upper, batches": {"executor": 15},
    "bytes.upper, kept": {},
    "bytes.upper, batches, kept": {},
}
COLUMNS = [
    Column("function", ""),
    Column("subject", "subject", width=20),
    Column("chunk", "chunk", ",d", "records that are handed over at a time: the best of those tried"),
    Column("records", "records", ",d", better="same"),
    *sheet.RATES,
    Column("ratio", "ratio", ".2f", "how many times slower than gristmill"),
    Column("goal", "goal", ".2f", "least ratio wanted, where one is set"),
]


@gm.batch
def upper_batch(batch: gm.Batch) -> bytes:
    return bytes(batch.data).upper()


class Guarded:
    """The function as the rivals get it: picklable, and a malformed record has an empty result."""

    def __init__(self, function: Callable[[bytes], Any]) -> None:
        self._function = function

    def __call__(self, record: bytes) -> Any:
        try:
            return self._function(record) or b""
        except ValueError:
            return b""


class Made:
    """Executor and pool, made anew for each call or kept."""

    def __init__(self, workers: int, keep: bool) -> None:
        self._make: Dict[str, Callable[[], ContextManager[Any]]] = {
            "executor": lambda: ProcessPoolExecutor(workers),
            "pool": lambda: Pool(workers),
        }
        self._held = contextlib.ExitStack()
        if keep:
            for kind, make in list(self._make.items()):
                kept = self._held.enter_context(make())
                self._make[kind] = lambda kept=kept: contextlib.nullcontext(kept)

    def open(self, kind: str) -> ContextManager[Any]:
        return self._make[kind]()

    def __enter__(self) -> Made:
        return self

    def __exit__(self, *_: Any) -> None:
        self._held.close()


def rivals(function: Any, path: Path, made: Made) -> Dict[str, Callable[[], List[Any]]]:
    def records() -> List[bytes]:
        return path.read_bytes().split(b"\n")[:-1]

    found: Dict[str, Callable[[], List[Any]]] = {"serial": lambda: list(map(function, records()))}
    for chunk in CHUNKS:

        def executor(chunk: int = chunk) -> List[Any]:
            with made.open("executor") as pool:
                return list(pool.map(function, records(), chunksize=chunk))

        def pool(chunk: int = chunk) -> List[Any]:
            with made.open("pool") as processes:
                return processes.map(function, records(), chunksize=chunk)

        found[f"executor {chunk}"] = executor
        found[f"pool {chunk}"] = pool
    return found


def digest(results: Iterable[bytes]) -> str:
    """Of the results, one after the other. Lists of millions are not kept: they slow every fork."""
    found = hashlib.blake2b()
    for result in results:
        found.update(len(result).to_bytes(8, "little") + result)
    return found.hexdigest()


def verify(name: str, bodies: Dict[str, Callable[[], Any]]) -> None:
    """Ends the program unless all give what the function gives when it is called here. Warms them, too."""
    expected = digest(bodies["serial"]())
    for each, body in bodies.items():
        if each != "serial" and digest(body()) != expected:
            sys.exit(f"{name}: results of {each} differ from the serial ones")


def compare(
    table: sheet.Table, name: str, ours: Callable[[], Any], path: Path, function: Any, arguments: argparse.Namespace
) -> None:
    with Made(arguments.workers, name.endswith("kept")) as made, exclusive.machine():
        bodies = {"gristmill": ours, **rivals(function, path, made)}
        verify(name, bodies)
        times = sheet.interleaved(bodies, arguments.trials, warm=0)
    medians = {each: statistics.median(seen) for each, seen in times.items()}
    for kind, subject in {"gristmill": "gristmill", **SUBJECTS}.items():
        tried = [each for each in times if each.startswith(kind)]
        best = min(tried, key=lambda each: medians[each])
        chunk = best.partition(" ")[2]
        records = gm.datagen.read_manifest(path).records
        table.add(
            function=name,
            subject=subject,
            chunk=int(chunk) if chunk else None,
            records=records,
            **sheet.rates(records, times[best]),
            ratio=medians[best] / medians["gristmill"],
            goal=GOALS[name].get(kind),
            all_seconds_by_chunk={each: times[each] for each in tried if each != best},
        )


def input_of(name: str, folder: Path, count: int) -> Path:
    path = folder / f"{name}.{count}.jsonl"
    if not path.exists():
        gm.datagen.generate(name, path, records=count, stream="reference")
    return path


def compare_twin(table: sheet.Table, name: str, folder: Path, arguments: argparse.Namespace) -> None:
    path = input_of(name, folder, max(1000, arguments.records // SHARES[name]))
    function = workloads.Tokenize(f"{path}.vocab") if name == "tokenize" else getattr(workloads, name)
    options = {"workers": arguments.workers, "filtered": "blank", "on_error": "skip"}
    compare(table, name, lambda: gm.map(function, path, **options), path, Guarded(function), arguments)


def compare_upper(table: sheet.Table, name: str, folder: Path, arguments: argparse.Namespace) -> None:
    path = input_of("light", folder, arguments.upper_records)
    function = upper_batch if "batches" in name else bytes.upper
    with contextlib.ExitStack() as stack:
        if name.endswith("kept"):
            call = stack.enter_context(gm.Engine(workers=arguments.workers)).map
        else:
            call = lambda *given: gm.map(*given, workers=arguments.workers)  # noqa: E731
        compare(table, name, lambda: call(function, path), path, bytes.upper, arguments)


def main() -> int:
    parser = sheet.parser(__doc__)
    parser.add_argument("--records", type=int, default=300_000, help="light records; fewer of the others")
    parser.add_argument("--upper-records", type=int, default=2_000_000, help="for bytes.upper")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", action="append", default=[], choices=tuple(GOALS), help="may be repeated")
    arguments = parser.parse_args()
    found = sheet.Sheet("udf", __doc__, arguments)
    table = found.table("functions", "Python functions, and the executors of the standard library", COLUMNS, plots=[
        Bars(("subject",), "records_per_s", "records_per_s_min", "records_per_s_max", of="function")])  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="gristmill-udf-") as folder:
        for name in arguments.only or GOALS:
            (compare_twin if name in SHARES else compare_upper)(table, name, Path(folder), arguments)
    return found.finish()
