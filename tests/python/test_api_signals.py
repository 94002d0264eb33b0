"""Ctrl-C and other signals while the engine works."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import gristmill as gm

SCRIPT = """
import os, sys, threading, time
import gristmill as gm

plugin, source, output, workers = sys.argv[1:]
gm.run("identity", source)
descriptors, threads = len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))
try:
    print("ready", flush=True)
    gm.run(plugin, source, output=output, config="20", batch_records=1, workers=int(workers))
    print("finished")
except KeyboardInterrupt:
    print("interrupted", time.monotonic())
    print("left", len(os.listdir("/proc/self/fd")) - descriptors, len(os.listdir("/proc/self/task")) - threads)
    print("again", gm.run("identity", source).read)
"""


@pytest.fixture
def slow_source(file):
    return file(b"record\n" * 10_000)  # 200 s at 20 ms each


@pytest.mark.parametrize("workers", ["0", "1", "2"])
def test_ctrl_c_raises_within_a_second_and_leaves_nothing(tmp_path, plugin, slow_source, workers):
    output = tmp_path / "out"
    command = [sys.executable, "-c", SCRIPT, plugin("slow"), slow_source, str(output), workers]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.3)
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=20)
    interrupted, left, again = out.splitlines()
    assert float(interrupted.split()[1]) - sent < 1
    assert left == "left 0 0"
    assert again == "again 10000"
    assert err == "" and child.returncode == 0
    assert os.listdir(tmp_path) == [os.path.basename(slow_source)]


@pytest.fixture
def alarm():
    """alarm(seconds): raises an Alarm then, in whatever the main thread does."""

    class Alarm(Exception):
        pass

    def ring(*_):
        raise Alarm("rung")

    before = signal.signal(signal.SIGALRM, ring)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds), Alarm
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_what_a_handler_raises_ends_the_run(plugin, slow_source, alarm):
    start, Alarm = alarm
    with gm.Engine(workers=1) as engine:
        start(0.2)
        began = time.monotonic()
        with pytest.raises(Alarm, match="rung"):
            engine.map(plugin("slow"), slow_source, config="20", batch_records=1)
        assert time.monotonic() - began < 1.2
        assert len(engine.map("identity", slow_source)) == 10_000


def test_a_handler_that_raises_nothing_does_not_disturb(plugin, file):
    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        results = gm.map(plugin("slow"), file(b"a\n" * 20), config="20", batch_records=1, workers=1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(results) == 20
    assert len(rung) >= 3


def test_a_thread_that_waits_for_its_turn_can_be_interrupted(plugin, file, alarm):
    start, Alarm = alarm
    path = file(b"a\n" * 100)
    with gm.Engine(workers=1) as engine:
        other = threading.Thread(
            target=engine.run, args=(plugin("slow"), path), kwargs={"config": "20", "batch_records": 1}
        )
        other.start()
        time.sleep(0.1)
        start(0.1)
        with pytest.raises(Alarm):
            engine.map("identity", path)
        assert other.is_alive()
        other.join()


def test_a_handler_cannot_call_the_engine_that_it_interrupted(plugin, file):
    refused = []
    with gm.Engine(workers=1) as engine:
        def call(*_):
            try:
                engine.run("identity", path)
            except gm.GristmillError as error:
                refused.append(str(error))
            refused.append(gm.run("identity", path).read)  # another engine is no problem

        path = file(b"a\n" * 20)
        before = signal.signal(signal.SIGALRM, call)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            results = engine.map(plugin("slow"), path, config="20", batch_records=1)
        finally:
            signal.signal(signal.SIGALRM, before)
    assert len(results) == 20
    assert "already inside a call" in refused[0] and refused[1] == 20


def test_generating_can_be_interrupted(tmp_path, alarm):
    start, Alarm = alarm
    start(0.1)
    with pytest.raises(Alarm):
        gm.datagen.generate("heavy", tmp_path / "out", records=10_000_000)
    assert os.listdir(tmp_path) == []
