"""Streams of items, and streams for `async for`."""

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from processes import LIVENESS_SECONDS, await_gone, await_true, children, descendants, workers

import gristmill as gm


class Own(Exception):
    pass


def double(item):
    return 2 * item


class Counted:
    """An endless iterable of numbers that tells how many were taken."""

    def __init__(self, pause=0.0):
        self.pulled = 0
        self.pause = pause

    def __iter__(self):
        return self

    def __next__(self):
        time.sleep(self.pause)
        self.pulled += 1
        return self.pulled - 1


def settled(counted):
    """How many were pulled, once none is for a while."""
    last = -1
    while last != counted.pulled:
        last = counted.pulled
        time.sleep(0.15)
    return last


# Equality with map, and with what Python gives


@pytest.mark.parametrize("count", [0, 1, 2, 3])
@pytest.mark.parametrize("options", [{}, {"batch_records": 1}, {"batch_records": 7}, {"batch_bytes": 100}, {"order": "none"}])
def test_results_belong_to_their_items(count, options):
    found = list(gm.stream(double, range(3000), workers=count, **options))
    assert (found if "order" not in options else sorted(found)) == [2 * n for n in range(3000)]


@pytest.mark.parametrize("start", ["fork", "fresh"])
def test_objects_of_all_kinds(start):
    items = [None, True, 1.5, "text", b"", b"bytes", b"\n", ("a", 1), {"k": [1]}, {1, 2}, bytearray(b"x"), range(3)]
    items += ["x" * 100_000, Own]
    with gm.stream(lambda item: item, gm.items(items), workers=2, start=start) as stream:
        assert list(stream) == items
    assert list(gm.stream(lambda item: item, gm.items([]), workers=1)) == []


def test_what_none_leaves():
    odd = lambda n: n if n % 2 else None  # noqa: E731
    assert list(gm.stream(odd, range(4))) == [None, 1, None, 3]
    assert list(gm.stream(odd, range(4), filtered="keep", workers=0)) == [None, 1, None, 3]
    dropped = gm.stream(odd, range(4), filtered="drop")
    assert list(dropped) == [1, 3] and dropped.report.filtered == 2


def test_next_then_the_rest_and_no_batches():
    stream = gm.stream(str, range(100))
    assert [next(stream), next(stream)] == ["0", "1"]
    with pytest.raises(TypeError, match="objects"):
        stream.batches()
    assert list(stream) == [str(n) for n in range(2, 100)] and stream.closed


def test_failures_of_the_function():
    divide = lambda n: 10 // (n - 300)  # noqa: E731
    for options in ({}, {"batch_records": 1}, {"workers": 0}, {"batch_records": 1000}):
        got, stream = [], gm.stream(divide, range(600), **options)
        with pytest.raises(gm.RecordError) as caught:
            for result in stream:
                got.append(result)
        assert got == [divide(n) for n in range(300)] and caught.value.index == 300
    stream = gm.stream(divide, range(600), on_error="collect")
    assert list(stream) == [divide(n) if n != 300 else None for n in range(600)]
    assert [error.index for error in stream.errors] == [300]


def test_killed_workers_lose_nothing():
    others = set(workers())
    with gm.Engine(workers=2) as engine:
        got = []
        for result in engine.stream(lambda n: time.sleep(0.0002) or n, range(3000), batch_records=20):
            got.append(result)
            if len(got) in (10, 500, 1500):
                os.kill(min(set(workers()) - others), signal.SIGKILL)
        assert got == list(range(3000))


# Laziness


@pytest.mark.parametrize("count", [0, 2])
def test_no_further_ahead_than_memory_allows(count):
    counted = Counted()
    with gm.stream(lambda n: bytes(20_000), counted, workers=count, memory="16MiB") as stream:
        next(stream)
        ahead = settled(counted)
        for _ in itertools.islice(stream, 100):
            pass
    stopped = counted.pulled
    assert ahead < 200_000
    time.sleep(0.1)
    assert counted.pulled <= stopped + 1


def test_a_slow_iterator_waits_for_nobody_and_nobody_for_it():
    """Each result is there before the next item is made."""
    asked, given = [], threading.Event()

    def items():
        for number in range(5):
            asked.append(number)
            yield number
            assert given.wait(LIVENESS_SECONDS)
            given.clear()

    stream = gm.stream(double, items())
    for number in range(5):
        assert next(stream) == 2 * number and asked[-1] == number
        given.set()
    assert list(stream) == []


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_trickle_comes_within_the_flush_interval(count):
    sent = []

    def items():
        for number in range(8):
            time.sleep(0.02)
            sent.append(time.monotonic())
            yield number

    delays = [time.monotonic() - sent[number] for number in gm.stream(int, items(), workers=count)]
    assert len(delays) == 8 and sorted(delays)[4] < 0.1


@pytest.mark.parametrize("good", [0, 1, 500, 5000])
@pytest.mark.parametrize("count", [0, 2])
def test_an_iterator_that_raises(good, count):
    def items():
        yield from range(good)
        raise Own("mine")

    got, stream = [], gm.stream(double, items(), workers=count)
    with pytest.raises(Own, match="mine"):
        for result in stream:
            got.append(result)
    assert got == [2 * n for n in range(good)]
    assert stream.closed and list(stream) == []


def test_an_item_that_cannot_be_sent():
    stream = gm.stream(str, gm.items([1, 2, threading.Lock()]), workers=2)
    assert [next(stream), next(stream)] == ["1", "2"]
    with pytest.raises(TypeError, match="pickle"):
        next(stream)


@pytest.mark.parametrize("how", ["close", "drop", "other thread"])
def test_an_iterator_that_blocks_for_ever_can_be_left(how):
    for_ever = threading.Event()

    def items():
        yield 1
        for_ever.wait()

    before = set(children())
    stream = gm.stream(str, items(), workers=2)
    assert next(stream) == "1"
    began = time.monotonic()
    if how == "close":
        stream.close()
    elif how == "other thread":
        threading.Timer(0.1, stream.close).start()
        assert next(stream, None) is None
    del stream
    assert time.monotonic() - began < 1
    await_true(lambda: set(children()) <= before)
    for_ever.set()
    await_true(lambda: not [each for each in threading.enumerate() if each.name == "gristmill/items"])


def test_an_engine_goes_on_after_items_were_left():
    with gm.Engine(workers=1) as engine:
        for _ in range(5):
            stream = engine.stream(double, Counted())
            assert next(stream) == 0
            stream.close()
        assert list(engine.map(double, range(3))) == [0, 2, 4]


def test_an_iterator_that_uses_gristmill_itself():
    inner = (gm.map(double, range(n), workers=0)[-1] for n in range(1, 20))
    assert list(gm.stream(double, inner, workers=1)) == [4 * (n - 1) for n in range(1, 20)]
    chained = gm.stream(double, gm.stream(double, range(500), workers=1), workers=1)
    assert list(chained) == [4 * n for n in range(500)]


def test_an_iterator_that_takes_from_the_stream_it_feeds_is_told():
    box = []

    def items():
        yield 1
        with pytest.raises(gm.GristmillError):
            next(box[0])
        yield 2

    box.append(gm.stream(double, items(), workers=1))
    first = next(box[0])
    assert [first, *box[0]] == [2, 4]


def test_many_interpreters_exit_at_once():
    """So many that each has little of the machine, and the items' thread may come late."""
    script = (
        "import itertools, threading, time; import gristmill as gm\n"
        "stream = gm.stream(str, itertools.count(), workers=0)\n"
        "next(stream)\n"
        "threading.Thread(target=lambda: [None for _ in stream], daemon=True).start()\n"
        "time.sleep(0.001)\n"
    )
    command = [sys.executable, "-c", script]
    started = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(16)]
    errors = [each.communicate(timeout=LIVENESS_SECONDS)[1] for each in started]
    assert ([each.returncode for each in started], errors) == ([0] * 16, [""] * 16)


# async for


def test_async_for(tmp_path):
    path = tmp_path / "in"
    path.write_bytes(b"a\nb\n" * 1000)

    async def main():
        found = [record async for record in gm.astream(bytes.upper, path, batch_records=7)]
        assert found == [b"A", b"B"] * 1000
        stream = gm.astream(double, range(100))
        assert [result async for result in stream] == [2 * n for n in range(100)]
        assert stream.report.read == 100
        async with gm.astream(double, Counted()) as stream:
            async for result in stream:
                if result == 20:
                    break
        await stream.aclose()
        return [result async for result in stream]

    assert len(asyncio.run(main())) < 100_000  # what was in hand at most


def test_asynchronous_failures():
    def items():
        yield from range(10)
        raise Own

    async def main(source, error):
        got = []
        with pytest.raises(error):
            async for result in gm.astream(lambda n: 10 // (n - 5), source):
                got.append(result)
        return got

    wanted = [10 // (n - 5) for n in range(5)]
    assert asyncio.run(main(range(10), gm.RecordError)) == wanted
    assert asyncio.run(main((n - 9 for n in items()), Own)) == [10 // (n - 14) for n in range(10)]


def test_the_loop_stays_free_and_two_go_at_once():
    readings, writings = zip(*(os.pipe() for _ in range(2)))

    async def main():
        ticks = 0
        one, two = (gm.astream(bytes.upper, reading, workers=1) for reading in readings)
        takes = [asyncio.ensure_future(each.__anext__()) for each in (one, two)]
        for _ in range(20):
            await asyncio.sleep(0.01)
            ticks += 1
        os.write(writings[1], b"two\n")
        assert await takes[1] == b"TWO" and not takes[0].done()
        os.write(writings[0], b"one\n")
        assert await takes[0] == b"ONE"
        await one.aclose()
        await two.aclose()
        return ticks

    assert asyncio.run(main()) == 20
    for descriptor in readings + writings:
        os.close(descriptor)


def test_a_take_that_was_given_up_loses_nothing():
    reading, writing = os.pipe()

    async def main():
        stream, got = gm.astream(bytes.upper, reading), []
        os.write(writing, b"r0\n")
        got.append(await stream.__anext__())
        for _ in range(2):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(stream.__anext__(), 0.05)
        os.write(writing, b"r1\n")
        await asyncio.sleep(0.05)
        os.write(writing, b"r2\n")
        os.close(writing)
        return got + [record async for record in stream]

    assert asyncio.run(main()) == [b"R0", b"R1", b"R2"]
    os.close(reading)


def test_a_take_that_is_given_up_just_when_it_is_answered():
    reading, writing = os.pipe()

    async def main():
        loop, stream = asyncio.get_running_loop(), gm.astream(bytes.upper, reading)
        os.write(writing, b"r0\n")
        got = [await stream.__anext__()]
        task = asyncio.ensure_future(stream.__anext__())
        await asyncio.sleep(0.02)
        answer = loop.call_soon_threadsafe

        def answer_and_cancel(*args, **options):
            answer(*args, **options)
            answer(lambda: loop.call_soon(task.cancel))  # behind the answer, ahead of the task

        loop.call_soon_threadsafe = answer_and_cancel
        os.write(writing, b"r1\n")
        try:
            got.append(await task)
        except asyncio.CancelledError:
            pass
        loop.call_soon_threadsafe = answer
        os.write(writing, b"r2\n")
        os.close(writing)
        return got + [record async for record in stream]

    assert asyncio.run(main()) == [b"R0", b"R1", b"R2"]
    os.close(reading)


def test_many_silent_streams_do_not_hold_up_another():
    pipes = [os.pipe() for _ in range(8)]

    async def main():
        silent = [gm.astream("identity", reading, workers=0) for reading, _ in pipes]
        takes = [asyncio.ensure_future(each.__anext__()) for each in silent]
        await asyncio.sleep(0.05)
        found = [result async for result in gm.astream(double, range(3), workers=0)]
        for each in silent:
            await each.aclose()
        assert set(map(type, await asyncio.gather(*takes, return_exceptions=True))) == {StopAsyncIteration}
        return found

    assert asyncio.run(asyncio.wait_for(main(), 10)) == [0, 2, 4]
    for descriptor in itertools.chain(*pipes):
        os.close(descriptor)


ASYNC_INTERRUPTED = """
import asyncio, os, time
import gristmill as gm

async def main():
    stream = gm.astream(bytes.upper, os.pipe()[0])
    print("waiting", flush=True)
    async for record in stream:
        pass

try:
    asyncio.run(main())
except KeyboardInterrupt:
    print(time.monotonic())
"""


def test_ctrl_c_ends_async_for_over_a_silent_pipe():
    command = [sys.executable, "-c", ASYNC_INTERRUPTED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "waiting\n"
            time.sleep(0.2)
            left, sent = descendants(child.pid), time.monotonic()
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=5)
        finally:
            child.kill()
    assert float(out) - sent < 1 and (child.returncode, err) == (0, "")
    await_gone(left)
