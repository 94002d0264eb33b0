"""Items: any iterable as a source, results aligned with what it gave."""

import itertools
import os
import signal
import threading

import gristmill as gm
import pytest


class Own(Exception):
    pass


@pytest.mark.parametrize("workers", [0, 1, 2, 7])
def test_results_belong_to_their_items(workers):
    results = gm.map(lambda n: n * n, range(5000), workers=workers)
    assert list(results) == [n * n for n in range(5000)]
    assert len(results) == 5000 and results[-1] == 4999**2
    assert results[10:13] == [100, 121, 144]
    report = results.report
    assert (report.read, report.emitted, report.filtered, report.failed) == (5000, 5000, 0, 0)


@pytest.mark.parametrize("start", ["fork", "fresh"])
@pytest.mark.parametrize(
    "items",
    [
        [b"", b"a", b"\n", b"\0" * 3],
        [None, True, 1.5, "text", ("a", 1), {"k": [1]}, {1, 2}],
        [],
        ["only", "strings"],
        [bytearray(b"x"), memoryview(b"view").tobytes()],
    ],
    ids=["bytes", "objects", "nothing", "paths", "buffers"],
)
def test_items_come_and_go_as_they_are(items, start):
    assert list(gm.map(lambda item: item, gm.items(items), workers=2, start=start)) == items


def test_kinds_of_iterables():
    expected = [0, 2, 4]
    for source in ([0, 1, 2], (0, 1, 2), range(3), iter([0, 1, 2]), (n for n in range(3)), {0: 1, 1: 1, 2: 1}):
        assert list(gm.map(lambda n: 2 * n, source, workers=2)) == expected


def test_a_class_is_called_like_any_function():
    assert list(gm.map(int, gm.items(["1", "2"]), workers=2)) == [1, 2]


def test_what_none_leaves():
    odd = lambda n: n if n % 2 else None  # noqa: E731
    assert list(gm.map(odd, range(4))) == [None, 1, None, 3]
    assert list(gm.map(odd, range(4), filtered="keep")) == [None, 1, None, 3]
    dropped = gm.map(odd, range(4), filtered="drop")
    assert list(dropped) == [1, 3] and dropped.report.filtered == 2


def test_a_failing_item_leaves_none_in_its_place():
    results = gm.map(lambda n: 10 // (n - 3), range(6), on_error="collect", workers=2)
    assert list(results) == [10 // (n - 3) if n != 3 else None for n in range(6)]
    (error,) = results.errors
    assert error.index == 3 and isinstance(error.__cause__, ZeroDivisionError)
    with pytest.raises(gm.RecordError) as caught:
        gm.map(lambda n: 10 // (n - 3), range(6), workers=2)
    assert caught.value.index == 3


def test_an_item_that_kills_its_worker():
    results = gm.map(
        lambda n: os.abort() if n == 77 else n, range(200), on_error="collect", workers=2
    )
    assert [n for n in range(200) if results[n] != n] == [77] and results[77] is None
    assert [(error.index, type(error), error.kind) for error in results.errors] == [
        (77, gm.RecordError, "WorkerCrashed")
    ]


@pytest.mark.parametrize("good", [0, 1, 500])
def test_an_iterator_that_raises_ends_the_run_with_its_own_exception(good):
    def items():
        yield from range(good)
        raise Own("mine")

    with pytest.raises(Own, match="mine"):
        gm.map(str, gm.items(items()), workers=2)
    with gm.Engine(workers=2) as engine:
        with pytest.raises(Own):
            engine.map(lambda n: n, items())
        assert list(engine.map(lambda n: n, range(3))) == [0, 1, 2]


def test_no_further_ahead_than_the_limit():
    pulled = 0

    def endless():
        nonlocal pulled
        for number in itertools.count():
            pulled += 1
            yield number

    def stop_early(number):
        if number == 50:
            raise Own
        return number

    with pytest.raises(gm.RecordError):
        gm.map(stop_early, endless(), workers=2, batch_records=1)
    assert pulled < 1000


def test_large_items_within_a_small_memory():
    size, count = 300_000, 100
    results = gm.map(len, (bytes(size) for _ in range(count)), memory="4MiB", workers=2)
    assert list(results) == [size] * count


def test_an_item_that_cannot_be_sent():
    with pytest.raises(TypeError, match="pickle"):
        gm.map(str, gm.items([threading.Lock()]), workers=2)


def test_a_result_that_cannot_be_sent():
    results = gm.map(lambda n: threading.Lock() if n == 1 else n, range(3), on_error="collect")
    assert list(results) == [0, None, 2] and results.errors[0].index == 1


def test_workers_that_are_killed_change_nothing():
    def sometimes(number):
        if number % 997 == 5:
            mark = f"{folder}/{number}"
            if not os.path.exists(mark):
                open(mark, "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
        return number + 1

    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        results = gm.map(sometimes, range(5000), workers=2)
        assert list(results) == list(range(1, 5001))
        assert results.report.worker_deaths >= 5


def test_run_throws_the_results_away():
    report = gm.run(lambda n: n, range(100), workers=2)
    assert (report.read, report.emitted) == (100, 100)


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: gm.map("identity", [b"a", 1]), gm.UnsupportedError),
        (lambda: gm.map(["cat"], [b"a", 1]), gm.UnsupportedError),
        (lambda: gm.map(gm.batch(lambda b: b"") , [b"a"]), gm.OptionError),
        (lambda: gm.map(str, gm.items([1]), delimiter=b","), gm.OptionError),
        (lambda: gm.map(str, gm.items([1]), framing="u32le"), gm.OptionError),
        (lambda: gm.run(str, gm.items([1]), output="x"), gm.UnsupportedError),
        (lambda: gm.map(str, b"bytes"), gm.ArgumentTypeError),
        (lambda: gm.map(str, 1.5), gm.ArgumentTypeError),
    ],
)
def test_refused(call, error):
    with pytest.raises(error):
        call()


def test_results_of_items_are_no_bytes(tmp_path):
    results = gm.map(lambda n: n, range(3), workers=2)
    for use in (lambda: bytes(results), lambda: results.batches(), lambda: results.write(tmp_path / "x")):
        with pytest.raises(TypeError, match="objects"):
            use()
