"""Faults that users of other tools met when a stream was fed badly, left behind, or held what it should not. The
name of each test ends with the number of its case."""

import gc
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
from case_scripts import LARGE, all_as_before, limited, run_command, run_script, take
from processes import await_true, children

import gristmill as gm


@pytest.fixture(autouse=True)
def in_time_and_nothing_is_left(tmp_path):
    with all_as_before(), limited(60):
        yield


# --- A35: iterables that misbehave ---------------------------------------------------------------


class Plain(BaseException):
    pass


def failing_at(number, error, count=10):
    """As a35_iter of the cases."""
    for n in range(count):
        if n == number:
            raise error
        yield b"%d" % n


class NoIterator:
    def __init__(self, error):
        self._error = error

    def __iter__(self):
        raise self._error


def taken_until_it_fails(way, source, workers):
    """What comes, and what is raised then."""
    got = []
    try:
        if way == "map":
            got.extend(gm.map(bytes, source, workers=workers))
        elif way == "run":
            gm.run(bytes, source, workers=workers)
        else:
            for record in gm.stream(bytes, source, workers=workers):
                got.append(record)
    except (LookupError, Plain) as caught:
        return got, caught
    return got, None


@pytest.mark.parametrize("way", ["map", "run", "stream"])
@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("error", [LookupError("source failed"), Plain("source failed")], ids=["LookupError", "BaseException"])
@pytest.mark.parametrize("at", [0, 1, 5, 9, "__iter__"])
def test_an_iterable_that_raises_a35(way, workers, error, at):
    source = NoIterator(error) if at == "__iter__" else failing_at(at, error)
    with limited(5):
        got, caught = taken_until_it_fails(way, source, workers)
    assert caught is error, "the same object"
    assert got == ([b"%d" % n for n in range(at)] if way == "stream" and at != "__iter__" else [])
    error.__traceback__ = None


# --- A36: laziness -------------------------------------------------------------------------------


class Counter:
    """As a36_counter of the cases: endless; .n is how many were taken."""

    def __init__(self, pad=0):
        self.n, self._pad = 0, bytes(pad)

    def __iter__(self):
        return self

    def __next__(self):
        self.n += 1
        return b"%d" % self.n + self._pad


FIRST_RESULT_SECONDS = 2  # one on a machine that has nothing else to do


def settled(count):
    """It, once it has not changed for half a second."""
    last = -1
    while last != (now := count()):
        last = now
        time.sleep(0.5)
    return last


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("memory, pad, window", [(None, 0, 20_000), ("32MiB", 0, 20_000), ("32MiB", 20_000, 1_700)])
def test_an_endless_iterable_is_taken_as_needed_a36(workers, memory, pad, window):
    counter, options = Counter(pad), {"memory": memory} if memory else {}
    began = time.monotonic()
    with gm.stream(bytes, counter, workers=workers, **options) as stream:
        assert next(stream) == b"1" + bytes(pad)
        assert time.monotonic() - began < FIRST_RESULT_SECONDS
        assert [len(record) for record in itertools.islice(stream, 9)] == [pad + 1] * 8 + [pad + 2]
        ahead = settled(lambda: counter.n)
        time.sleep(1)
        assert 10 <= ahead == counter.n <= 10 + window
    time.sleep(0.1)
    assert counter.n <= ahead + 1


@pytest.mark.parametrize("payload", ["identity", bytes], ids=["plugin", "function"])
def test_an_endless_pipe_is_read_as_needed_a36(payload):
    reading, writing = os.pipe()
    block, written = b"".join(b"%06d%s\n" % (n, b"." * 993) for n in range(64)), [0]

    def write():
        try:
            while True:
                written[0] += os.write(writing, block[written[0] % len(block) :])
        except BrokenPipeError:
            os.close(writing)

    writer = threading.Thread(target=write)
    began = time.monotonic()
    stream = gm.stream(payload, reading, memory="32MiB", workers=2)
    writer.start()
    got = [next(stream)]
    assert time.monotonic() - began < FIRST_RESULT_SECONDS
    got += itertools.islice(stream, 9)
    ahead = settled(lambda: written[0])
    time.sleep(1)
    assert ahead == written[0] < 32 << 20
    stream.close()
    os.close(reading)
    writer.join(5)
    assert not writer.is_alive() and got == block.split(b"\n")[:10]


# --- A37: streams that are abandoned -------------------------------------------------------------


def by_reference(make):
    stream = make()
    first = next(stream)
    del stream
    return first


def by_function(make):
    def returns_the_iterator_only():
        return iter(make())

    iterator = returns_the_iterator_only()
    gc.collect()
    return [next(iterator), next(iterator)][0]


def by_cycle(make):
    class Holder:
        pass

    holder = Holder()
    holder.stream, holder.self = make(), holder
    return next(holder.stream)


def by_batches(make):
    batches = make().batches()
    gc.collect()
    return next(batches).split(b"\n")[0]


def made(kind, path):
    """(a call that makes a stream, what is to be closed in the end)"""
    if kind == "plugin of a file":
        return lambda: gm.stream("identity", path, workers=2, batch_records=3), []
    if kind == "function of a file":
        return lambda: gm.stream(bytes, path, workers=2, batch_records=3), []
    if kind == "items":
        return lambda: gm.stream(bytes, (b"%d" % n for n in itertools.count()), workers=2), []
    if kind == "an engine nobody holds":
        return lambda: gm.Engine(workers=2).stream(bytes, path, batch_records=3), []
    reading, writing = os.pipe()

    def from_the_pipe():
        os.write(writing, b"0\n1\n2\n3\n")
        return gm.stream(bytes, reading, workers=2)

    return from_the_pipe, [reading, writing]


ENDINGS = [by_reference, by_function, by_cycle, by_batches]


@pytest.mark.parametrize("kind", ["plugin of a file", "function of a file", "pipe", "items", "an engine nobody holds"])
def test_an_abandoned_stream_ends_a37(file, kind):
    make, descriptors = made(kind, file(b"".join(b"%d\n" % n for n in range(5000))))
    endings = ENDINGS[:3] if kind == "items" else ENDINGS  # items have no batches of bytes

    def state():
        return [len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), len(children())]

    before, maps = state(), []
    for ending in itertools.islice(itertools.cycle(endings), 100 if LARGE in os.environ else 20):
        assert ending(make) in (b"0", b"1", b"2", b"3")
        gc.collect()
        await_true(lambda: all(now <= then for now, then in zip(state(), before)), 2)
        with open("/proc/self/maps") as mapped:
            maps.append(len(mapped.readlines()))
    assert maps[-1] <= maps[len(endings)] + 4
    for descriptor in descriptors:
        os.close(descriptor)


# --- A38: the end of the interpreter -------------------------------------------------------------

EXITING = """
import itertools, os, sys, time
import gristmill as gm

kind, ending, path = sys.argv[1:]

def upper(record):
    return record.upper()

if kind == "pipe":
    reading, writing = os.pipe()
    os.write(writing, b"a\\nb\\n")
payload, source = {"plugin": ("upper", path), "function": (upper, path), "items": (upper, itertools.repeat(b"a")),
                   "batches": (upper, path), "pipe": (upper, kind == "pipe" and reading)}[kind]
S = gm.stream(payload, source, workers=2)
if kind == "batches":
    S = S.batches(copy=False)
assert bytes(next(S))[:1] == b"A"
print(time.monotonic(), flush=True)
if ending == "raise":
    raise ValueError("uncaught")
if ending == "exit":
    sys.exit(5)
"""


@pytest.mark.parametrize("ending, code", [("end", 0), ("raise", 1), ("exit", 5)])
@pytest.mark.parametrize("kind", ["plugin", "function", "pipe", "items", "batches"])
def test_the_interpreter_ends_with_a_stream_of_its_module_a38(file, kind, ending, code):
    path = file(b"a\nb\n" * 50_000)
    for _ in range(20 if LARGE in os.environ else 2):
        done = run_script(EXITING, kind, ending, path)
        assert time.monotonic() - float(done.out) < 2
        assert done.code == code
        if ending == "raise":
            assert done.err.startswith("Traceback") and done.err.endswith("\nValueError: uncaught\n")
            assert done.err.count("Traceback") == 1 and "ignored" not in done.err
        else:
            assert done.err == ""


# --- A45: descriptors ----------------------------------------------------------------------------

INHERITED = """
import contextlib, fcntl, json, os, signal, sys, time
import gristmill as gm
from processes import children, descendants

payload, start = sys.argv[1:]
options = {"workers": 2, **({"start": start} if payload == "function" else {})}

def sleeps(record):
    if not os.path.exists("sleeping"):
        os.system("sleep 60 & echo $! > sleeping.new; mv sleeping.new sleeping")
    return record.upper()

def links(pid):
    # what each descriptor is: its link, and which file that is
    found = {}
    for number in os.listdir(f"/proc/{pid}/fd"):
        path = f"/proc/{pid}/fd/{number}"
        try:
            facts = os.stat(path)
            found[int(number)] = f"{os.readlink(path)} {facts.st_dev} {facts.st_ino}"
        except FileNotFoundError:
            pass
    return found

def of_tree(root):
    # pipes, sockets and memory of a nursery and its workers
    return {link for pid in (root, *descendants(root)) for number, link in links(pid).items()
            if number > 2 and link.startswith(("pipe:", "socket:", "/memfd:"))}

own = links("self")
foreign, others = [os.pipe() for _ in range(2)], []
for reading, writing in foreign:  # as a careless caller makes them
    os.set_inheritable(reading, True), os.set_inheritable(writing, True)
known = links("self")
streams, trees = [], []
for reading, writing in foreign:
    before = set(children())
    streams.append(gm.stream(sleeps if payload == "function" else "upper", reading, **options))
    os.write(writing, b"zero\\n")
    assert next(streams[-1]) == b"ZERO"
    (tree,) = set(children()) - before
    trees.append(tree)

told = {"not closed on exec": [], "foreign": [], "of another engine": []}
for number in set(links("self")) - set(known):
    try:
        if not fcntl.fcntl(number, fcntl.F_GETFD) & fcntl.FD_CLOEXEC:
            told["not closed on exec"].append(links("self")[number])
    except OSError:
        pass
pipes = {link for link in known.values() if link.startswith("pipe:")} - set(own.values())
stdio = {own.get(number) for number in range(3)}
for tree in trees:
    told["foreign"] += sorted(of_tree(tree) & pipes)
assert all(of_tree(tree) for tree in trees)
told["of another engine"] = sorted(of_tree(trees[0]) & of_tree(trees[1]) - stdio)
if payload == "function":
    sleeping = int(open("sleeping").read())
    os.kill(sleeping, 0)  # it lives
    told["of a command"] = sorted(link for number, link in links(sleeping).items() if number > 2)

began = time.monotonic()
for stream, (reading, writing) in zip(streams, foreign):
    os.write(writing, b"a\\nb\\nc\\n")
    os.close(writing)
    assert list(stream) == [b"A", b"B", b"C"]
told["seconds"] = time.monotonic() - began
if payload == "function":
    with contextlib.suppress(ProcessLookupError):  # with its worker
        os.kill(sleeping, signal.SIGKILL)
print(json.dumps(told))
"""


WORKERS_OF = [("plugin", "auto"), ("function", "fork"), ("function", "fresh")]


def inherited(folder, payload, start):
    done = run_script(INHERITED, payload, start, cwd=folder)
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


@pytest.mark.parametrize("payload, start", WORKERS_OF)
def test_no_descriptor_is_inherited_by_mistake_a45(tmp_path, payload, start):
    told = inherited(tmp_path, payload, start)
    assert told.pop("seconds") < 2
    told["of another engine"] = [each for each in told["of another engine"] if not each.startswith("/memfd:")]
    assert all(found == [] for found in told.values()), told


FORKED = pytest.mark.xfail(strict=True, reason="forked workers keep the memory of the caller's other engines")


@pytest.mark.parametrize("payload, start", [each if "fork" not in each else pytest.param(*each, marks=FORKED) for each in WORKERS_OF])
def test_workers_do_not_keep_the_memory_of_another_engine_a45(tmp_path, payload, start):
    assert inherited(tmp_path, payload, start)["of another engine"] == []


def bang(record):
    raise ValueError("bang")


@pytest.mark.parametrize("payload", [bang, ["false"], "./no_plugin.so"], ids=["function", "command", "missing"])
@pytest.mark.parametrize("way", ["map", "run", "stream"])
def test_the_producer_of_a_failed_run_is_not_held_up_a45(tmp_path, way, payload):
    """Whoever writes into the pipe hears that nobody reads it any more, while the error is looked at."""
    with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as producer:
        try:
            with pytest.raises(gm.GristmillError) as caught:
                take(way, payload, producer.stdout, tmp_path, batch_records=10)
            producer.stdout.close()
            assert producer.wait(1) == -signal.SIGPIPE, caught
        finally:
            producer.kill()
            caught = None


TRACED = """
import os, subprocess, sys
import gristmill as gm
for payload in ("upper", bytes.upper, ["cat"]):
    with open(sys.argv[1], "rb") as source, subprocess.Popen(["cat"], stdin=source, stdout=subprocess.PIPE) as cat:
        assert len(list(gm.stream(payload, cat.stdout, workers=2))) == 10_000
    assert len(gm.map(payload, sys.argv[1], workers=2)) == 10_000
    gm.run(payload, sys.argv[1], output="out", workers=2)
assert len(list(gm.stream(str, range(100), workers=2))) == 100
"""


@pytest.mark.skipif(not shutil.which("strace"), reason="there is no strace here")
def test_every_descriptor_is_closed_on_exec_from_birth_a45(tmp_path, file):
    calls = "pipe,pipe2,memfd_create,eventfd2,eventfd,socketpair,epoll_create1,timerfd_create,signalfd4,inotify_init1"
    command = ["strace", "-f", "-qq", "-e", f"trace=?{calls.replace(',', ',?')}", "-e", "signal=none", "-o", "trace"]
    done = run_command([*command, sys.executable, "-c", TRACED, file(b"a\n" * 10_000)], cwd=tmp_path)
    if "PTRACE" in done.err or "Operation not permitted" in done.err:
        pytest.skip("tracing is not permitted here")
    assert (done.code, done.err) == (0, "")
    begun, lines = {}, []
    for line in (tmp_path / "trace").read_text().splitlines():
        pid, _, call = line.partition(" ")
        if call.endswith("<unfinished ...>"):
            begun[pid] = call
        elif "(" in call or "resumed>" in call:
            lines.append(begun.pop(pid, "") + call)
    assert sum("memfd_create" in line for line in lines) > 3 and sum("pipe2" in line for line in lines) > 3
    assert [line for line in lines if "CLOEXEC" not in line] == []
