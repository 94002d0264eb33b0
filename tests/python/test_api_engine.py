"""The Engine: its life, its threads, and what is left when it is gone."""

import multiprocessing
import os
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from expected_records import picky, split
from processes import children, descendants

import gristmill as gm


def open_descriptors() -> dict[str, str]:
    """The descriptors of this process, and what they lead to."""
    found = {}
    for number in os.listdir("/proc/self/fd"):
        try:
            found[number] = os.readlink(f"/proc/self/fd/{number}")
        except FileNotFoundError:
            pass  # the one that listed the folder
    return found


FORKING_IS_MEANT = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


def test_an_engine_serves_many_runs(file, lines):
    path = file(lines)
    with gm.Engine(workers=2) as engine:
        for _ in range(20):
            assert bytes(engine.map("identity", path)) == lines
            assert engine.run("count", path).read == 20_000


def test_closing(file):
    path = file(b"a\n")
    engine = gm.Engine(workers=2)
    assert not engine.closed and len(engine.map("identity", path)) == 1
    engine.close()
    engine.close()
    assert engine.closed and "closed" in repr(engine)
    for use in (lambda: engine.map("identity", path), lambda: engine.run("identity", path), engine.__enter__):
        with pytest.raises(gm.GristmillError, match="closed"):
            use()


def test_an_engine_starts_what_a_run_needs_and_keeps_it(file):
    path, threads_before = file(b"a\n"), threads()
    with gm.Engine(workers=2) as engine:
        assert (threads(), children()) == (threads_before, [])
        engine.run("identity", path)
        (nursery,) = children()
        workers = children(nursery)
        assert len(workers) == 2
        engine.run("upper", path)
        assert children(nursery) == workers
        engine.run("identity", path, isolation="thread")
        assert (threads(), children(nursery)) == (threads_before + 2, workers)
        engine.run(bytes.upper, path)
        assert len(children()) == 2 and len(descendants()) == 6
    assert (threads(), children()) == (threads_before, [])


@pytest.mark.parametrize("use", [{}, {"isolation": "thread"}], ids=["processes", "threads"])
def test_an_engine_that_nobody_closed_ends_its_workers(file, use):
    before = threads()
    engine = gm.Engine(workers=3)
    engine.run("identity", file(b"a\n"), **use)
    assert (threads() - before, len(descendants())) == ((3, 0) if use else (0, 4))
    del engine
    assert (threads(), children()) == (before, [])


def test_the_plan(file):
    with gm.Engine(workers=3, nodes="@2") as engine:
        assert [worker.node for worker in engine.plan.workers] == [0, 1, 0]
        assert [node.workers for node in engine.plan.nodes] == [2, 1]
        assert all(isinstance(reason, str) for reason in engine.plan.reasons)
        assert {worker.cpu for worker in engine.plan.workers} <= os.sched_getaffinity(0)
        assert "3 workers on 2 nodes" in repr(engine)
    assert gm.Engine(workers=0).plan.workers == []


def test_default_workers_are_the_cpus_we_may_use():
    with gm.Engine() as engine:
        assert 1 <= len(engine.plan.workers) <= len(os.sched_getaffinity(0))


def test_an_engine_goes_on_after_errors(tmp_path, file, plugin):
    good, bad = file(b"a\n" * 1000), file(b"a\n!b\n" * 1000)
    with gm.Engine(workers=2) as engine:
        for _ in range(5):
            with pytest.raises(gm.RecordError):
                engine.map(plugin("picky"), bad, batch_records=7)
            with pytest.raises(gm.SourceError):
                engine.map("identity", tmp_path / "missing")
            with pytest.raises(gm.PluginError):
                engine.map(plugin("picky"), good, config="refuse")
            assert len(engine.map(plugin("picky"), good)) == 1000


def _check_runs(engine, plugin, path, data, prefix):
    for _ in range(5):
        results = engine.map(plugin("picky"), path, config=prefix.decode(), batch_bytes=2000)
        assert list(results) == picky(data, prefix)


@pytest.mark.parametrize("shared", [True, False], ids=["one engine", "an engine each"])
def test_several_threads_at_once(file, lines, plugin, shared):
    plugin("picky")
    parts = [lines[: 20_000 * (n + 1)].rpartition(b"\n")[0] + b"\n" for n in range(6)]
    engines = [gm.Engine(workers=2)] if shared else [gm.Engine(workers=n % 3) for n in range(6)]
    with ThreadPoolExecutor(6) as pool:
        jobs = [
            pool.submit(_check_runs, engines[n % len(engines)], plugin, file(part), part, b"%d:" % n)
            for n, part in enumerate(parts)
        ]
        for job in jobs:
            job.result(timeout=50)
    for engine in engines:
        engine.close()


def test_module_level_calls_from_several_threads(file, lines):
    path = file(lines)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: bytes(gm.map("identity", path, workers=2)), range(8)):
            assert found == lines


def test_reading_results_from_several_threads(file, lines):
    results, records = gm.map("identity", file(lines), batch_records=1000), split(lines)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: list(results), range(8)):
            assert found == records


def test_the_interpreter_runs_on_meanwhile(file, plugin):
    path, turns = file(b"a\n" * 20), 0
    run = threading.Thread(target=gm.run, args=(plugin("slow"), path), kwargs={"config": "20", "batch_records": 1})
    run.start()
    while run.is_alive():
        turns += 1
        time.sleep(0.001)
    assert turns > 20


def test_closing_waits_for_the_run_of_another_thread(file, plugin):
    engine, found = gm.Engine(workers=1), []
    path = file(b"a\n" * 10)
    started = threading.Event()

    def run():
        started.set()
        found.append(len(engine.map(plugin("slow"), path, config="20", batch_records=1)))

    thread = threading.Thread(target=run)
    thread.start()
    started.wait()
    time.sleep(0.05)
    engine.close()
    thread.join()
    assert found == [10]


def test_engines_and_failures_leave_no_descriptor_behind(tmp_path, file, lines, plugin):
    path, bad = file(lines), file(b"!b\n")

    def use_everything():
        with gm.Engine(workers=2, nodes="@2") as engine:
            results = engine.map("identity", path)
            results.write(tmp_path / "copy")
            engine.run("identity", [path] * 20, output=tmp_path / "out")
            for call in (
                lambda: engine.run(plugin("picky"), bad, output=tmp_path / "out"),
                lambda: engine.run("identity", [path, tmp_path / "missing"], output=tmp_path / "out"),
                lambda: engine.run("identity", path, output=tmp_path),
                lambda: engine.run(plugin("picky"), path, config="refuse"),
                lambda: engine.run(plugin("picky") + ":absent", path),
                lambda: engine.run("identity", path, on_error="skip", errors_to=tmp_path),
            ):
                with pytest.raises(gm.GristmillError):
                    call()

    use_everything()  # what is opened once and kept is no leak
    before = open_descriptors()
    for _ in range(3):
        use_everything()
    assert open_descriptors() == before


@FORKING_IS_MEANT
def test_a_forked_child_cannot_use_its_parents_engine(file, lines):
    engine = gm.Engine(workers=2)
    path = file(lines)
    results = engine.map("identity", path)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            with pytest.raises(gm.GristmillError, match="fork"):
                engine.map("identity", path)
            assert bytes(results) == lines and "of process" in repr(engine)
            engine.close()
            del engine  # must not wait for threads that are not there
            assert bytes(gm.map("identity", path, workers=2)) == lines
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert bytes(engine.map("identity", path)) == lines
    engine.close()


@FORKING_IS_MEANT
def test_a_forked_pool_may_map(file, lines):
    path = file(lines)
    gm.map("identity", path)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.starmap(_read, [(path,)] * 4) == [20_000] * 4


def _read(path: str) -> int:
    return gm.run("identity", path, workers=2).read


def test_an_engine_refuses_to_be_pickled():
    with gm.Engine(workers=0) as engine, pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(engine)
