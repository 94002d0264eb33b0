"""Faults that users of other tools met when input or output was a stream. The name of each test ends with
the number of its case."""

import fcntl
import hashlib
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import gristmill as gm

LINES = [b"record %d" % i for i in range(5)]
TEXT = b"\n".join(LINES) + b"\n"
HALF = len(b"\n".join(LINES[:2])) + 5  # two records and a half


def shout(record):
    return record.upper()


def cpu_seconds():
    """Of this process, its children, and theirs that live."""
    ticks = 0
    for pid in [os.getpid(), *descendants(os.getpid())]:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def descendants(pid):
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += [int(child), *descendants(child)]
    return found


def write_in_two_parts(write, close, pause=0.3):
    def body():
        write(TEXT[:HALF])
        time.sleep(pause)
        write(TEXT[HALF:])
        close()

    thread = threading.Thread(target=body)
    thread.start()
    return thread


def test_a_pipe_that_does_not_block_a17():
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    used = cpu_seconds()
    writer = write_in_two_parts(lambda data: os.write(writing, data), lambda: os.close(writing))
    assert list(gm.stream("upper", reading)) == [line.upper() for line in LINES]
    writer.join()
    assert cpu_seconds() - used < 0.3
    assert not os.get_blocking(reading)
    os.close(reading)


def test_signals_all_the_time_a18():
    reading, writing = os.pipe()
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    signal.siginterrupt(signal.SIGALRM, True)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:

        def write():
            for i in range(100):
                os.write(writing, b"record %d\n" % i * 50)
                time.sleep(0.003)
            os.close(writing)

        writer = threading.Thread(target=write)
        writer.start()
        got = list(gm.stream(shout, reading, workers=2))
        writer.join()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    os.close(reading)
    assert got == [b"RECORD %d" % i for i in range(100) for _ in range(50)]
    assert len(seen) > 50


@pytest.mark.parametrize("quiet", ["SO_RCVTIMEO", "settimeout"])
def test_a_quiet_socket_is_not_closed_a19(quiet):
    ours, theirs = socket.socketpair()
    if quiet == "settimeout":
        ours.settimeout(0.05)
    else:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 50_000))
    writer = write_in_two_parts(theirs.sendall, theirs.close)
    assert list(gm.stream("upper", ours)) == [line.upper() for line in LINES]
    writer.join()
    ours.close()


LIMITED = """
import signal, subprocess, sys, hashlib
import gristmill as gm
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # as in a host that is no Python
producer = subprocess.Popen([sys.executable, "-c", "import sys\\nfor i in range(200000): sys.stdout.write('%0100d\\\\n' % i)"],
                            stdout=subprocess.PIPE)
digest = hashlib.sha256()
for batch in gm.stream("identity", producer.stdout, isolation=sys.argv[1], workers=2).batches(copy=False):
    digest.update(batch)
producer.wait()
print(digest.hexdigest())
"""


@pytest.mark.parametrize("isolation", ["process", "thread"])
def test_a_limit_on_files_does_not_count_what_has_passed_a22_a24(isolation):
    limit = 4 << 20
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, isolation],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )  # fmt: skip
    expected = hashlib.sha256(b"".join(b"%0100d\n" % i for i in range(200_000))).hexdigest()
    assert (done.returncode, done.stdout.decode().strip()) == (0, expected), done.stderr


@pytest.mark.parametrize("workers", [1, 3])
def test_results_larger_than_pipes_a46(workers):
    reading, writing = os.pipe()
    fcntl.fcntl(writing, 1031, 4096)  # F_SETPIPE_SZ
    writer = write_in_two_parts(lambda data: os.write(writing, data), lambda: os.close(writing), 0.0)
    large = [len(result) for result in gm.stream(lambda record: record * 20_000, reading, workers=workers)]
    writer.join()
    os.close(reading)
    assert large == [len(line) * 20_000 for line in LINES]


def test_somebody_else_reaps_children_a47():
    reaped = []

    def reap(*_):
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            reaped.append(pid)

    before = signal.signal(signal.SIGCHLD, reap)
    try:
        reading, writing = os.pipe()
        writer = write_in_two_parts(lambda data: os.write(writing, data), lambda: os.close(writing), 0.1)
        assert list(gm.stream(shout, reading, workers=2)) == [line.upper() for line in LINES]
        writer.join()
        os.close(reading)
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_slow_stream_is_not_held_back_a52():
    reading, writing = os.pipe()
    written = []

    def write():
        for i in range(8):
            written.append(time.monotonic())
            os.write(writing, b"%d\n" % i)
            time.sleep(0.1)
        os.close(writing)

    with gm.stream(shout, reading, workers=2) as stream:
        writer = threading.Thread(target=write)
        writer.start()
        for i, record in enumerate(stream):
            assert record == b"%d" % i
            assert len(written) == i + 1, "the next one was written before this one came"
        writer.join()
    os.close(reading)


@pytest.mark.parametrize("silent", [True, False])
def test_idle_workers_sleep_a53(tmp_path, silent):
    reading, writing = os.pipe()
    path = tmp_path / "lines"
    path.write_bytes(TEXT * 1000)
    with gm.stream("identity", reading if silent else path, workers=8) as stream:
        if not silent:
            next(stream)
        time.sleep(0.5)  # whatever the beginning takes
        used = cpu_seconds()
        time.sleep(2)
        assert cpu_seconds() - used < 0.1
    os.close(reading)
    os.close(writing)


def test_records_that_give_nothing_a62():
    def write(writing):
        for block in range(100):
            os.write(writing, b"".join(b"%d\n" % i for i in range(block * 1000, (block + 1) * 1000)))
        os.close(writing)

    for function, on_error, kept in [
        (lambda record: record if int(record) % 1000 == 0 else None, "raise", 100),
        (lambda record: None, "raise", 0),
        (lambda record: 1 // 0, "skip", 0),
        (lambda record: b"", "raise", 100_000),
    ]:
        reading, writing = os.pipe()
        writer = threading.Thread(target=write, args=[writing])
        writer.start()
        stream = gm.stream(function, reading, workers=2, memory="32MiB", on_error=on_error)
        assert sum(1 for _ in stream) == kept
        writer.join()
        os.close(reading)
        assert stream.report.read == 100_000


def test_results_that_are_held_back_make_no_files_a63(tmp_path, monkeypatch):
    folder = tmp_path / "no room"
    folder.mkdir(mode=0o500)
    monkeypatch.setenv("TMPDIR", str(folder))

    def first_is_slow(record):
        if record == b"0":
            time.sleep(1)
        return record.rjust(4096)

    path = tmp_path / "numbers"
    path.write_bytes(b"".join(b"%d\n" % i for i in range(50_000)))
    stream = gm.stream(first_is_slow, path, workers=2, memory="32MiB")
    assert all(int(record) == i for i, record in enumerate(stream))
    assert stream.report.emitted == 50_000 and not any(folder.iterdir())
