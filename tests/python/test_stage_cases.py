"""Faults that users of other tools met when one stage failed: the output, or any other one inside. The name of each
test ends with the number of its case."""

import errno
import sys
import time

import pytest
from case_scripts import all_as_before, limited, run_command, run_script, take

import gristmill as gm


@pytest.fixture(autouse=True)
def in_time_and_nothing_is_left(tmp_path):
    with all_as_before(), limited(60):
        yield


# --- A43: errors on the output side --------------------------------------------------------------

GRISTMILL = f"'{sys.executable}' -m gristmill map"
PAYLOAD_OF_THE_SHELL = {"plugin": "upper", "function": "builtins:bytes", "command": ""}


def shell(command, **options):
    """Ends in 2 s of its own, though a machine may be slow to start an interpreter."""
    done = run_command(["bash", "-c", command], seconds=10, **options)
    assert done.seconds < 4
    return done


@pytest.mark.parametrize("kind", PAYLOAD_OF_THE_SHELL)
@pytest.mark.parametrize("source", ["file", "endless pipe"])
@pytest.mark.parametrize("where", ["stdout", "with stderr", "with report"])
def test_head_takes_one_line_a43(file, kind, source, where):
    path = file(b"a line\n" * 1_000_000) if source == "file" else "-"
    behind = " -- tr a-z a-z" if kind == "command" else ""
    report = " --report" if where == "with report" else ""
    both = "" if where == "stdout" else " 2>&1"
    begin = "yes 'a line' | " if source != "file" else ""
    command = f"{begin}{GRISTMILL} {PAYLOAD_OF_THE_SHELL[kind]} {path}{report}{behind}{both} | head -1; echo ${{PIPESTATUS[@]}}"
    done = shell(command)
    first, status = done.out.splitlines()
    assert first == ("A LINE" if kind == "plugin" else "a line")
    assert status.split() == [*(["141"] if begin else []), "141", "0"]
    assert done.err == ""


def test_nobody_reads_what_is_said_a43(file):
    """Messages that nobody takes are lost; the results are not, and nothing complains."""
    path = file(b"x\n" * 3)
    done = shell(f"{GRISTMILL} operator:truediv {path} --on-error collect --report 2> >(exec true); echo $?")
    assert done.out in ("141\n", "3\n") and done.err == ""
    done = shell(f"(sleep 0.3; {GRISTMILL} no_such_plugin {path}) 2> >(exec true); echo $?")
    assert (done.out, done.err) == ("2\n", "")


def test_nobody_could_read_what_is_said_a43(file):
    """Standard error is closed from the beginning."""
    done = shell(f"{GRISTMILL} operator:truediv {file(b'x' + bytes([10]))} --on-error collect --report 2>&-; echo $?")
    assert (done.out, done.err) == ("3\n", "")


TO_A_CALLER = """
import os, signal, socket, sys, threading, time
import gristmill as gm

kind, payload, source, disposition = sys.argv[1:]
if disposition == "default":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
before = signal.getsignal(signal.SIGPIPE)
ours, theirs = (socket.socketpair() if kind.startswith("socket") else map(os.fdopen, os.pipe(), "rw"))
if kind.startswith("pipe"):
    ours, theirs = theirs, ours
payload = {"plugin": "upper", "function": bytes.upper}[payload]
written, over = 0, threading.Event()
if source == "endless":
    reading, writing = os.pipe()
    def write():
        global written
        os.set_blocking(writing, False)
        while not over.is_set():
            try:
                written += os.write(writing, b"a line\\n" * 1000)
            except BlockingIOError:
                time.sleep(0.001)
    threading.Thread(target=write).start()
    source = reading
def leave():
    if "later" in kind:
        os.read(theirs.fileno(), 100_000)
        time.sleep(0.1)
    theirs.close()
if "later" in kind:
    leaving = threading.Thread(target=leave)
    leaving.start()
else:
    leave()
began = time.monotonic()
try:
    gm.run(payload, source, output=ours.fileno(), workers=2)
    print("a success")
except OSError as error:
    print(type(error).__name__, isinstance(error, BrokenPipeError), error.errno, time.monotonic() - began < 2)
over.set()
assert signal.getsignal(signal.SIGPIPE) == before
print(written < 600 << 20)
"""


@pytest.mark.parametrize("kind", ["pipe", "pipe, later", "socket", "socket, later"])
@pytest.mark.parametrize("payload", ["plugin", "function"])
@pytest.mark.parametrize("source", ["file", "endless"])
def test_the_reader_of_a_descriptor_goes_away_a43(file, kind, payload, source):
    given = file(b"a line\n" * 1_000_000) if source == "file" else source
    for disposition in ("ignored", "default"):
        done = run_script(TO_A_CALLER, kind, payload, given, disposition)
        assert (done.code, done.err) == (0, ""), disposition
        assert done.out.splitlines() == [f"OutputError True {errno.EPIPE} True", "True"] or (
            kind == "socket, later" and done.out.splitlines()[0].endswith(f"{errno.ECONNRESET} True")
        )


# --- A61: errors at each stage -------------------------------------------------------------------

STAGES = """
import contextlib, ctypes, errno, fcntl, os, struct, sys, termios, threading, time
import gristmill as gm
from case_scripts import all_as_before, limited

RECORDS, BATCH, PAD = 60, 5, bytes(100_000)
stage, way, preloaded = sys.argv[1:]
faults = ctypes.CDLL(preloaded)

class Situation:
    def __init__(self, queues, at):
        self.queues, self.at, self.wanted = queues, at, [b"%06d" % n for n in range(RECORDS)]

    def payload(self, record):
        if self.queues == "full":
            time.sleep(0.001)
        if record[:6] == self.wanted[self.at]:
            if stage == "function":
                raise ValueError("bang")
            if stage == "worker":
                os._exit(3)
            if stage == "result":  # too large for the ring, and there is no memory
                assert faults.faulty_io_set(f"ftruncate,pwrite,fallocate {errno.ENOSPC} 1- /memfd:".encode()) == 1
                return bytes(64 << 20)
        return record[:6] + (PAD if stage == "sink" else b"")

    def items(self):
        for n in range(RECORDS):
            if n == self.at:
                raise LookupError("source failed")
            if self.queues == "empty":
                time.sleep(0.001)
            yield self.wanted[n]

    def feed(self, reading, writing):
        for n in range(RECORDS):
            if n == self.at and stage in ("source", "memory"):
                end = time.monotonic() + 2
                while fcntl.ioctl(reading, termios.FIONREAD, bytes(4)) != bytes(4) and time.monotonic() < end:
                    time.sleep(0.001)  # until all of it is taken
                where = f"pipe:[{os.fstat(reading).st_ino}]" if stage == "source" else "/memfd:gristmill-"
                call = "read 5" if stage == "source" else f"pwrite,ftruncate {errno.ENOSPC}"
                assert faults.faulty_io_set(f"{call} 1- {where}".encode()) == 1
            long = bytes(20 << 20) if n == self.at and stage == "memory" else b""
            rest = memoryview(self.wanted[n] + long + b"\\n")
            try:
                while rest:
                    rest = rest[os.write(writing, rest):]
            except BrokenPipeError:
                break
            if self.queues == "empty":
                time.sleep(0.001)
        os.close(writing)

    def take_away(self, reading):
        rest = self.at * (len(PAD) + 7)
        while rest:
            rest -= len(os.read(reading, rest))
        os.close(reading)

    def consume(self, source):
        options = {"batch_records": BATCH, "workers": 2, "retries": 0, "start": "fork"}
        if way == "map":
            gm.map(self.payload, source, **options)
        elif way == "run" and stage == "sink":
            reading, writing = os.pipe()
            thread = threading.Thread(target=self.take_away, args=[reading])
            thread.start()
            try:
                gm.run(self.payload, source, output=writing, **options)
            finally:
                thread.join()
                os.close(writing)
        elif way == "run":
            gm.run(self.payload, source, output=None if stage == "items" else "out", **options)
        else:
            self.stream(source, options)

    def stream(self, source, options):
        got = []
        try:
            with gm.stream(self.payload, source, **options) as stream:
                if self.queues == "full":
                    time.sleep(0.05)  # all that may be ahead is ahead
                for record in stream:
                    if stage == "sink" and len(got) == self.at:
                        raise KeyError("the consumer")
                    got.append(record[:6])
        finally:
            assert got == self.wanted[:len(got)]
            exact = stage in ("function", "worker", "items", "sink")
            assert len(got) == self.at if exact else len(got) <= self.at + BATCH, (len(got), self.at)

    def run(self):
        if stage == "items":
            return self.consume(self.items())
        reading, writing = os.pipe()
        feeder = threading.Thread(target=self.feed, args=(reading, writing))
        feeder.start()
        raised = None
        try:
            self.consume(reading)
        except (gm.GristmillError, LookupError) as error:
            raised = error.with_traceback(None)
        faults.faulty_io_set(b"")
        os.close(reading)
        feeder.join()
        if raised is not None:
            raise raised

for queues in ("full", "empty"):
    for at in (2, 31, 58):  # in the first batch, in the middle, in the last
        try:
            with all_as_before(), limited(5):
                Situation(queues, at).run()
        except (gm.GristmillError, LookupError) as error:
            print(queues, at, type(error).__name__, getattr(error, "index", None), getattr(error, "errno", None))
        else:
            print(queues, at, "no error")
        assert not os.path.exists("out")
        with limited(5):
            assert list(gm.map(bytes, gm.items([b"after"]))) == [b"after"]
"""

ENDS = {
    "source": f"SourceError None {errno.EIO}",
    "items": "LookupError None None",
    "memory": "OutOfMemoryError None None",
    "function": "RecordError {at} None",
    "worker": "WorkerCrashed {at} None",
    "result": "OutOfMemoryError None None",
    "sink": f"OutputError None {errno.EPIPE}",
}


@pytest.mark.parametrize("way", ["map", "run", "stream"])
@pytest.mark.parametrize("stage", ENDS)
def test_an_error_at_any_stage_ends_the_run_a61(tmp_path, faulty_io, stage, way):
    if (stage, way) == ("sink", "map"):
        pytest.skip("the results of a map stay in memory")
    wanted = "KeyError None None" if (stage, way) == ("sink", "stream") else ENDS[stage]
    done = run_script(STAGES, stage, way, faulty_io, cwd=tmp_path, env={"LD_PRELOAD": faulty_io}, seconds=60)
    assert (done.code, done.err) == (0, "")
    situations = [(queues, at) for queues in ("full", "empty") for at in (2, 31, 58)]
    found = done.out.replace("PluginError", "OutOfMemoryError") if stage == "result" else done.out
    assert found.splitlines() == [f"{queues} {at} " + wanted.format(at=at) for queues, at in situations]


@pytest.mark.parametrize("way", ["map", "run", "stream"])
@pytest.mark.parametrize("workers", [1, 2])
def test_the_first_error_wins_a61(way, workers):
    """Record 7 fails late, record 8 at once, and the source behind them."""

    def fails(item):
        if item == 7:
            time.sleep(0.2)
            raise ValueError("the first")
        if item == 8:
            raise ValueError("the second")
        return item

    def items():
        yield from range(12)
        time.sleep(0.4)
        raise LookupError("the source")

    got = []
    with limited(5), pytest.raises(gm.RecordError) as caught:
        if way == "map":
            gm.map(fails, items(), workers=workers, batch_records=1)
        elif way == "run":
            gm.run(fails, items(), workers=workers, batch_records=1)
        else:
            got.extend(each for each in gm.stream(fails, items(), workers=workers, batch_records=1))
    assert caught.value.index == 7 and "the first" in str(caught.value)


@pytest.mark.parametrize("way", ["map", "run", "stream"])
@pytest.mark.parametrize("workers", [0, 2])
def test_the_first_failing_record_of_a_batch_is_the_last_one_tried_a61(tmp_path, file, way, workers):
    """A command fails a whole batch, whose records then go one by one."""
    tried = tmp_path / "tried"
    command = ["sh", "-c", 'read -r first; echo "$first" >> "$0"; exit 1', str(tried)]
    with limited(30), pytest.raises(gm.RecordError) as caught:
        take(way, command, file(b"".join(b"%d\n" % n for n in range(150))), tmp_path, workers=workers, batch_records=150)
    assert caught.value.index == 0
    assert set(tried.read_text().split()) == {"0"}
