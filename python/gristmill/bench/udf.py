"""Python functions: gristmill against the executors of the standard library, on the same function.

    gristmill bench udf [--records 300000] [--trials 5] [--workers 2] [--json PATH]

For each function one line: median seconds of interleaved trials, and how many times slower each
rival was in the same run. All do the same job: from a file of records to a sequence of results,
which is then dropped. The rivals read the file, split it, and keep a list; each is tuned: of several
chunk sizes the best counts. What each gives is compared before anything is timed. "kept" rows keep
an engine, an executor and a pool from call to call; in the others each call makes its own.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import statistics
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import Pool
from pathlib import Path
from typing import Any, Callable, ContextManager, Dict, Iterable, List

import gristmill as gm
from gristmill import workloads

from . import environment

CHUNKS = (500, 2000, 8000)
GOALS = {
    "light": "executor and pool >= 1.15",
    "medium": "executor and pool >= 1.10",
    "heavy": "executor and pool >= 1.05",
    "tokenize": "executor and pool >= 1.05",
    "bytes.upper": "executor >= 8, serial >= 2.5",
    "bytes.upper, batches": "executor >= 15",
    "bytes.upper, kept": "none set",
    "bytes.upper, batches, kept": "none set",
}


@gm.batch
def upper_batch(batch: gm.Batch) -> bytes:
    return bytes(batch.data).upper()


def seconds(body: Callable[[], Any]) -> float:
    started = time.perf_counter()
    body()
    return time.perf_counter() - started


def guarded(function: Callable[[bytes], Any], record: bytes) -> Any:
    """What a rival does about a malformed record."""
    try:
        return function(record) or b""
    except ValueError:
        return b""


class Guarded:
    """The function as the rivals get it: picklable, and with the errors taken care of."""

    def __init__(self, function: Callable[[bytes], Any]) -> None:
        self._function = function

    def __call__(self, record: bytes) -> Any:
        return guarded(self._function, record)


class Made:
    """Executor and pool, made anew for each call or kept."""

    def __init__(self, workers: int, keep: bool) -> None:
        self._make = {
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

    def close(self) -> None:
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


def best(times: Dict[str, List[float]], kind: str) -> float:
    return min(statistics.median(seen) for name, seen in times.items() if name.startswith(kind))


def compare(
    name: str, ours: Callable[[], Any], path: Path, function: Any, arguments: Any
) -> Dict[str, Any]:
    made = Made(arguments.workers, name.endswith("kept"))
    others = rivals(function, path, made)
    expected = digest(others["serial"]())
    for each in (ours, others["executor 2000"], others["pool 2000"]):
        if digest(each()) != expected:
            sys.exit(f"{name}: results differ from the serial ones")
    with path.open("rb") as file:
        count = sum(1 for _ in file)
    times: Dict[str, List[float]] = {each: [] for each in ("gristmill", *others)}
    for _ in range(arguments.trials):
        times["gristmill"].append(seconds(ours))
        for each, run in others.items():
            times[each].append(seconds(run))
    made.close()
    mine = statistics.median(times["gristmill"])
    row = {"function": name, "records": count, "seconds": mine, "goal": GOALS[name]}
    row |= {f"{kind}_ratio": best(times, kind) / mine for kind in ("executor", "pool", "serial")}
    row["medians"] = {each: statistics.median(seen) for each, seen in times.items()}
    print(
        f"{name:<26} {count:>9,} records {mine:8.3f} s {count / mine / 1e6:7.3f} M/s"
        f"   executor {row['executor_ratio']:6.2f}  pool {row['pool_ratio']:6.2f}"
        f"  serial {row['serial_ratio']:6.2f}   goal: {GOALS[name]}",
        flush=True,
    )
    return row


def input_of(name: str, folder: Path, count: int) -> Path:
    path = folder / f"{name}.jsonl"
    if not path.exists():
        gm.datagen.generate(name, path, records=count, stream="reference")
    return path


def compare_twin(name: str, folder: Path, arguments: argparse.Namespace) -> Dict[str, Any]:
    share = {"light": 1, "medium": 2, "heavy": 6, "tokenize": 40}[name]
    path = input_of(name, folder, max(1000, arguments.records // share))
    function = workloads.Tokenize(f"{path}.vocab") if name == "tokenize" else getattr(workloads, name)
    ours = lambda: gm.map(  # noqa: E731
        function, path, workers=arguments.workers, filtered="blank", on_error="skip"
    )
    return compare(name, ours, path, Guarded(function), arguments)


def compare_upper(name: str, folder: Path, arguments: argparse.Namespace) -> Dict[str, Any]:
    path = folder / "upper.jsonl"
    if not path.exists():
        gm.datagen.generate("light", path, records=arguments.upper_records, stream="reference")
    function = upper_batch if "batches" in name else bytes.upper
    with contextlib.ExitStack() as stack:
        if name.endswith("kept"):
            call = stack.enter_context(gm.Engine(workers=arguments.workers)).map
        else:
            call = lambda *given: gm.map(*given, workers=arguments.workers)  # noqa: E731
        return compare(name, lambda: call(function, path), path, bytes.upper, arguments)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--records", type=int, default=300_000, help="light records; fewer of the others")
    parser.add_argument("--upper-records", type=int, default=2_000_000, help="for bytes.upper")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", action="append", default=[], help="a row's name; may be repeated")
    parser.add_argument("--json", type=Path, default=None, help="keep the result in this file")
    arguments = parser.parse_args()
    wanted = arguments.only or list(GOALS)
    result = {
        "command": "gristmill bench udf " + " ".join(sys.argv[1:]),
        "environment": environment.describe(),
        "rows": [],
    }
    with tempfile.TemporaryDirectory(prefix="gristmill-udf-") as folder:
        for name in wanted:
            if name in ("light", "medium", "heavy", "tokenize"):
                row = compare_twin(name, Path(folder), arguments)
            else:
                row = compare_upper(name, Path(folder), arguments)
            result["rows"].append(row)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
