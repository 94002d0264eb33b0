"""Functions that fail, and those that take their worker along: one record is lost, with the right
error; the others come out in order, once."""

import os
import signal
import time

import misbehaviour as bad
import pytest
from processes import alive, await_gone, children, descendants

import gristmill as gm

RECORDS = [b"%d" % n for n in range(40)]
EVIL = 17
DATA = b"".join(record + b"\n" for record in RECORDS)
OTHERS = [record for record in RECORDS if record != b"%d" % EVIL]

EXCEPTIONS = {
    "ordinary": (bad.raising(ValueError, "no"), "ValueError", "ValueError: no"),
    "without words": (bad.raising(OSError), "OSError", "OSError"),
    "needs two": (bad.raising(bad.NeedsTwo, "l", "r"), "misbehaviour.NeedsTwo", "NeedsTwo: l|r"),
    "cannot reduce": (bad.raising(bad.CannotReduce, "x"), "misbehaviour.CannotReduce", "CannotReduce: x"),
    "str fails": (bad.raising(bad.WithoutWords), "misbehaviour.WithoutWords", "whose str() fails"),
    "cause": (bad.raise_with_cause, "ValueError", "ValueError: outer"),
    "base": (bad.raising(BaseException, "plain"), "BaseException", "BaseException: plain"),
    "sys.exit(3)": (bad.raising(SystemExit, 3), "SystemExit", "SystemExit: 3"),
    "sys.exit()": (bad.raising(SystemExit), "SystemExit", "SystemExit"),
    "stop iteration": (bad.raising(StopIteration), "StopIteration", "StopIteration"),
    "generator exit": (bad.raising(GeneratorExit), "GeneratorExit", "GeneratorExit"),
    "keyboard": (bad.raising(KeyboardInterrupt), "KeyboardInterrupt", "KeyboardInterrupt"),
    "recursion": (bad.recurse, "RecursionError", "maximum recursion depth"),
    "recursion in C": (bad.recurse_in_c, "RecursionError", "maximum recursion depth"),
    "memory": (bad.exhaust_memory, "MemoryError", "MemoryError"),
    "a size that no memory has": (lambda: bytearray(1 << 62), "MemoryError", "MemoryError"),
    "long words": (bad.raising(ValueError, "x" * 10**6), "ValueError", "ValueError: xxx"),
    "no unicode": (bad.raising(ValueError, "\udc80"), "ValueError", r"\udc80"),
}
DEATHS = {
    "segmentation fault": (lambda: bad.ctypes.string_at(8), "SIGSEGV"),
    "abort": (os.abort, "SIGABRT"),
    "exit status 0": (lambda: os._exit(0), "exit status 0"),
    "exit status 3": (lambda: os._exit(3), "exit status 3"),
    "SIGKILL": (bad.kill(signal.SIGKILL), "SIGKILL"),
    "SIGTERM": (bad.kill(signal.SIGTERM), "SIGTERM"),
    "SIGFPE": (bad.kill(signal.SIGFPE), "SIGFPE"),
    "when described": (bad.raising(bad.DiesWhenDescribed), "exit status 9"),
}
STUCK = {
    "endless loop": bad.spin,
    "endless, in C, interpreter locked": bad.block_in_c_with_the_interpreter_locked,
    "asleep": lambda: time.sleep(1000),
    "stopped": bad.kill(signal.SIGSTOP),
}
HARMLESS = {
    "closes descriptors": bad.close_descriptors,
    "changes directory": bad.change_directory,
    "starts threads": bad.start_threads,
    "forks and returns": bad.fork_and_return,
    "forks and raises": bad.fork_and_raise,
    "forks and exits": bad.fork_and_exit,
    "leaves a process": bad.leave_a_process,
    "writes to standard output": bad.write_to_standard_output,
    "breaks standard output": bad.break_standard_output,
    "limits everything": bad.limit_everything,
    "ignores signals": bad.ignore_signals,
    "takes exit codes": bad.take_the_exit_codes_of_children,
}


def evil(action, value=b"%d" % EVIL):
    def function(record):
        if record == value:
            action()
        return record

    return function


def named(table):
    return [pytest.param(*(each if isinstance(each, tuple) else (each,)), id=name) for name, each in table.items()]


@pytest.fixture
def source(file):
    return file(DATA)


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert descendants() == []


def check_one_failed(results, source, kind, words):
    assert list(results) == OTHERS
    (error,) = results.errors
    assert (error.index, error.offset, error.source) == (EVIL, DATA.index(b"\n17\n") + 1, source)
    assert (error.excerpt, error.kind) == (b"17", kind)
    assert words in error.reason and words in str(error)
    report = results.report
    assert (report.read, report.emitted, report.filtered, report.failed) == (40, 39, 0, 1)
    return error


@pytest.mark.parametrize("workers, size", [(2, 7), (0, 100)])
@pytest.mark.parametrize("action, kind, words", named(EXCEPTIONS))
def test_an_exception_costs_its_record(source, action, kind, words, workers, size):
    if workers == 0 and kind == "KeyboardInterrupt":
        pytest.skip("in the calling thread it is the user's own")
    results = gm.map(evil(action), source, workers=workers, batch_records=size, on_error="collect")
    error = check_one_failed(results, source, kind, words)
    assert results.report.worker_deaths == results.report.retries == 0
    assert kind == "RecursionError" or "Traceback" in error.traceback


@pytest.mark.parametrize("action, kind, words", named(EXCEPTIONS))
def test_an_exception_reaches_the_caller(source, action, kind, words):
    with pytest.raises(gm.RecordError) as caught:
        gm.map(evil(action), source, workers=2, batch_records=7)
    error = caught.value
    assert (error.index, error.kind) == (EVIL, kind) and words in str(error)
    cause = error.__cause__
    if cause is None:
        assert "The worker's traceback:\nTraceback" in str(error)
    else:
        assert kind.rpartition(".")[2] == type(cause).__name__


def test_the_original_travels_with_its_arguments_and_the_traceback_of_the_worker(source):
    with pytest.raises(gm.RecordError) as caught:
        gm.map(evil(bad.raise_with_arguments), source)
    cause = caught.value.__cause__
    assert (type(cause), cause.errno, cause.filename) == (OSError, 5, "where")
    assert 'misbehaviour.py", line' in caught.value.traceback and "in raise_with_arg" in caught.value.traceback


def fail_somewhere(record):
    number = int(record)
    if number % 3 == 0:
        raise ValueError(f"three divides {number}")
    if number % 3 == 1:
        return {}[number]
    return record


def test_each_of_many_failures_tells_its_own_line_and_words():
    results = gm.map(fail_somewhere, [b"%d" % i for i in range(300)], workers=2, on_error="collect")
    lines = {}
    for error in results.errors:
        threes = error.index % 3 == 0
        told = error.traceback.splitlines()
        assert told[0] == "Traceback (most recent call last):"
        assert told[-1] == (f"ValueError: three divides {error.index}" if threes else f"KeyError: {error.index}")
        assert ("raise ValueError" if threes else "return {}[number]") in error.traceback
        lines.setdefault(threes, set()).add(tuple(told[:-1]))
    assert len(results.errors) == 200 and {threes: len(seen) for threes, seen in lines.items()} == {True: 1, False: 1}


def test_a_chained_cause_is_kept_as_text(source):
    (error,) = gm.map(evil(bad.raise_with_cause), source, on_error="collect").errors
    assert "NeedsTwo: 1|2" in error.traceback and "direct cause" in error.traceback


@pytest.mark.parametrize("size", [1, 7, 100])
@pytest.mark.parametrize("action, words", named(DEATHS))
def test_a_death_costs_its_record(source, action, words, size):
    results = gm.map(evil(action), source, workers=2, batch_records=size, on_error="collect")
    check_one_failed(results, source, "WorkerCrashed", words)
    # Whole, retries included; then alone: five times, if it may have been killed from outside.
    assert 1 <= results.report.worker_deaths <= (3 + 5 if words in ("SIGKILL", "SIGTERM") else 5)


@pytest.mark.parametrize("action, words", named(DEATHS))
def test_a_death_is_raised_after_what_was_before_it(tmp_path, source, action, words):
    with open(tmp_path / "out", "wb") as out, pytest.raises(gm.WorkerCrashed, match=words) as caught:
        gm.run(evil(action), source, workers=2, batch_records=10, retries=1, output=out)
    assert caught.value.index == EVIL
    assert (tmp_path / "out").read_bytes() == b"".join(b"%d\n" % n for n in range(EVIL))


@pytest.mark.parametrize("place", [0, 999])
def test_deaths_at_the_first_and_the_last_record(file, place):
    source = file(b"".join(b"%d\n" % n for n in range(1000)))
    for workers in (1, 7):
        results = gm.map(
            evil(bad.kill(signal.SIGKILL), b"%d" % place), source, workers=workers, on_error="collect"
        )
        assert [error.index for error in results.errors] == [place]
        assert list(results) == [b"%d" % n for n in range(1000) if n != place]


def test_many_deaths_are_bounded_by_the_records_that_cause_them(file):
    source = file(b"".join(b"%d\n" % n for n in range(100)))
    results = gm.map(
        lambda record: record if int(record) % 10 else os.abort(), source, workers=2, on_error="collect", retries=1
    )
    assert [error.index for error in results.errors] == list(range(0, 100, 10))
    assert list(results) == [b"%d" % n for n in range(100) if n % 10]
    assert results.report.worker_deaths <= 10 + 2 * results.report.batches


@pytest.mark.parametrize("action", named(STUCK))
def test_a_record_without_end_costs_itself(source, action):
    results = gm.map(
        evil(action), source, workers=2, batch_records=20, on_error="collect", timeout=0.2, retries=0
    )
    check_one_failed(results, source, "PayloadTimeout", "no progress for longer than timeout")


def test_a_timeout_is_raised_as_one(source):
    with pytest.raises(TimeoutError) as caught:
        gm.map(evil(bad.spin), source, workers=1, timeout=0.2, retries=0)
    assert isinstance(caught.value, gm.PayloadTimeout) and caught.value.index == EVIL


def test_a_timeout_is_for_one_record_not_for_all(source):
    results = gm.map(lambda record: time.sleep(0.02) or record, source, workers=1, batch_records=40, timeout=0.3)
    assert list(results) == RECORDS and results.report.worker_deaths == 0


def test_a_stopped_worker_that_goes_on_loses_nothing(source):
    def stop(record):
        if record == b"5" and os.fork() == 0:  # somebody who will wake the worker
            parent = os.getppid()
            while b"State:\tT" not in open(f"/proc/{parent}/status", "rb").read():
                pass
            os.kill(parent, signal.SIGCONT)
            os._exit(0)
        if record == b"5":
            os.kill(os.getpid(), signal.SIGSTOP)
        return record

    assert list(gm.map(stop, source, workers=2, batch_records=3)) == RECORDS


@pytest.mark.parametrize("start", ["fork", "fresh"])
@pytest.mark.parametrize("action", named(HARMLESS))
def test_what_a_function_does_besides_stays_in_its_worker(source, action, start):
    before = os.getcwd(), sorted(os.listdir("/proc/self/fd"))
    results = gm.map(evil(action), source, workers=2, batch_records=7, start=start, on_error="collect")
    assert (list(results), results.errors, results.report.worker_deaths) == (RECORDS, (), 0)
    del results  # keeps descriptors of its memory
    assert (os.getcwd(), sorted(os.listdir("/proc/self/fd"))) == before


@pytest.mark.parametrize("own_session", [False, True], ids=["in its group", "in its own session"])
def test_processes_that_a_function_leaves_do_not_outlive_the_run(source, own_session):
    def leave(record):
        return b"%d" % bad.subprocess.Popen(["sleep", "60"], start_new_session=own_session).pid

    left = [int(record) for record in gm.map(leave, source, workers=2, batch_records=20)]
    try:
        await_gone(left, seconds=2)
    finally:
        for pid in filter(alive, left):
            os.kill(pid, signal.SIGKILL)


def test_no_failure_spoils_the_next_run_of_an_engine(source):
    with gm.Engine(workers=2, batch_records=7) as engine:
        for action, *_ in [*EXCEPTIONS.values(), *DEATHS.values()]:
            with pytest.raises(gm.GristmillError):
                engine.map(evil(action), source, retries=0)
            assert list(engine.map(evil(lambda: None), source)) == RECORDS
        assert len(children()) == 1


def test_a_class_that_cannot_be_made(source):
    class Refuses:
        def __init__(self):
            raise ValueError("no licence")

        def __call__(self, record):
            return record

    with pytest.raises(gm.GristmillError, match="cannot make its payload: ValueError: no licence"):
        gm.map(Refuses, source, workers=2)


def test_a_class_that_dies_while_it_is_made(source):
    class Dies:
        def __init__(self):
            os.abort()

        def __call__(self, record):
            return record

    with pytest.raises(gm.WorkerCrashed, match="while they make their payload: SIGABRT"):
        gm.map(Dies, source, workers=2)


def test_a_class_that_is_never_made(source):
    class Waits:
        def __init__(self):
            time.sleep(1000)

        def __call__(self, record):
            return record

    with pytest.raises(gm.PayloadTimeout):
        gm.map(Waits, source, workers=1, timeout=0.2, retries=0)


def test_retried_exceptions(tmp_path, source):
    tries = tmp_path / "tries"

    def flaky(record):
        if record in (b"3", b"4"):
            with open(tries, "ab") as out:
                out.write(record)
            if record == b"4" or tries.read_bytes().count(b"3") < 3:
                raise ConnectionError("again")
        return record

    results = gm.map(flaky, source, retry_exceptions=(OSError,), retries=2, on_error="collect")
    assert tries.read_bytes() == b"333444"
    assert [error.index for error in results.errors] == [4]
    tries.unlink()
    gm.run(flaky, source, retry_exceptions=ValueError, on_error="skip")
    assert tries.read_bytes() == b"34"


def test_errors_are_written_as_dead_letters(tmp_path, file):
    import base64
    import json

    records = [b"bad\xff%d" % n if n % 3 == 0 else b"%d" % n for n in range(30)]
    source = file(b"\n".join(records))

    def picky(record):
        if record == b"bad\xff9":
            os.abort()
        if record.startswith(b"bad"):
            raise ValueError("bad")
        return record

    report = gm.run(picky, source, on_error="skip", errors_to=tmp_path / "dead", workers=2, batch_records=4)
    letters = [json.loads(line) for line in (tmp_path / "dead").read_text().splitlines()]
    assert report.failed == len(letters) == 10
    assert [letter["index"] for letter in letters] == list(range(0, 30, 3))
    for letter in letters:
        record = records[letter["index"]]
        assert base64.b64decode(letter["record_b64"]) == record
        assert letter["offset"] == sum(len(each) + 1 for each in records[: letter["index"]])
        assert letter["type"] == ("WorkerCrashed" if letter["index"] == 9 else "ValueError")


def test_max_errors_ends_the_run(source):
    def fail(record):
        raise ValueError(record)

    assert gm.run(fail, source, on_error="skip", max_errors=40, workers=2).failed == 40
    with pytest.raises(gm.TooManyErrors):
        gm.run(fail, source, on_error="skip", max_errors=39, workers=2, batch_records=3)
