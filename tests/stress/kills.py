#!/usr/bin/env python3
"""Counts runs that are disturbed by signals, and compares the output of each with what it must be.

This script chooses whom to kill and when; it never imports gristmill. A *caller*, its child, makes the
runs one after the other, and says when each began and ended and whether its output was the expected
one. The caller's child is the nursery, whose children are the workers.

The expected output of a Python function is made by a loop without gristmill, that of a plugin by an
undisturbed run without workers. The moment of a kill is uniform over the time that the same run takes
undisturbed. A kill hits when its victim was alive and the run had not yet ended; `deaths` are those
that the reports tell of. After each scenario nothing may be left: processes, descriptors, names in
/dev/shm, files.

The scenario crash-points needs a package whose workers die at labelled steps: tests/stress/crash-package
builds one, --crash-package names it.
"""

import argparse
import contextlib
import faulthandler
import gc
import importlib.util
import json
import os
import random
import resource
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

POISON = b"abort"
DEADLY = Path(__file__).resolve().parents[1] / "python" / "plugins" / "deadly.cpp"
PLAN_VARIABLE = "GRISTMILL_CRASH_PLAN"
LABELS = (
    "before claim", "claimed", "counted", "read", "processing", "processed", "before finish", "finished",
    "before done", "done", "going to sleep", "before wake", "before start", "started", "before leaving", "left",
)  # fmt: skip
LABELS_OF_RECORDS = (
    "processing", "processed", "before step", "stepped", "before finish", "finished", "before done", "done",
)  # fmt: skip


def fold(record):
    """A little work for each record."""
    return record[-24:].upper() + b" %d" % sum(record)


def fold_or_die(record):
    if record == POISON:
        os.abort()
    return fold(record)


FUNCTIONS = {"fold": fold, "fold_or_die": fold_or_die}


def expected_output(gm, task):
    """Made without worker processes."""
    if task["payload"] in gm.plugins.names():
        return bytes(gm.map(task["payload"], task["sources"], workers=0))
    work = fold if task["payload"] in FUNCTIONS else bytes  # the plugin "deadly" echoes
    records = b"".join(Path(source).read_bytes() for source in task["sources"]).split(b"\n")[:-1]
    return b"".join(work(record) + b"\n" for record in records if record != POISON)


def do(gm, task, expected, output):
    """One run, and what is to be told of it."""
    payload = FUNCTIONS.get(task["payload"], task["payload"])
    told = {"same": False, "begin": time.monotonic()}
    try:
        if task["way"] == "map":
            results = gm.map(payload, task["sources"], **task["options"])
            report, errors = results.report, results.errors
        else:
            report = gm.run(payload, task["sources"], output=output, **task["options"])
            errors = report.errors
    except gm.GristmillError as error:
        return {**told, "end": time.monotonic(), "error": f"{type(error).__name__}: {error}"[:300]}
    told.update(end=time.monotonic(), deaths=report.worker_deaths, failed=[error.index for error in errors])
    found = bytes(results) if task["way"] == "map" else Path(output).read_bytes()
    Path(output).unlink(missing_ok=True)
    told.update(same=found == expected, bytes=[len(found), len(expected)])
    return {**told, "counts": [report.read, report.emitted, report.failed]}


def serve(output, spoil):
    """The caller's life: does the tasks that arrive as lines of JSON, until there are no more."""
    import gristmill as gm

    faulthandler.register(signal.SIGUSR1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ["GRISTMILL_CRASH_CALLER"] = str(os.getpid())
    known = {}
    for line in sys.stdin:
        task = json.loads(line)
        key = task["payload"], *task["sources"]
        if key not in known:
            made = expected_output(gm, task)
            known = {**(known if len(known) < 4 else {}), key: made[:-2] + b"?\n" if spoil else made}
        os.environ.update(task.get("environment", {}))
        told = do(gm, task, known[key], output)
        for name in task.get("environment", {}):
            del os.environ[name]
        gc.collect()
        with contextlib.suppress(ChildProcessError):  # there are none, not even dead ones
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            told.update(same=False, error="a child process is left")
        print(json.dumps(told), flush=True)


def stat(pid):
    """Parent and start time; None when there is no such living process."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[1]), fields[19]) if fields[0] not in "ZX" else None


def children(parents):
    seen = {int(pid): stat(pid) for pid in os.listdir("/proc") if parents and pid.isdigit()}
    return sorted(pid for pid, each in seen.items() if each and each[0] in parents)


def send_signal(pid, parents, number):
    """Whether it was sent: only to a process that is still a child of one of these."""
    with contextlib.suppress(ProcessLookupError), contextlib.ExitStack() as stack:
        handle = os.pidfd_open(pid)
        stack.callback(os.close, handle)
        if (seen := stat(pid)) and seen[0] in parents:
            signal.pidfd_send_signal(handle, number)
            return True
    return False


class Hung(Exception):
    """A run did not end within the liveness limit."""


class Session:
    """A caller, and what is known of the processes below it."""

    def __init__(self, folder, options, package):
        self._folder, self._limit = folder, options.limit
        self._temporary = folder / "temporary"
        self._temporary.mkdir(exist_ok=True)
        self._shared = set(os.listdir("/dev/shm"))
        path = os.pathsep.join(filter(None, [package and str(package), os.environ.get("PYTHONPATH")]))
        command = [sys.executable, __file__, "--serve", str(folder / "output")] + ["--spoil"] * options.spoil
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(self._temporary)},
        )  # fmt: skip
        self.pid = self._process.pid
        self._seen, self._undisturbed, self._descriptors = {}, {}, None

    def workers(self):
        """And whose children they are."""
        nurseries = children([self.pid])
        workers = children(nurseries)
        self._seen.update({pid: stat(pid) for pid in nurseries + workers})
        return workers, nurseries

    def nurseries(self):
        return self.workers()[1], [self.pid]

    def send(self, task):
        try:
            self._process.stdin.write(json.dumps(task) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise Hung("the caller itself ended") from None

    def answered(self, seconds=0):
        return bool(select.select([self._process.stdout], [], [], max(0, seconds))[0])

    def answer(self):
        line = self._process.stdout.readline() if self.answered(self._limit) else ""
        if not line:
            raise Hung(f"no end after {self._limit:g} s, or the caller itself ended")
        return json.loads(line)

    def ask(self, task):
        self.send(task)
        return self.answer()

    def strike(self, at, victims, number, rng, struck):
        """Signals one of `victims()` at a moment, or as soon as there is one that is not in `struck`, and
        notes there when; nothing is done when the run ends before."""
        if self.answered(at - time.monotonic()):
            return
        while not self.answered():
            pids, parents = victims()
            pid = rng.choice([pid for pid in pids if pid not in struck] or [None])
            if pid and send_signal(pid, parents, number):
                struck[pid] = time.monotonic()
                return

    def undisturbed(self, task, wrong):
        """How long the run takes when nobody disturbs it; and it must give what is expected."""
        key = json.dumps(task)
        if key not in self._undisturbed:
            told = [self.ask(task) for _ in range(2)]
            wrong += [f"an undisturbed run: {task} {each}" for each in told if not each["same"]]
            self._undisturbed[key] = min(each["end"] - each["begin"] for each in told)
            self._descriptors = self._descriptors or self._open_descriptors()
        return self._undisturbed[key]

    def _open_descriptors(self):
        return sorted(os.listdir(f"/proc/{self.pid}/fd"))

    def left_over(self):
        """What the runs so far have left behind, as texts."""
        end = time.monotonic() + 2
        while alive := [pid for pid, was in self._seen.items() if was and (stat(pid) or [0, 0])[1] == was[1]]:
            if time.monotonic() > end:
                break
        self._seen.clear()
        found, now = [f"process {pid}" for pid in alive], self._open_descriptors()
        if now != (self._descriptors or now):
            found.append(f"descriptors {now} instead of {self._descriptors}")
        self._descriptors = now
        found += [f"/dev/shm/{name}" for name in set(os.listdir("/dev/shm")) - self._shared]
        found += [f"temporary file {path.name}" for path in self._temporary.iterdir()]
        return found + [f"file {path.name}" for path in self._folder.glob("*output*")]

    def end(self, hung):
        """After a hang the caller shows where it stands; when it is killed its processes end with it."""
        if hung and self._process.poll() is None:
            self._process.send_signal(signal.SIGUSR1)
            time.sleep(0.5)
            self._process.kill()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait(self._limit)


@dataclass
class Row:
    """One line of the table."""

    name: str
    runs: int = 0
    hits: int = 0
    same: int = 0
    deaths: int = 0
    seconds: float = 0.0
    notes: Counter = field(default_factory=Counter)
    wrong: list = field(default_factory=list)

    @property
    def good(self):
        return self.same == self.runs and not self.wrong and self.hits + self.deaths > 0

    def __str__(self):
        notes = "; ".join(f"{count} {what}" for what, count in self.notes.items() if count)
        numbers = f"{self.runs:5} {self.hits:6} {self.deaths:7} {self.same:10} {self.seconds:8.1f}"
        return f"{self.name:30} {numbers}  {'ok' if self.good else 'WRONG'}  {notes}".rstrip()


class Trial:
    """What scenarios share: inputs, the caller, chance, and the rows so far."""

    def __init__(self, options, folder):
        self.options, self.folder, self.rows = options, folder, []
        self.rng = random.Random(options.seed)
        self._session = self._package = None

    def input(self, name, records):
        path = self.folder / f"{name}-{records}"
        if not path.exists():
            code = "import sys, gristmill as gm; gm.datagen.generate(*sys.argv[1:3], records=int(sys.argv[3]))"
            subprocess.run([sys.executable, "-c", code, name, path, str(records)], check=True)
        return str(path)

    def session(self, package=None):
        if self._session and self._package != package:
            self.end_session()
        self._session, self._package = self._session or Session(self.folder, self.options, package), package
        return self._session

    def end_session(self, hung=False):
        if self._session:
            self._session.end(hung)
        self._session = None

    @contextlib.contextmanager
    def row(self, name):
        """A row to be filled; printed at its end."""
        row, began = Row(name), time.monotonic()
        self.rows.append(row)
        yield row
        if self._session:
            row.wrong += [f"left over: {what}" for what in self._session.left_over()]
        row.seconds = time.monotonic() - began
        print(row, flush=True)
        for text in row.wrong:
            print(f"    {text}", flush=True)

    @contextlib.contextmanager
    def one_run(self, row, task):
        """Counts it. A hang ends this run, and the caller; the next run has another caller."""
        row.runs += 1
        try:
            yield
        except Hung as error:
            row.wrong.append(f"run {row.runs} of seed {self.options.seed}: {error}: {task}")
            self.end_session(hung=True)

    def judge(self, row, task, told, right=True):
        row.deaths += told.get("deaths", 0)
        row.notes["lost a record to kills"] += "died of this record: SIGKILL" in told.get("error", "")
        if told["same"] and right:
            row.same += 1
        else:
            row.wrong.append(f"run {row.runs} of seed {self.options.seed}: {task} {told}")

    def disturb(self, row, task, victims="workers", number=signal.SIGKILL, times=1, pause=None):
        """One run, during which `times` signals are sent at random moments."""
        with self.one_run(row, task):
            session, struck = self.session(), {}
            lasts = session.undisturbed(task, row.wrong)
            # Many are sent within the first part, so that the run does not end before the last.
            moments = sorted(self.rng.uniform(0, lasts * (1 if times == 1 else 0.7)) for _ in range(times))
            session.send(task)
            sent = time.monotonic()
            for moment in moments:
                session.strike(sent + moment, getattr(session, victims), number, self.rng, struck)
            if pause is not None and not session.answered(pause):
                for pid in struck:
                    send_signal(pid, session.nurseries()[0], signal.SIGCONT)
                row.notes["had to be continued"] += 1
            told = session.answer()
            row.hits += sum(when <= told["end"] for when in struck.values())
            self.judge(row, task, told)


def task_of(rng, i, payload, sources, **more):
    """A run with random options; map() and run() by turns."""
    batch = rng.choice([None, None, "30KiB", "200KiB", "1MiB"])
    options = {"workers": rng.randint(1, 4), "batch_bytes": batch, **more}
    return {"payload": payload, "sources": sources, "way": ["map", "run"][i % 2], "options": options}


def python_task(trial, i, copies=1, starts=("fork", "fork", "fresh"), **more):
    sources = [trial.input("light", 200_000)] * copies
    return task_of(trial.rng, i, "fold", sources, start=trial.rng.choice(starts), **more)


def plugin_task(trial, i, **more):
    name, records, copies = [("light", 300_000, 4), ("medium", 100_000, 3)][i // 2 % 2]
    return task_of(trial.rng, i, name, [trial.input(name, records)] * copies, isolation="process", **more)


def heavy_task(trial, i, copies=20, **more):
    return task_of(trial.rng, i, "heavy", [trial.input("heavy", 20_000)] * copies, isolation="process", **more)


def disturbed(trial, name, full, quick, make_task, **how):
    """So many runs, and a few more when no signal has hit."""
    runs = trial.options.runs or (quick if trial.options.quick else full)
    with trial.row(name) as row:
        while row.runs < runs or (row.runs < runs + 20 and not row.hits):
            trial.disturb(row, make_task(trial, row.runs), **how)


def twenty_kills(trial):
    # Large batches are killed until they go record by record; two kills within one record then cost it.
    more = {"batch_bytes": "30KiB"} if trial.options.quick else {}
    disturbed(trial, "twenty-kills python", 10, 1, partial(python_task, copies=4 if more else 8, **more), times=20)
    disturbed(trial, "twenty-kills plugin", 10, 1, partial(heavy_task, **more), times=20)


def nursery(trial):
    disturbed(trial, "nursery plugin", 30, 2, plugin_task, victims="nurseries")
    for start in ("fork", "fresh"):
        task = partial(python_task, starts=[start])
        disturbed(trial, f"nursery python {start}", 30, 2, task, victims="nurseries")


def stopped(trial):
    """The engine ends a stopped worker when it is inside its payload. Any other is continued after 3 s."""
    how = {"number": signal.SIGSTOP, "pause": 3}
    disturbed(trial, "stopped python", 20, 1, partial(python_task, timeout=0.3), **how)
    disturbed(trial, "stopped plugin", 20, 1, partial(heavy_task, copies=8, timeout=0.3), **how)


def poison_of_a_million(trial):
    """One record of 1,000,000 ends its worker: it alone has failed, after retries + 2 deaths at most."""
    total, retries = 1_000_000, 2
    lines = Path(trial.input("light", total)).read_bytes().splitlines(keepends=True)
    plugin = trial.folder / "deadly.so"
    build = [sys.executable, "-m", "gristmill", "plugin", "build", str(DEADLY), "-o", str(plugin)]
    subprocess.run(build, check=True, capture_output=True)
    for kind, payload in (("python", "fold_or_die"), ("plugin", str(plugin))):
        with trial.row(f"poison-of-a-million {kind}") as row:
            for i in range(trial.options.runs or (1 if trial.options.quick else 4)):
                at = [trial.rng.randrange(total), trial.rng.randrange(total), 0, total - 1][i % 4]
                source = trial.folder / f"poisoned-{at}"
                source.write_bytes(b"".join([*lines[:at], POISON + b"\n", *lines[at + 1 :]]))
                task = {"payload": payload, "sources": [str(source)], "way": ["map", "run"][i % 2]}
                task["options"] = {"on_error": "collect", "workers": trial.rng.randint(1, 4), "retries": retries}
                with trial.one_run(row, task):
                    told = trial.session().ask(task)
                    right = told.get("failed") == [at] and told["counts"] == [total, total - 1, 1]
                    row.notes[f"with {told.get('deaths')} deaths"] += 1
                    trial.judge(row, task, told, right and told["deaths"] <= retries + 2)
                source.unlink()


def crash_points(trial):
    found = importlib.util.find_spec("gristmill")
    package = trial.options.crash_package or Path(found.origin if found else "").parents[1]
    cores = (package / "gristmill").glob("_core*.so")
    if not any(PLAN_VARIABLE.encode() in core.read_bytes() for core in cores):
        print(f"crash-points: skipped, gristmill in {package} was not built with crash points (--crash-package)")
        return
    lines = [b"line %d %s\n" % (i, b"x" * (i % 40)) for i in range(1500)]
    sound, poisoned = trial.folder / "sound", trial.folder / "poisoned"
    sound.write_bytes(b"".join(lines))
    poisoned.write_bytes(b"".join([*lines[:16], POISON + b"\n", *lines[16:40]]))
    for start in ("fork", "fresh"):
        for label in LABELS[:: 4 if trial.options.quick else 1]:
            with trial.row(f"crash {start}: {label}") as row:
                for workers in (2,) if trial.options.quick else (1, 2, 4):
                    options = {"workers": workers, "batch_bytes": 500, "start": start}
                    task = {"payload": "fold", "sources": [str(sound)], "options": options}
                    for every in (1, 2, 7):
                        at_crash_point(trial, row, package, task, (label, every, 2 if every == 1 else 6))
        for label in LABELS_OF_RECORDS[:: 4 if trial.options.quick else 1]:
            with trial.row(f"crash {start}: {label} (poison)") as row:
                options = {"workers": 2, "batch_bytes": 100_000, "start": start, "retries": 0, "on_error": "collect"}
                task = {"payload": "fold_or_die", "sources": [str(poisoned)], "options": options}
                for every in range(1, 50, 12 if trial.options.quick else 4):
                    at_crash_point(trial, row, package, task, (label, every, 1), failed=[16])


def at_crash_point(trial, row, package, task, when, failed=()):
    """A run in which one worker dies whenever so many have passed the label, and so many in all."""
    label, every, deaths = when
    plan = trial.folder / "plan"
    plan.write_bytes(struct.pack("=QqQ", every, deaths, 0))  # the last: passages so far
    environment = {"GRISTMILL_CRASH_POINT": label, PLAN_VARIABLE: str(plan)}
    task = {**task, "way": ["map", "run"][row.runs % 2], "environment": environment}
    with trial.one_run(row, task):
        told = trial.session(package).ask(task)
        row.hits += deaths - max(0, struct.unpack("=QqQ", plan.read_bytes())[1])
        trial.judge(row, [task, every], told, told.get("failed") == list(failed))


SCENARIOS = {
    "one-kill-python": lambda trial: disturbed(trial, "one-kill-python", 200, 3, python_task),
    "one-kill-plugin": lambda trial: disturbed(trial, "one-kill-plugin", 200, 3, plugin_task),
    "twenty-kills": twenty_kills, "nursery": nursery, "stopped": stopped,
    "poison-of-a-million": poison_of_a_million, "crash-points": crash_points,
}  # fmt: skip


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=SCENARIOS, default=list(SCENARIOS), metavar="SCENARIO",
                        help=f"these scenarios: {', '.join(SCENARIOS)}")  # fmt: skip
    parser.add_argument("--runs", type=int, help="so many runs of each scenario, instead of its own number")
    parser.add_argument("--quick", action="store_true", help="a few runs of each scenario")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32), help="of every choice")
    parser.add_argument("--limit", type=float, default=60, help="seconds after which a run hangs (%(default)s)")
    parser.add_argument("--crash-package", type=Path, help="folder with a gristmill that has crash points")
    parser.add_argument("--spoil", action="store_true", help="change a byte of what is expected: all must be WRONG")
    parser.add_argument("--serve", metavar="OUTPUT", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = arguments()
    if options.serve:
        serve(options.serve, options.spoil)
        return 0
    print("seed", options.seed)
    print(f"{'scenario':30} {'runs':>5} {'hits':>6} {'deaths':>7} {'identical':>10} {'seconds':>8}", flush=True)
    with tempfile.TemporaryDirectory(prefix="gristmill-kills-") as folder:
        trial = Trial(options, Path(folder))
        for name in options.only:
            SCENARIOS[name](trial)
        trial.end_session()
    wrong = [row for row in trial.rows if not row.good]
    runs, hits, same = (sum(getattr(row, what) for row in trial.rows) for what in ("runs", "hits", "same"))
    print(f"{runs} runs, {hits} kills hit, {same} identical outputs; {len(wrong)} rows wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
