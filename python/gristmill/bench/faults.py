"""What faults cost: workers that die, records that fail, one that kills whoever touches it, one that hangs.

All work in upper case on lines of 65 bytes, by a Python function (worker processes forked from the caller, or from
a fresh interpreter) and by a plugin (worker processes). A record of little work shows the price of the fault
itself. Every output is compared byte for byte with what it has to be, deaths and failures with what was asked.

deaths: pairs of runs on a kept engine, without and with some records that end their worker the first time; the
difference, by the number of deaths. A batch whose worker died is done again: its part is in the number. With --big-gib
the same in a caller that holds so much memory.
failing records: the rate with a share of records that fail, by that without any; on_error="raise" takes a stream until
the error, the seconds are those until then. The executor's function catches its exceptions (skip) or does not (raise): then
its chunk is lost with the record.
isolation: what one record adds to a run when it ends or holds up each worker that touches it, or fails once. Its
batch is tried retries + 1 times, then record by record; SIGKILL may have come from outside, and gets four more tries.
lost workers: one SIGKILL in the middle of a job. Each makes its workers for the call. ProcessPoolExecutor breaks, and
the whole job is done again, or it waits for ever (CPython issue 94777); multiprocessing.Pool waits for ever, here until
--hang-limit.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import gristmill as gm

from . import exclusive, fault_rivals, faulty, sheet
from .fault_rivals import Outcome
from .faulty import Job, Subject
from .sheet import Bars, Column, Lines

SHARES = (0.0, 0.0001, 0.01, 0.1, 0.5)
RETRIES = (0, 2, 5)
_PAYLOAD = Column("payload", "", about="of gristmill")
_SUBJECT = Column("subject", "")
_DEATHS = Column("deaths", "deaths", ",d", "of workers, in a run", better="same")
_CLEAN = Column("clean_s", "clean s", ".4f", "median of the same job without the fault")
_WITH = Column("with_s", "with s", ".4f", "median with it")


def _range(name: str, unit: str, show: str, about: str) -> List[Column]:
    return [Column(f"{name}_{unit}", f"{name} {unit}", show, f"{about}; median", better="lower"),
            Column(f"{name}_min_{unit}", "least", show),
            Column(f"{name}_max_{unit}", "most", show)]  # fmt: skip


DEATHS = [_PAYLOAD, Column("caller", "caller"), Column("fault", "fault"), _DEATHS,
          *_range("death", "ms", ".2f", "what one adds"), _CLEAN, _WITH]  # fmt: skip
FAILING = [_SUBJECT, Column("on_error", "on_error"), Column("share", "share", ".2%", "of the records fail", better="same"),
           Column("delivered", "delivered", ",d", "output records"),
           Column("seconds", "s", ".4f", "median"), Column("records_per_s", "records/s", ",.0f", "median; input records", better="higher"),
           Column("records_per_s_min", "least", ",.0f"), Column("records_per_s_max", "most", ",.0f"),
           Column("ratio", "ratio", ".3f", "rate by that without failing records")]  # fmt: skip
ISOLATION = [_PAYLOAD, Column("fault", "fault"), Column("retries", "retries", ",d", better="same"), _DEATHS,
             *_range("added", "ms", ",.1f", "what the record adds to the run"), _CLEAN, _WITH]  # fmt: skip
LOST = [_SUBJECT, Column("outcome", "outcome"), _CLEAN, _WITH, Column("with_min_s", "least", ".4f"),
        Column("with_max_s", "most", ".4f"), Column("ratio", "ratio", ".2f", "seconds until the output is there, by clean")]  # fmt: skip


class Wrong(Exception):
    """Something is not as it has to be."""


def require(condition: bool, what: str) -> None:
    if not condition:
        raise Wrong(what)


def timed(body: Callable[[], Any]) -> Tuple[float, Any]:
    started = time.perf_counter()
    found = body()
    return time.perf_counter() - started, found


def fresh_folders(folder: Path) -> Iterator[Path]:
    while True:
        yield Path(tempfile.mkdtemp(prefix="marks-", dir=folder))


Check = Callable[[gm.Results], None]


class Bench:
    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self.arguments = arguments
        self.folder = folder
        self.subjects = faulty.subjects(folder)
        self.marks = fresh_folders(folder)

    def job(self, way: bytes = faulty.FAIL, marked: Tuple[int, ...] = ()) -> Job:
        return faulty.job(self.folder / "records", self.arguments.records, way, marked)

    def pairs(self, subject: Subject, jobs: Tuple[Job, Job], check: Check, **options: Any) -> List[Tuple[float, float]]:
        """Seconds of a clean run and of one with the fault, of each trial; the first warms up."""
        clean, faulted = jobs
        found = []
        with gm.Engine(workers=self.arguments.workers, **subject.options, **options) as engine:
            for trial in range(-1, self.arguments.trials):
                payload = subject.payload(next(self.marks))
                engine.map(payload, "/dev/null")
                without, results = timed(lambda: engine.map(payload, clean.path))
                require(bytes(results) == clean.output, f"{subject.name}: wrong output without a fault")
                with_it, results = timed(lambda: engine.map(payload, faulted.path))
                check(results)
                if trial >= 0:
                    found.append((without, with_it))
        return found

    def two_jobs(self, way: bytes, count: int) -> Tuple[Job, Job]:
        """Without and with marked records."""
        records = self.arguments.records
        return (faulty.job(self.folder / "clean", records, way),
                faulty.job(self.folder / "faulted", records, way, faulty.spread(records, count)))  # fmt: skip


def medians(pairs: List[Tuple[float, float]], name: str, times: int = 1) -> Dict[str, Any]:
    """Fields of a row: what the fault adds, in ms, by so many ``times``."""
    added = [(with_it - without) * 1e3 / times for without, with_it in pairs]
    return {f"{name}_ms": statistics.median(added), f"{name}_min_ms": min(added), f"{name}_max_ms": max(added),
            "clean_s": statistics.median(one for one, _ in pairs), "with_s": statistics.median(two for _, two in pairs),
            "all_seconds": pairs}  # fmt: skip


def deaths(table: sheet.Table, bench: Bench) -> None:
    _deaths_of(table, bench, "small")
    if bench.arguments.big_gib:
        held = ballast(bench.arguments.big_gib)
        _deaths_of(table, bench, f"{bench.arguments.big_gib:g} GiB")
        del held


def _deaths_of(table: sheet.Table, bench: Bench, caller: str) -> None:
    kills = bench.arguments.kills
    batch = max(1, bench.arguments.records // (4 * kills))  # one death in each fourth
    for fault, way in (("SIGKILL", faulty.KILL), ("SIGSEGV", faulty.CRASH)):
        jobs = bench.two_jobs(way, kills)
        for subject in bench.subjects.values():

            def check(results: gm.Results, subject: Subject = subject) -> None:
                require(bytes(results) == jobs[1].output, f"{subject.name}, {fault}: wrong output")
                seen = results.report.worker_deaths
                require(seen == kills, f"{subject.name}: {seen} deaths instead of {kills}")

            found = bench.pairs(subject, jobs, check, batch_records=batch)
            table.add(payload=subject.name, caller=caller, fault=fault, deaths=kills, **medians(found, "death", kills))


def failing(table: sheet.Table, bench: Bench) -> None:
    records = bench.arguments.records
    jobs = {}
    for share in SHARES:
        marked = faulty.spread(records, max(1, round(records * share))) if share else ()
        jobs[share] = faulty.job(bench.folder / f"share-{share}", records, faulty.FAIL, marked)
    for name in ("function, fork", "plugin"):
        subject = bench.subjects[name]
        with gm.Engine(workers=bench.arguments.workers, **subject.options) as engine:
            payload = subject.payload(next(bench.marks))
            for on_error in ("skip", "collect", "raise"):
                act = _raised if on_error == "raise" else _kept
                bodies = {share: lambda each=each: act(engine, payload, each, on_error) for share, each in jobs.items()}
                _failing_rows(table, bench, jobs, bodies, {"subject": f"gristmill, {name}", "on_error": on_error})
    with fault_rivals.Executor(bench.arguments.workers, jobs[0.0], next(bench.marks)) as executor:
        for on_error in ("skip", "raise"):
            bodies = {share: lambda each=each: executor.failing(each, on_error) for share, each in jobs.items()}
            _failing_rows(table, bench, jobs, bodies, {"subject": f"executor, chunks of {executor.chunk:,}", "on_error": on_error})


Delivered = Tuple[int, Callable[[], bytes], List[int]]
"""How many records came out, what they are, and which failed (on_error="raise": the first; of skip none)."""


def _kept(engine: gm.Engine, payload: Any, job: Job, on_error: str) -> Delivered:
    results = engine.map(payload, job.path, on_error=on_error)
    require(results.report.failed == len(job.marked), f"{results.report.failed} records failed")
    failed = [error.index for error in results.errors] if on_error == "collect" else []
    return len(results), lambda: bytes(results), failed


def _raised(engine: gm.Engine, payload: Any, job: Job, on_error: str) -> Delivered:
    batches, failed = [], []
    try:
        with engine.stream(payload, job.path, on_error=on_error) as stream:
            batches.extend(stream.batches())
    except gm.RecordError as error:
        failed.append(error.index)
    data = b"".join(batches)
    return data.count(b"\n"), lambda: data, failed


def _failing_rows(table: sheet.Table, bench: Bench, jobs: Any, bodies: Any, labels: Dict[str, str]) -> None:
    counts = {}
    for share, body in bodies.items():
        counts[share], output, failed = body()
        wanted = jobs[share].marked[:1] if labels["on_error"] == "raise" else jobs[share].marked
        whole = jobs[share].output_without
        lost_chunk = labels["on_error"] == "raise" and labels["subject"].startswith("executor")
        exact = whole.startswith(output()) if lost_chunk else output() == (
            b"".join(whole.splitlines(True)[: wanted[0]]) if labels["on_error"] == "raise" and wanted else whole)  # fmt: skip
        require(exact, f"{labels}: wrong output with {share:.2%} failing")
        require(not failed or failed == list(wanted), f"{labels}: other records failed")
    times = sheet.interleaved({str(share): body for share, body in bodies.items()}, bench.arguments.trials, warm=0)
    clean = statistics.median(times[str(0.0)])
    for share, job in jobs.items():
        seen = times[str(share)]
        row = {**labels, "share": share, "delivered": counts[share], "seconds": statistics.median(seen), "all_seconds": seen}
        if labels["on_error"] != "raise" or not share:  # what ends at its first failing record has no rate
            rates = [job.records / each for each in seen]
            row.update(records_per_s=statistics.median(rates), records_per_s_min=min(rates), records_per_s_max=max(rates))
        if labels["on_error"] != "raise":
            row["ratio"] = clean / statistics.median(seen)
        table.add(**row)


def isolation(table: sheet.Table, bench: Bench) -> None:
    timeout = bench.arguments.timeout
    for subject in bench.subjects.values():
        cases: List[Tuple[str, bytes, Dict[str, Any]]] = [
            ("SIGSEGV, always", faulty.ALWAYS_CRASH, {}),
            ("SIGKILL, always", faulty.ALWAYS_KILL, {}),
            (f"hang, timeout={timeout:g}", faulty.HANG, {"timeout": timeout}),
        ]
        if not subject.plugin:
            cases.append(("fails once", faulty.TRANSIENT, {"retry_exceptions": faulty.Passing}))
        for fault, way, options in cases:
            jobs = bench.two_jobs(way, 1)
            for retries in RETRIES if way == faulty.ALWAYS_CRASH else (2,):
                _isolated(table, bench, subject, jobs, {"fault": fault, "retries": retries}, options)


def _isolated(table: sheet.Table, bench: Bench, subject: Subject, jobs: Tuple[Job, Job], labels: Dict[str, Any],
              options: Dict[str, Any]) -> None:  # fmt: skip
    passes = "retry_exceptions" in options
    kind = "PayloadTimeout" if "timeout" in options else "WorkerCrashed"
    seen = []

    def check(results: gm.Results) -> None:
        what = f"{subject.name}, {labels['fault']}"
        require(bytes(results) == (jobs[1].output if passes else jobs[1].output_without), f"{what}: wrong output")
        errors = [(error.kind, error.index) for error in results.errors]
        require(errors == ([] if passes else [(kind, jobs[1].marked[0])]), f"{what}: {errors}")
        seen.append(results.report.worker_deaths)

    found = bench.pairs(subject, jobs, check, on_error="collect", retries=labels["retries"], **options)
    table.add(payload=subject.name, **labels, deaths=max(seen), **medians(found, "added"))


def lost(table: sheet.Table, bench: Bench) -> None:
    """The same function for all; the kill comes in the middle."""
    arguments = bench.arguments
    clean, killed = bench.two_jobs(faulty.KILL, 1)

    def ours(job: Job, marks: Path) -> Outcome:
        took, results = timed(lambda: gm.map(faulty.Faulty(str(marks)), job.path, workers=arguments.workers))
        return Outcome(fault_rivals.COMPLETE, took, bytes(results) == job.output)

    chunk = fault_rivals.best_chunk(arguments.workers, clean, next(bench.marks))
    rivals = fault_rivals.LostWorkers(arguments.workers, chunk, arguments.hang_limit)
    bodies = {"gristmill": ours, f"executor, chunks of {chunk:,}": rivals.executor, f"pool, chunks of {chunk:,}": rivals.pool}
    seen: Dict[str, List[Tuple[Outcome, Outcome]]] = {name: [] for name in bodies}
    for _ in range(arguments.trials):
        for name, body in bodies.items():
            without, with_it = body(clean, next(bench.marks)), body(killed, next(bench.marks))
            require(without.what == fault_rivals.COMPLETE, f"{name}: {without.what} without a kill")
            require(without.exact and with_it.exact, f"{name}: wrong output")
            seen[name].append((without, with_it))
    for name, trials in seen.items():
        _lost_row(table, name, trials, arguments.hang_limit)


def _lost_row(table: sheet.Table, name: str, trials: List[Tuple[Outcome, Outcome]], limit: float) -> None:
    clean = statistics.median(without.seconds for without, _ in trials)
    ended = [with_it.seconds for _, with_it in trials if with_it.what != fault_rivals.HANGS]
    row: Dict[str, Any] = {"outcome": ", ".join(dict.fromkeys(with_it.what for _, with_it in trials)), "clean_s": clean}
    if ended:
        row.update(with_s=statistics.median(ended), with_min_s=min(ended), with_max_s=max(ended),
                   ratio=statistics.median(ended) / clean)  # fmt: skip
    if len(ended) < len(trials):
        row["note"] = f"no result within {limit:g} s in {len(trials) - len(ended)} of {len(trials)} trials"
    table.add(subject=name, **row, all_outcomes=[[asdict(each) for each in trial] for trial in trials])


def ballast(gib: float) -> bytearray:
    """Memory that is there: every page written."""
    held = bytearray(int(gib * 2**30))
    held[::4096] = b"x" * len(held[::4096])
    return held


def parse() -> argparse.Namespace:
    parser = sheet.parser(__doc__)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--kills", type=int, default=10, help="in a run that shows what deaths cost")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=0.2, help="seconds after which a record that hangs is given up")
    parser.add_argument("--big-gib", type=float, default=1, help="memory of the large caller; 0: none")
    parser.add_argument("--hang-limit", type=float, default=3, help="seconds that an executor or pool which lost a worker is waited for")
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # workers crash by intention
    found = sheet.Sheet("faults", __doc__, arguments)
    dying = found.table("deaths", "A worker's death", DEATHS, plots=[Bars(("payload", "fault"), "death_ms", "death_min_ms",
                        "death_max_ms", of="caller")])  # fmt: skip
    shares = found.table("failing", "Failing records", FAILING, plots=[Lines("share", "ratio", "subject", of="on_error")])
    alone = found.table("isolation", "One record that takes its workers with it", ISOLATION,
                        plots=[Bars(("fault", "retries"), "added_ms", "added_min_ms", "added_max_ms", of="payload")])  # fmt: skip
    gone = found.table("lost", "One SIGKILL in the middle of a job, workers made for the call", LOST,
                       plots=[Bars(("subject",), "ratio")])  # fmt: skip
    wrong = ""
    with tempfile.TemporaryDirectory(prefix="gristmill-faults-") as folder:
        try:
            bench = Bench(arguments, Path(folder))
            for measure, *given in ((deaths, dying), (failing, shares), (isolation, alone), (lost, gone)):
                with exclusive.machine():
                    measure(*given, bench)
        except Wrong as what:
            wrong = str(what)
    return found.finish(wrong=wrong)
