"""Plugins that die, in worker processes: their record is lost, with the name of its end; no other is."""

import os
import subprocess
import sys

import pytest
from processes import children, descendants

import gristmill as gm

RECORDS = [b"record %d" % n for n in range(1000)]
WAYS = {
    "segv": "SIGSEGV", "fpe": "SIGFPE", "ill": "SIG(ILL|TRAP)", "stack": "SIGSEGV", "abort": "SIGABRT", "exit": "exit status 4",
    "throw": "SIGABRT|thrown by the plugin", "corrupt": "SIG(ABRT|SEGV)",
}  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert descendants() == []


def with_evil(way: str) -> bytes:
    return b"\n".join([*RECORDS[:500], way.encode(), *RECORDS[500:]]) + b"\n"


@pytest.mark.parametrize("size", [1, 100])
@pytest.mark.parametrize("way", WAYS)
def test_a_record_that_kills_the_plugin(file, plugin, way, size):
    source = file(with_evil(way))
    results = gm.map(plugin("deadly"), source, workers=2, batch_records=size, on_error="collect")
    assert list(results) == RECORDS
    (error,) = results.errors
    assert (error.index, error.excerpt) == (500, way.encode())
    assert results.report.failed == 1 and results.report.read == 1001
    with pytest.raises(gm.GristmillError, match=f"record 500 .*({WAYS[way]})") as caught:
        gm.map(plugin("deadly"), source, workers=2, batch_records=size)
    assert caught.value.index == 500


@pytest.mark.parametrize("way", ["spin", "sleep"])
def test_a_record_that_holds_the_plugin(file, plugin, way):
    results = gm.map(
        plugin("deadly"), file(with_evil(way)), workers=2, batch_records=100, timeout=0.3, retries=0, on_error="collect"
    )
    assert list(results) == RECORDS
    assert [(error.index, error.kind) for error in results.errors] == [(500, "PayloadTimeout")]


def test_what_stands_before_is_delivered(tmp_path, file, plugin):
    with open(tmp_path / "out", "wb") as out, pytest.raises(gm.WorkerCrashed, match="SIGSEGV"):
        gm.run(plugin("deadly"), file(with_evil("segv")), batch_records=64, output=out)
    assert (tmp_path / "out").read_bytes() == b"".join(record + b"\n" for record in RECORDS[:500])


@pytest.mark.parametrize("way", ["segv", "exit"])
def test_a_plugin_that_dies_while_it_is_made(file, plugin, way):
    with pytest.raises(gm.WorkerCrashed, match=f"while they make their payload: {WAYS[way]}"):
        gm.map(plugin("deadly"), file(b"a\n"), workers=2, config=way)


def test_an_engine_goes_on_behind_deaths(file, plugin):
    good, bad = file(b"a\n" * 100), file(with_evil("abort"))
    with gm.Engine(workers=2) as engine:
        for _ in range(5):
            with pytest.raises(gm.WorkerCrashed):
                engine.map(plugin("deadly"), bad, retries=0)
            assert len(engine.map(plugin("deadly"), good)) == 100
            assert engine.run(plugin("deadly"), bad, on_error="skip").failed == 1
        assert len(children()) == 1


def test_recursion_on_a_small_stack(file):
    """A56: an exception, whatever the size of the stack is."""
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_STACK, (512 << 10, resource.RLIM_INFINITY))\n"
        "import gristmill as gm, misbehaviour as bad\n"
        "def function(record): return bad.recurse() if record == b'deep' else record\n"
        "results = gm.map(function, sys.argv[1], workers=2, on_error='collect', start=sys.argv[2])\n"
        "print(len(results), [(error.index, error.kind) for error in results.errors])\n"
    )
    source = file(b"a\n" * 50 + b"deep\n" + b"a\n" * 49)
    here = os.path.dirname(os.path.abspath(__file__))
    path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    for start in ("fork", "fresh"):
        done = subprocess.run(
            [sys.executable, "-c", script, source, start], capture_output=True, text=True, timeout=50,
            env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip
        assert (done.stdout, done.stderr) == ("99 [(50, 'RecursionError')]\n", "")
