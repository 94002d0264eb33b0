"""Streams in bounded memory: endless input, slow consumers, large outputs; and views of that memory."""

import contextlib
import gc
import itertools
import os
import subprocess
import sys
import threading
import time

import pytest
from expected_records import split
from processes import descendants

import gristmill as gm

MIB = 1 << 20
MEMORY, WORKERS = "64MiB", 2
ALLOWED = 64 * MIB + 16 * MIB + WORKERS * 4 * MIB


def used():
    """Memory of this process and of all it has started, shared pages counted once; and the blocks of files in
    memory that nobody has mapped."""
    total, files = 0, {}
    for pid in (os.getpid(), *descendants()):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            mapped = 0
            with open(f"/proc/{pid}/smaps_rollup") as rollup:
                for line in rollup:
                    if line.startswith("Pss:"):
                        total += int(line.split()[1]) * 1024
                    if line.startswith("Pss_Shmem:"):
                        mapped = int(line.split()[1]) * 1024
            total -= mapped
            for each in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(FileNotFoundError):
                    path = f"/proc/{pid}/fd/{each}"
                    if os.readlink(path).startswith("/memfd:"):
                        facts = os.stat(path)
                        files[facts.st_dev, facts.st_ino] = facts.st_blocks * 512
    return total + sum(files.values())


class Growth:
    """The largest growth since it was made, looked at while the consumer sleeps."""

    def __init__(self):
        self.idle = used()
        self.most = 0

    def watch(self, seconds):
        end = time.monotonic() + seconds
        while True:
            self.most = max(self.most, used() - self.idle)
            if time.monotonic() >= end:
                break
            time.sleep(0.05)

    def check(self):
        print(f"grew by {self.most / MIB:.1f} MiB of {ALLOWED / MIB:.0f}")
        assert self.most < ALLOWED


def test_the_measure_sees_what_grows():
    growth = Growth()
    file = os.memfd_create("grown")
    os.write(file, bytes(20 * MIB))
    script = "import sys; kept = bytearray(b'x' * (30 << 20)); print(flush=True); sys.stdin.read()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", script], **pipes) as child:
        child.stdout.readline()
        growth.watch(0)
    os.close(file)
    assert 50 * MIB <= growth.most < 70 * MIB


@pytest.fixture
def engine():
    with gm.Engine(workers=WORKERS, memory=MEMORY) as made:
        made.run(bytes.upper, "/dev/null")
        list(made.stream(bytes.upper, gm.items([b"a"])))
        made.run("identity", "/dev/null")
        yield made


@pytest.fixture
def endless():
    """A pipe into which a thread writes the same record for ever."""
    reading, writing = os.pipe()

    def write():
        block = b"yes, and so on\n" * 4000
        with contextlib.suppress(BrokenPipeError):
            while True:
                os.write(writing, block)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    yield reading
    os.close(reading)
    writer.join(10)
    os.close(writing)
    assert not writer.is_alive()


def slowly(stream, growth, seconds=1.0):
    """Takes one and sleeps, then some and sleeps."""
    next(stream)
    growth.watch(seconds)
    for _ in itertools.islice(stream, 20_000):
        pass
    growth.watch(seconds / 2)


def test_an_endless_generator_amplified(engine):
    growth = Growth()
    items = (b"%0500d" % number for number in itertools.count())
    with engine.stream(lambda item: item * 10, items) as stream:
        slowly(stream, growth)
        growth.check()


@pytest.mark.parametrize("payload", [lambda record: record * 10, "identity", ["cat"]], ids=["function", "plugin", "command"])
def test_an_endless_pipe(engine, endless, payload):
    growth = Growth()
    with engine.stream(payload, endless) as stream:
        slowly(stream, growth)
        growth.check()


@pytest.mark.parametrize("copy", [True, False])
def test_batches_of_an_endless_pipe(engine, endless, copy):
    growth = Growth()
    with engine.stream(lambda record: record * 10, endless) as stream:
        batches = stream.batches(copy=copy)
        next(batches)
        growth.watch(0.5)
        for _ in itertools.islice(batches, 60):
            growth.watch(0)
        growth.watch(0.3)
        growth.check()


def test_short_records_one_by_one(engine):
    """A Python object for each is many times as large as its record."""
    growth = Growth()
    with open("/dev/zero", "rb") as zeros, engine.stream("identity", zeros, delimiter=b"\0") as stream:
        slowly(stream, growth, 0.6)
        growth.check()


def test_a_slow_first_record(engine, tmp_path):
    path = tmp_path / "in"
    path.write_bytes(b"slow\n" + b"a quick one\n" * 2_000_000)
    fast = b"a quick one" * 20

    def work(record):
        if record == b"slow":
            time.sleep(3)
            return record
        return fast

    growth, count = Growth(), 0
    watching = threading.Thread(target=growth.watch, args=(3.2,))
    with engine.stream(work, path) as stream:
        watching.start()
        assert next(stream) == b"slow"
        watching.join()
        for count, record in enumerate(itertools.islice(stream, 200_000), 1):
            assert record == fast
        growth.watch(0.1)
    assert count == 200_000
    growth.check()


def test_memory_below_the_minimum_is_refused_with_the_minimum():
    with pytest.raises(gm.OptionError, match="memory.*MiB|memory.*bytes") as caught:
        list(gm.stream(bytes.upper, "/dev/null", memory="1KiB", workers=2))
    print(caught.value)


def test_a_record_larger_than_memory_comes_through(tmp_path):
    path = tmp_path / "in"
    large = b"x" * (40 * MIB)
    path.write_bytes(b"first\n" + large + b"\nlast\n")
    with open(path, "rb") as source:
        reading, writing = os.pipe()
        writer = threading.Thread(target=lambda: (os.write(writing, source.read()), os.close(writing)), daemon=True)
        writer.start()
        for each in (path, reading):
            found = list(gm.stream("identity", each, memory="16MiB", workers=1))
            assert [len(record) for record in found] == [5, len(large), 4]
        os.close(reading)


def test_collecting_and_leaving_streams_gives_memory_back(engine, endless):
    growth = Growth()
    for _ in range(8):
        with engine.stream("identity", endless) as stream:
            for _ in itertools.islice(stream.batches(), 30):
                pass
    time.sleep(0.1)
    growth.watch(0)
    growth.check()


@pytest.fixture
def numbers(file):
    """A file of 5,000 numbered records, and these."""
    records = [b"record %d" % n for n in range(5000)]
    return file(b"\n".join(records) + b"\n"), records


# Views of the memory in which a batch lies


def test_a_view_is_valid_until_the_next(numbers):
    path, records = numbers
    batches = gm.stream("identity", path, batch_records=100).batches(copy=False)
    view = next(batches)
    assert isinstance(view, memoryview) and view.readonly
    assert split(bytes(view)) == records[:100]
    next(batches)
    with pytest.raises(ValueError, match="released"):
        bytes(view)


@pytest.mark.parametrize("slicing", [lambda v: v[3:5], lambda v: v.cast("b"), lambda v: memoryview(v)[::2]])
@pytest.mark.parametrize("taking", ["batches", "records"])
def test_a_kept_slice_is_refused_until_it_is_gone(numbers, slicing, taking):
    path, records = numbers
    stream = gm.stream("identity", path, batch_records=100)
    batches = stream.batches(copy=False)
    kept = slicing(next(batches))
    taker = batches if taking == "batches" else stream
    for _ in range(2):
        with pytest.raises(BufferError, match="copy"):
            next(taker)
    del kept
    rest = split(b"".join(bytes(each) for each in taker)) if taking == "batches" else list(taker)
    assert rest == records[100:]


def test_an_engine_is_free_again_when_a_dropped_streams_slice_is_gone(numbers):
    path, records = numbers
    with gm.Engine(workers=1) as engine:
        stream = engine.stream("identity", path, batch_records=100)
        kept = next(stream.batches(copy=False))[:6]
        del stream
        gc.collect()
        assert bytes(kept) == b"record"
        del kept
        assert len(engine.map("identity", path)) == len(records)


def test_copies_stay(numbers):
    path, records = numbers
    assert split(b"".join(list(gm.stream("identity", path, batch_records=9).batches()))) == records
