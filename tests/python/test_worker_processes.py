"""Worker processes: killed, stopped, orphaned; what is left of them; what the host does meanwhile."""

import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest
from processes import await_gone, await_true, children, descendants, workers
from record_plays import work, work_on_batch

import gristmill as gm

RECORDS = [b"%d" % n for n in range(3000)]
DATA = b"".join(record + b"\n" for record in RECORDS)


@pytest.fixture
def source(file):
    return file(DATA)


@pytest.fixture(autouse=True)
def nothing_is_left():
    shared, here = sorted(os.listdir("/dev/shm")), os.listdir(".")
    yield
    assert descendants() == []
    assert (sorted(os.listdir("/dev/shm")), os.listdir(".")) == (shared, here)


class Killer:
    """While it is entered, a thread that kills one of `victims()` at random times."""

    def __init__(self, seed, victims, kills, gap_seconds):
        self._random, self._victims, self._gap = random.Random(seed), victims, gap_seconds
        self._left, self._over = kills, threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.killed = 0

    def _run(self):
        while self._left and not self._over.wait(self._random.uniform(0, self._gap)):
            victims = self._victims()
            if victims:
                self._left -= 1
                try:
                    os.kill(self._random.choice(victims), signal.SIGKILL)
                    self.killed += 1
                except ProcessLookupError:
                    pass

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


@pytest.mark.parametrize("seed", range(30))
def test_kills_at_random_times_change_nothing(tmp_path, source, seed):
    rng = random.Random(seed)
    options = {"workers": rng.choice([1, 2, 7]), "start": rng.choice(["fork", "fork", "fresh"]), "retries": 20}
    options.update(rng.choice([{}, {"batch_records": 1}, {"batch_records": 10}, {"batch_records": 700}]))
    payload = rng.choice([work, work_on_batch])
    with Killer(seed, workers, 8, 0.03) as killer:
        if seed % 2:
            found = bytes(gm.map(payload, source, **options))
        else:
            gm.run(payload, source, output=tmp_path / "out", **options)
            found = (tmp_path / "out").read_bytes()
    assert found == b"".join(record[::-1] + b"\n" for record in RECORDS)
    assert killer.killed > 0


@pytest.mark.parametrize("start", ["fork", "fresh"])
def test_the_nursery_is_replaced_when_it_is_killed(source, start):
    with Killer(1, lambda: [nursery for nursery in children() if children(nursery)], 3, 0.04) as killer:
        results = gm.map(work, source, workers=2, start=start, retries=10)
    assert list(results) == [record[::-1] for record in RECORDS]
    assert killer.killed > 0 and results.report.worker_deaths > 0


def test_the_nursery_of_an_idle_engine_is_replaced(source):
    for payload in ("identity", bytes.upper):
        with gm.Engine(workers=2) as engine:
            assert len(engine.map(payload, source)) == 3000
            (nursery,) = children()
            those = children(nursery)
            os.kill(nursery, signal.SIGKILL)
            await_gone(those)
            assert len(engine.map(payload, source)) == 3000
            assert children() != [nursery]


@pytest.mark.parametrize("payload", ["identity", bytes.upper])
def test_workers_of_an_idle_engine_are_replaced(source, payload):
    with gm.Engine(workers=3) as engine:
        for _ in range(3):
            assert len(engine.map(payload, source)) == 3000
            old = workers()
            for pid in old:
                os.kill(pid, signal.SIGKILL)
            await_gone(old)
        assert len(engine.map(payload, source)) == 3000
        assert len(workers()) == 3 and not set(old) & set(workers())


def test_a_killed_worker_gets_its_record_once_more(tmp_path, file):
    """Under retries=0 a batch is worked on record by record; a kill from outside costs no record."""
    marks = tmp_path / "marks"

    def die_once(record):
        with open(marks, "ab") as out:
            out.write(record + b" ")
        if record == b"7" and marks.read_bytes().split().count(b"7") == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return record

    source = file(b"".join(b"%d\n" % n for n in range(20)))
    results = gm.map(die_once, source, workers=1, batch_records=20, retries=0, on_error="collect")
    assert len(results) in (19, 20) and [error.index for error in results.errors] in ([], [7])


SLEEPER = """
import os, sys, time
import gristmill as gm

path, log, start, kind = sys.argv[1:]

def sleep(record):
    with open(log, "ab") as out:
        out.write(b"%d %d\\n" % (os.getpid(), os.getppid()))
    time.sleep(1000)

command = ["sh", "-c", f"echo $$ $PPID >> {log}; sleep 1000"]
before = len(os.listdir("/proc/self/fd"))
try:
    gm.map(sleep if kind == "function" else command, path, workers=2, batch_records=1, start=start)
except KeyboardInterrupt:
    print("interrupted", time.monotonic(), len(os.listdir("/proc/self/fd")) - before)
"""


@pytest.fixture
def sleeper(tmp_path, source):
    """sleeper(start, kind): a process whose workers are asleep, and the pids of its workers and nursery."""
    started = []

    def launch(start, kind="function"):
        log = tmp_path / f"log{len(started)}"
        command = [sys.executable, "-c", SLEEPER, source, str(log), start, kind]
        child = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        started.append(child)
        await_true(lambda: log.exists() and log.read_bytes().count(b"\n") >= 2)
        await_true(lambda: len(descendants(child.pid)) >= 3)
        return child, sorted({*descendants(child.pid), *map(int, log.read_bytes().split())} - {child.pid})

    yield launch
    for child in started:
        child.kill()
        child.communicate()


@pytest.mark.parametrize("start, kind", [("fork", "function"), ("fresh", "function"), ("auto", "command")])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_the_death_of_the_caller_ends_all(sleeper, start, kind, number):
    child, theirs = sleeper(start, kind)
    child.send_signal(number)
    assert child.wait(20) == -number
    await_gone(theirs, seconds=2)
    assert child.communicate() == ("", "")


@pytest.mark.parametrize("start, kind", [("fork", "function"), ("fresh", "function"), ("auto", "command")])
def test_ctrl_c_while_functions_sleep(sleeper, start, kind):
    child, theirs = sleeper(start, kind)
    sent = time.monotonic()
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does it
    out, err = child.communicate(timeout=20)
    word, at, descriptors = out.split()
    assert (word, descriptors, err, child.returncode) == ("interrupted", "0", "", 0)
    assert float(at) - sent < 1
    await_gone(theirs, seconds=2)


def test_ctrl_c_in_the_calling_thread(file):
    def slow(record):
        if record == b"5":
            signal.raise_signal(signal.SIGINT)
        return record

    for policy in ("raise", "skip"):
        with pytest.raises(KeyboardInterrupt):
            gm.map(slow, file(DATA), workers=0, on_error=policy)


def test_groups_killed_in_the_middle_leave_no_name(sleeper, tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    for start in ("fork", "fork", "fresh"):
        child, theirs = sleeper(start)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        await_gone(theirs)
    assert os.listdir(tmp_path / "temporary") == []
    assert not [name for name in os.listdir("/dev/shm") if "gristmill" in name]


def test_descriptors_after_any_end(tmp_path, source):
    def fail(record):
        if record == b"99":
            raise ValueError(record)
        return record

    def die(record):
        return os.abort() if record == b"99" else record

    def use_everything():
        results = gm.map(bytes.upper, source, workers=2)
        del results
        for payload in (fail, die, ["false"], "gristmill:nothing", [str(tmp_path / "missing")]):
            with pytest.raises(gm.GristmillError):
                gm.map(payload, source, workers=2, retries=0)
        gm.run(die, source, on_error="skip", retries=0, output=tmp_path / "out", start="fresh")

    use_everything()
    before = sorted(os.listdir("/proc/self/fd"))
    use_everything()
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_workers_have_no_descriptor_of_the_caller(tmp_path, file):
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    ours = os.readlink(f"/proc/self/fd/{writer}")
    there = os.open(tmp_path / "log", os.O_CREAT | os.O_WRONLY)

    def look(record):
        return " ".join(os.readlink(f"/proc/{record.decode() or os.getpid()}/fd/{number}")
                        for number in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{number}"))  # fmt: skip

    try:
        for start in ("fork", "fresh"):
            for seen in gm.map(look, file(b"\n\n"), start=start, workers=2):
                assert ours not in seen.decode()
    finally:
        for number in (reader, writer, there):
            os.close(number)


def test_a_pipe_of_the_caller_ends_while_workers_live(file):
    with gm.Engine(workers=2) as engine:
        reader, writer = os.pipe()
        engine.run(bytes.upper, file(DATA))
        engine.run("identity", file(DATA))
        os.write(writer, b"three")
        os.close(writer)
        assert os.read(reader, 10) + os.read(reader, 10) == b"three"  # end of file
        os.close(reader)


def test_a_host_that_reaps_every_child(source):
    """A47: somebody else calls waitpid(-1)."""
    seen = {}

    def reap(*_):
        try:
            while (got := os.waitpid(-1, os.WNOHANG))[0]:
                seen[got[0]] = got[1]
        except ChildProcessError:
            pass

    before = signal.signal(signal.SIGCHLD, reap)
    try:
        for start in ("fork", "fresh"):
            other = os.posix_spawnp("sh", ["sh", "-c", "exit 5"], os.environ)
            results = gm.map(work, source, workers=2, start=start)
            assert list(results) == [record[::-1] for record in RECORDS]
            await_true(lambda: other in seen)
            assert os.waitstatus_to_exitcode(seen[other]) == 5
            with pytest.raises(gm.WorkerCrashed, match="SIGABRT"):
                gm.map(lambda record: os.abort() if record == b"500" else record, source, start=start, retries=0)
        with gm.Engine(workers=2) as engine:
            assert len(engine.map("identity", source)) == 3000
            os.kill(children()[0], signal.SIGKILL)
            assert len(engine.map("identity", source)) == 3000
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_host_that_ignores_the_end_of_children(source):
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        for payload in (work, "identity", ["cat"]):
            assert len(gm.map(payload, source, workers=2)) == 3000
    finally:
        signal.signal(signal.SIGCHLD, before)


PRINTS = """
import ctypes, sys
import gristmill as gm

ctypes.CDLL(None).printf(b"once in C;")
sys.stdout.write("once in Python;")

def function(record):
    sys.stdout.write("in-worker\\n")
    if record == b"500":
        ctypes.CDLL(None).fflush(None)
    return record

gm.run(function, sys.argv[1], workers=8, start=sys.argv[2])
"""


@pytest.mark.parametrize("start", ["fork", "fresh"])
@pytest.mark.parametrize("to", ["file", "pipe"])
def test_buffers_are_not_written_twice_and_lines_stay_whole(tmp_path, source, start, to):
    command = [sys.executable, "-c", PRINTS, source, start]
    if to == "file":
        with open(tmp_path / "out", "wb") as out:
            subprocess.run(command, stdout=out, check=True, timeout=50)
        shown = (tmp_path / "out").read_bytes()
    else:
        shown = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=50).stdout
    assert (shown.count(b"once in C;"), shown.count(b"once in Python;")) == (1, 1)
    rest = shown.replace(b"once in C;", b"").replace(b"once in Python;", b"")
    assert rest == b"in-worker\n" * 3000


def test_what_was_to_be_done_at_exit_is_done_by_the_caller_alone(tmp_path, source):
    script = f"""
import atexit, os
import gristmill as gm
atexit.register(lambda: print("leaving"))
class Announces:
    def __del__(self): os.write(1, b"deleted\\n")
kept = Announces()
gm.run(bytes.upper, {source!r}, workers=4)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50)
    assert (sorted(done.stdout.split()), done.stderr) == (["deleted", "leaving"], "")


def test_many_descriptors_are_open(source):
    """A25: descriptors beyond what select() can name."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, before[1]), before[1]))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        for start in ("fork", "fresh"):
            assert list(gm.map(bytes.upper, source, workers=8, start=start)) == RECORDS
        assert list(gm.map("identity", source, workers=8)) == RECORDS
        assert list(gm.map(["cat"], source, workers=2)) == RECORDS
    finally:
        for number in opened:
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


LIMITED = """
import resource, sys
import gristmill as gm
resource.setrlimit(resource.{limit}, ({soft}, {soft}))
for payload in (bytes.upper, "identity"):
    for workers in (2, 16):
        try:
            print(len(gm.map(payload, sys.argv[1], workers=workers)))
        except (MemoryError, gm.GristmillError) as error:
            print(type(error).__name__, error)
"""


def limited(source, limit, soft):
    script = LIMITED.format(limit=limit, soft=soft)
    done = subprocess.run([sys.executable, "-c", script, source], capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_a_limit_of_address_space(file):
    """A26."""
    assert limited(file(b"x" * 9 + b"\n" * 100_000), "RLIMIT_AS", 2 << 30) == ["100000"] * 4


def test_a_limit_of_the_size_of_files(file):
    for line in limited(file((b"x" * 99 + b"\n") * 200_000), "RLIMIT_FSIZE", 1 << 20):
        assert line == "200000" or line.startswith(("OutOfMemoryError", "KernelError")), line


def test_a_process_that_gave_up_its_rights_is_told_so(source, unprivileged):
    if os.geteuid() != 0:
        pytest.skip("only root can give up rights")
    with unprivileged():
        for payload in ("identity", bytes.upper, ["cat"]):
            with pytest.raises(gm.KernelError, match="changed its user .* isolation='thread', or workers=0"):
                gm.map(payload, source, workers=2)
    assert list(gm.map("identity", source, workers=2)) == RECORDS


def test_workers_have_groups_of_their_own(source):
    def look(record):
        return b"%d %d %d" % (os.getpid(), os.getpgid(0), os.getsid(0))

    for start in ("fork", "fresh"):
        for seen in set(gm.map(look, source, workers=2, start=start)):
            worker, group, session = map(int, seen.split())
            assert (group, session) == (worker, os.getsid(0))


def test_signals_are_as_a_new_process_has_them(source):
    def look(record):
        status = open("/proc/self/status").read().split("\n")
        masks = [int(line.split()[1], 16) for line in status if line.startswith(("SigBlk", "SigCgt"))]
        return str([mask & 0x7FFFFFFF for mask in masks])  # those above are the C library's

    ignored = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD})
    try:
        for start in ("fork", "fresh"):
            assert set(gm.map(look, source, start=start)) == {b"[0, 0]"}
    finally:
        signal.signal(signal.SIGUSR1, ignored)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
