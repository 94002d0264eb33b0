"""gm.stream: the same results as gm.map, taken while workers run."""

import gc
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from expected_records import picky, split
from processes import LIVENESS_SECONDS, await_gone, await_true, children, descendants, workers
from record_plays import work

import gristmill as gm


def upper(record):
    return record.upper()


def fails_at_bang(record):
    if record.startswith(b"!"):
        raise ValueError("bang")
    return record


@gm.batch
def upper_batch(batch):
    return bytes(batch.data).upper()


@gm.batch
def upper_list(batch):
    return bytes(batch.data).upper().split(b"\n")[:-1]


PAYLOADS = {
    "plugin": "upper",
    "function": upper,
    "batch": upper_batch,
    "list": upper_list,
    "command": ["tr", "a-z", "A-Z"],
}
FRAMINGS = {
    "lines": ({}, b"a\n\nbc\n" * 700),
    "no last delimiter": ({}, b"a\nbc\n" * 700 + b"end"),
    "crlf": ({"delimiter": "\r\n"}, b"a\r\nb\nc\r\n" * 700),
    "border": ({"delimiter": "$$"}, b"a$$$b$$c$$" * 700),
    "fixed": ({"framing": 7}, b"abcdefg" * 900),
    "u32le": ({"framing": "u32le"}, b"\3\0\0\0a\nb\0\0\0\0\1\0\0\0x" * 500),
}


def oracle(data, options):
    """The records, by plain Python, in upper case."""
    framing = options.get("framing", "delimiter")
    if framing == "delimiter":
        return split(data.upper(), options.get("delimiter", "\n").encode())
    if framing != "u32le":
        return [data[at : at + framing].upper() for at in range(0, len(data), framing)]
    records, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "little")
        records.append(data[at + 4 : at + 4 + size].upper())
        at += 4 + size
    return records


@pytest.fixture(scope="module")
def engine():
    with gm.Engine(workers=2) as made:
        yield made


@pytest.fixture
def numbers(file):
    """A file of 5,000 numbered records, and these."""
    records = [b"record %d" % n for n in range(5000)]
    return file(b"\n".join(records) + b"\n"), records


@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("kind", PAYLOADS)
def test_equals_map_and_the_oracle(file, engine, kind, framing):
    options, data = FRAMINGS[framing]
    if kind == "command" and framing not in ("lines", "crlf"):
        pytest.skip("tr would be given, or asked for, a framing it does not know")
    if kind == "list" and not framing.startswith(("lines", "no")):
        pytest.skip("the function knows lines only")
    source = file(data)
    wanted = oracle(data, options)
    for size in ({"batch_bytes": 500}, {"batch_records": 77}, {}):
        assert list(engine.stream(PAYLOADS[kind], source, **options, **size)) == wanted
        assert list(engine.map(PAYLOADS[kind], source, **options, **size)) == wanted


@pytest.mark.parametrize("order", ["index", "none"])
@pytest.mark.parametrize("count", [0, 1, 2, 3])
@pytest.mark.parametrize("kind", ["plugin", "function", "command"])
def test_equals_map_for_any_workers_and_order(file, lines, kind, count, order):
    data = lines[:200_000]
    found = list(gm.stream(PAYLOADS[kind], file(data), workers=count, order=order, batch_bytes=9000))
    wanted = split(data.upper())
    assert found == wanted if order == "index" else sorted(found) == sorted(wanted)


@pytest.mark.parametrize("isolation", ["thread", "process"])
@pytest.mark.parametrize("nodes", ["auto", "@2"])
def test_equals_map_wherever_it_runs(file, lines, plugin, isolation, nodes):
    found = gm.stream(plugin("picky"), file(lines), isolation=isolation, nodes=nodes, config="> ", batch_bytes=3000)
    assert list(found) == picky(lines, b"> ")


def test_records_that_functions_filter_or_that_hold_the_delimiter(numbers):
    path, records = numbers
    odd = lambda record: record + b"\nmore" if record[-1] % 2 else None  # noqa: E731
    wanted = [record + b"\nmore" if record[-1] % 2 else None for record in records]
    assert list(gm.stream(odd, path, workers=2)) == [record for record in wanted if record is not None]
    assert list(gm.stream(odd, path, workers=2, filtered="blank")) == [record or b"" for record in wanted]


@pytest.mark.parametrize("data", [b"", b"\n", b"a", b"a\nb", b"\n\n"])
def test_batches_together_are_what_map_gives(file, data):
    source = file(data)
    for copy in (True, False):
        batches = [bytes(batch) for batch in gm.stream("identity", source).batches(copy=copy)]
        assert split(b"".join(batches)) == split(data) if data else batches == []


# Taking some, and ending early


def test_next_then_the_rest(numbers):
    path, records = numbers
    stream = gm.stream(upper, path, batch_records=10)
    assert not stream.closed and "open" in repr(stream)
    assert [next(stream) for _ in range(15)] == [r.upper() for r in records[:15]]
    assert next(iter(stream)) == records[15].upper()
    assert next(stream) == records[16].upper()
    assert [record for record in stream] == [r.upper() for r in records[17:]]
    assert stream.closed and "closed" in repr(stream)
    assert next(stream, None) is None and list(stream) == []


def test_batches_after_records_repeat_and_lose_nothing(numbers):
    path, records = numbers
    stream = gm.stream("identity", path, batch_records=10)
    taken = [next(stream) for _ in range(3)]
    with pytest.raises(gm.GristmillError, match="7 records"):
        stream.batches()
    taken += [next(stream) for _ in range(7)]
    batches = stream.batches()
    taken += split(next(batches))
    taken += [next(stream) for _ in range(10)]
    assert taken + split(b"".join(batches)) == records


def test_batches_in_the_middle_of_a_batch_of_records(numbers):
    path, records = numbers
    stream = gm.stream("identity", path, batch_records=10)
    batches = stream.batches()
    taken = [next(stream) for _ in range(3)]
    try:
        taken += split(next(batches))  # right, or refused; never past the seven that are left
    except gm.GristmillError:
        pass
    assert (taken + list(stream))[:13] == records[:13]


def ends(stream):
    stream.close()
    stream.close()


def leaves_the_loop(stream):
    for _ in stream:
        break


def raises(stream):
    with pytest.raises(KeyError), stream:
        for _ in stream:
            raise KeyError


def is_taken_by_a_generator(stream):
    generator = (record for record in stream)
    next(generator)
    generator.close()


ENDINGS = [ends, leaves_the_loop, raises, is_taken_by_a_generator, next, lambda stream: None]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", ["plugin", "function", "items"])
def test_an_early_end_leaves_nothing(numbers, ending, kind):
    path, _ = numbers
    before = (len(os.listdir("/proc/self/fd")), len(children()), len(os.listdir("/proc/self/task")))
    if kind == "items":
        stream = gm.stream(str, itertools.count(), workers=1)
    else:
        stream = gm.stream(PAYLOADS[kind], path, batch_records=1, workers=2)
    ending(stream)
    del stream
    gc.collect()
    await_true(lambda: len(os.listdir("/proc/self/fd")) <= before[0] and len(children()) <= before[1])
    await_true(lambda: len(os.listdir("/proc/self/task")) <= before[2])


def test_an_engine_goes_on_after_an_early_end(engine, numbers):
    path, records = numbers
    for ending in ENDINGS:
        stream = engine.stream(upper, path, batch_records=10)
        ending(stream)
        del stream
        gc.collect()
        assert list(engine.map("identity", path)) == records
    with engine.stream("identity", path) as stream:
        assert next(stream) == records[0]
    assert stream.closed


def test_closing_an_engine_ends_its_stream(numbers):
    path, records = numbers
    with gm.Engine(workers=2) as engine:
        stream = engine.stream("identity", path, batch_records=10)
        assert next(stream) == records[0]
    assert engine.closed and stream.closed
    assert len(list(stream)) < 10  # what was in hand at most


def test_close_from_another_thread_ends_a_wait():
    reading, writing = os.pipe()
    for payload in ("identity", upper):
        with gm.stream(payload, reading) as stream:
            timer = threading.Timer(0.1, stream.close)
            timer.start()
            began = time.monotonic()
            assert next(stream, None) is None
            assert time.monotonic() - began < 1
            timer.join()
            assert stream.closed
    os.close(reading), os.close(writing)


def test_close_from_another_thread_ends_a_loop(numbers):
    path, records = numbers
    for attempt in range(20):
        stream, got, raised = gm.stream("identity", path, batch_records=1, workers=1), [], []

        def loop():
            try:
                got.extend(record for record in stream)
            except gm.GristmillError as error:
                raised.append(error)

        thread = threading.Thread(target=loop, daemon=True)
        thread.start()
        time.sleep(attempt * 0.0005)
        stream.close()
        thread.join(LIVENESS_SECONDS)
        assert not thread.is_alive() and raised == []
        assert got == records[: len(got)]


def test_two_threads_at_once_lose_nothing():
    reading, writing = os.pipe()
    stream, refused, got = gm.stream("identity", reading), [], []

    def take():
        try:
            got.append(next(stream))
        except gm.GristmillError as error:
            refused.append(str(error))

    first = threading.Thread(target=take, daemon=True)
    first.start()
    time.sleep(0.1)
    second = threading.Thread(target=take, daemon=True)
    second.start()
    second.join(LIVENESS_SECONDS)
    assert len(refused) == 1 and "another thread" in refused[0]
    os.write(writing, b"a\nb\n")
    first.join(LIVENESS_SECONDS)
    os.write(writing, b"c\n")
    os.close(writing)
    assert got + list(stream) == [b"a", b"b", b"c"]
    os.close(reading)


def test_the_same_thread_is_refused_and_others_queue(engine, numbers):
    path, records = numbers
    stream = engine.stream("identity", path, batch_records=10)
    assert next(stream) == records[0]
    for call in (engine.map, engine.run, engine.stream):
        with pytest.raises(gm.GristmillError, match="open stream"):
            call("identity", path)
    assert len(gm.map("identity", path)) == len(records)  # has an engine of its own
    found = []
    other = threading.Thread(target=lambda: found.append(len(engine.map("identity", path))))
    other.start()
    time.sleep(0.1)
    assert found == []
    assert list(stream) == records[1:]
    other.join(LIVENESS_SECONDS)
    assert found == [len(records)]


def test_a_forked_child_leaves_the_stream_alone(numbers):
    path, records = numbers
    script = (
        "import os, sys; import gristmill as gm\n"
        "stream = gm.stream(bytes.upper, sys.argv[1], batch_records=1)\n"
        "next(stream)\n"
        "if os.fork() == 0: sys.exit(0)\n"
        "os.wait()\n"
        "print(sum(1 for _ in stream))\n"
    )
    assert run_python(script, path)[:2] == (0, f"{len(records) - 1}\n")


def test_a_signal_handler_may_close_the_stream_that_waits():
    script = (
        "import os, signal, time; import gristmill as gm\n"
        "stream = gm.stream(bytes.upper, os.pipe()[0])\n"
        "signal.signal(signal.SIGALRM, lambda *_: stream.close())\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.1)\n"
        "print(next(stream, None), stream.closed)\n"
    )
    assert run_python(script) == (0, "None True\n", "")


def test_an_interrupt_between_the_run_and_its_stream_leaves_nothing(numbers):
    script = (
        "import os, sys; import gristmill as gm, gristmill.engine\n"
        "def interrupted(*_): raise KeyboardInterrupt\n"
        "gristmill.engine.OpenRun = interrupted\n"
        "before = os.listdir('/proc/self/fd')\n"
        "for payload in ('identity', bytes.upper):\n"
        "    try: gm.stream(payload, sys.argv[1])\n"
        "    except KeyboardInterrupt: print('interrupted')\n"
        "print(len(os.listdir('/proc/self/fd')) - len(before))\n"
    )
    assert run_python(script, numbers[0]) == (0, "interrupted\ninterrupted\n0\n", "")


# Reports and failures


def test_the_report_grows_and_is_whole_at_the_end(numbers):
    path, records = numbers
    stream = gm.stream(upper, path, batch_records=10, workers=1)
    next(stream)
    early = stream.report
    assert 10 <= early.read < len(records)
    list(stream)
    report = stream.report
    assert (report.read, report.emitted, report.failed) == (len(records), len(records), 0)
    assert report.batches == len(records) / 10


def test_collected_errors(file):
    stream = gm.stream(fails_at_bang, file(b"a\n!b\nc\n" * 100), on_error="collect", batch_records=7)
    assert list(stream) == [b"a", b"c"] * 100
    assert [error.index for error in stream.errors] == list(range(1, 300, 3))
    assert isinstance(stream.errors[0].__cause__, ValueError)
    assert stream.report.failed == 100


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("batch_records", [1, 7, 5000])
def test_raise_delivers_what_comes_before(file, count, batch_records):
    records = [b"%d" % n for n in range(500)]
    data = b"\n".join(records[:437] + [b"!"] + records[438:]) + b"\n"
    stream = gm.stream(fails_at_bang, file(data), workers=count, batch_records=batch_records)
    got = []
    with pytest.raises(gm.RecordError) as caught:
        for record in stream:
            got.append(record)
    assert got == records[:437] and caught.value.index == 437
    assert isinstance(caught.value.__cause__, ValueError)
    assert stream.closed and list(stream) == []


@pytest.mark.parametrize("kind", ["function", "plugin"])
def test_killed_workers_lose_nothing(file, plugin, kind):
    records = [b"record %d" % n for n in range(8000)]
    source = file(b"\n".join(records) + b"\n")
    others = set(workers())
    with gm.Engine(workers=2, isolation="process") as engine:
        if kind == "function":
            stream = engine.stream(work, source, batch_records=50)
            wanted = [record[::-1] for record in records]
        else:
            stream = engine.stream(plugin("slow"), source, batch_records=50, config="2")
            wanted = records
        got = []
        for record in stream:
            got.append(record)
            if len(got) in (50, 1000, 3000):
                os.kill(min(set(workers()) - others), signal.SIGKILL)
        assert got == wanted
        assert stream.report.worker_deaths >= 3


# The end of the interpreter, and Ctrl-C


def run_python(script, *arguments, **options):
    """Exit code, standard output, standard error."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIVENESS_SECONDS, **options)
    return done.returncode, done.stdout, done.stderr


EXITS = """
import itertools, json, os, sys, time
import gristmill as gm
from processes import descendants

kind, ending, path = sys.argv[1:]
reading, writing = os.pipe()
payload, source = {
    "plugin": ("identity", path), "function": (bytes.upper, path), "pipe": (bytes.upper, reading),
    "items": (str, itertools.count()), "stuck": (str, (time.sleep(n * 100) or n for n in itertools.count())),
}[kind]
stream = gm.stream(payload, source, workers=1, batch_records=1)
if kind != "pipe":
    next(stream)
print(json.dumps([time.monotonic(), descendants()]), flush=True)
if ending == "raise":
    raise SystemExit(0)
if ending == "dropped":
    del stream
"""


@pytest.mark.parametrize("ending", ["plain", "raise", "dropped"])
@pytest.mark.parametrize("kind", ["plugin", "function", "pipe", "items", "stuck"])
def test_the_interpreter_exits_with_an_open_stream(numbers, kind, ending):
    path, _ = numbers
    before = set(os.listdir("/dev/shm"))
    support = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    code, out, err = run_python(EXITS, kind, ending, path, env=support)
    began, left = json.loads(out)
    assert (code, err) == (0, "")
    assert time.monotonic() - began < 2
    await_gone(left)
    assert set(os.listdir("/dev/shm")) <= before


INTERRUPTED = """
import os, sys, time
import gristmill as gm

reading, writing = os.pipe()
kind = sys.argv[1]
payload = bytes.upper if kind != "plugin" else "upper"
stream = gm.stream(payload, reading, **({"workers": 0} if kind == "none" else {}))
print("waiting", flush=True)
try:
    next(stream)
except KeyboardInterrupt:
    print(time.monotonic(), stream.closed)
"""


@pytest.mark.parametrize("kind", ["plugin", "function", "none"])
def test_ctrl_c_ends_the_wait_for_a_silent_pipe(kind):
    command = [sys.executable, "-c", INTERRUPTED, kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "waiting\n"
        time.sleep(0.15)
        left = descendants(child.pid)
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=LIVENESS_SECONDS)
    told, closed = out.split()
    assert float(told) - sent < 1 and closed == "True"
    assert (child.returncode, err) == (0, "")
    await_gone(left)
