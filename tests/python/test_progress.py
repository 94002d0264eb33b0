"""How far a run is, shown while it lasts."""

import io
import os
import pty
import subprocess
import sys
import time
import types

import pytest

import gristmill as gm
from gristmill import progress
from gristmill import source as source_of


class Terminal(io.StringIO):
    def isatty(self):
        return True


def slow(record):
    time.sleep(0.02)
    return record


@pytest.fixture
def source(file):
    return file(b"x\n" * 40)


@pytest.fixture
def without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)


@pytest.fixture
def shown(monkeypatch):
    """shown(stream): standard error is that from now on."""

    def replace(stream):
        monkeypatch.setattr(sys, "stderr", stream)
        return stream

    return replace


@pytest.mark.parametrize("payload", [slow, ["cat"], "identity"])
def test_a_line_that_is_written_over_on_a_terminal(without_tqdm, shown, source, payload):
    out = shown(Terminal())
    with gm.Engine(workers=2) as engine:
        engine.run(payload, source, batch_records=1, progress=True)
    lines = out.getvalue().split("\r")
    assert lines[0] == "" and out.getvalue().endswith("\n") and "\n" not in out.getvalue()[:-1]
    last = lines[-1]
    assert last.startswith("100 %  40 records, 0 of 2 workers busy") and "MB/s" in last
    if payload is slow:
        assert len(lines) > 3 and any(" s left" in line for line in lines)
        assert all(len(line) >= len(before.rstrip()) for before, line in zip(lines, lines[1:]))


def test_lines_now_and_then_elsewhere(without_tqdm, shown, source):
    out = shown(io.StringIO())
    gm.run(slow, source, progress=True, workers=2)
    lines = out.getvalue().splitlines()
    assert 1 <= len(lines) <= 3 and lines[-1].startswith("100 %  40 records")


def test_failures_and_retries_are_shown(without_tqdm, shown, file):
    out = shown(Terminal())

    def fails(record):
        if record == b"die":
            os.abort()
        raise ValueError

    gm.run(fails, file(b"a\ndie\n"), progress=True, workers=1, on_error="skip", retries=1)
    assert "2 failed" in out.getvalue() and " retries" in out.getvalue()


@pytest.mark.parametrize("wanted", [None, False])
def test_nothing_is_shown_unless_asked(shown, source, wanted):
    out = shown(Terminal())
    gm.run("identity", source, progress=wanted)
    assert out.getvalue() == ""


def test_tqdm_is_used_where_it_is_installed(monkeypatch, shown, source):
    bars = []

    class Bar:
        def __init__(self, **given):
            self.given, self.n, self.words, self.closed = given, 0, "", False
            bars.append(self)

        def set_postfix_str(self, words, refresh):
            self.words = words

        def refresh(self):
            pass

        def close(self):
            self.closed = True

    shown(Terminal())
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Bar))
    gm.run("identity", source, progress=True, workers=2)
    (bar,) = bars
    assert bar.given["total"] == bar.n == 80 and bar.closed and "40 records" in bar.words


def test_a_run_that_fails_or_is_interrupted_ends_its_line(without_tqdm, shown, source):
    def fails(record):
        time.sleep(0.15)
        raise ValueError

    out = shown(Terminal())
    with pytest.raises(gm.RecordError):
        gm.run(fails, source, progress=True, workers=1)
    assert out.getvalue() == "" or out.getvalue().endswith("\n")


class Broken(io.StringIO):
    def __init__(self, error):
        super().__init__()
        self.error = error

    def write(self, text):
        raise self.error


@pytest.mark.parametrize("error", [BrokenPipeError(), ValueError("closed file"), OSError(28, "full")])
def test_a_display_that_breaks_does_not_break_the_run(without_tqdm, shown, source, error):
    shown(Broken(error))
    assert gm.run(slow, source, progress=True, workers=2).read == 40


def test_what_ends_the_program_ends_the_run(without_tqdm, shown, source):
    shown(Broken(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        gm.run(slow, source, progress=True, workers=2)


@pytest.mark.parametrize("stream", [None, "closed"])
def test_no_standard_error(without_tqdm, shown, source, stream):
    closed = io.StringIO()
    closed.close()
    shown(closed if stream else None)
    assert gm.run("identity", source, progress=True).read == 40


def test_sources_that_are_not_there(without_tqdm, shown, tmp_path):
    out = shown(Terminal())
    with pytest.raises(gm.SourceError):
        gm.run("identity", tmp_path / "missing", progress=True)
    assert "Traceback" not in out.getvalue()
    with progress.shown(True, source_of.resolve(str(tmp_path / "missing")), 1) as tell:
        tell(0, 0, 0, 0, 0, 0.0)


def test_a_pipe_has_no_size_to_be_compared_with(without_tqdm, shown):
    out = shown(Terminal())
    reading, writing = os.pipe()
    os.write(writing, b"record\n" * 40)
    os.close(writing)
    assert gm.run("identity", reading, progress=True).read == 40
    os.close(reading)
    assert "40 records" in out.getvalue() and "%" not in out.getvalue()


def test_the_command_line_shows_it_on_a_terminal(source):
    command = [sys.executable, "-m", "gristmill", "map", "identity", source]
    terminal, ours = pty.openpty()
    done = subprocess.run(command, stderr=ours, stdout=subprocess.PIPE, check=True, timeout=50)
    os.close(ours)
    seen = os.read(terminal, 65536)
    os.close(terminal)
    assert done.stdout == b"x\n" * 40 and b"100 %" in seen and b"40 records" in seen
    done = subprocess.run(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, check=True, timeout=50)
    assert done.stderr == b""
    done = subprocess.run([*command, "--progress"], stderr=subprocess.PIPE, stdout=subprocess.PIPE, check=True, timeout=50)
    assert b"40 records" in done.stderr
