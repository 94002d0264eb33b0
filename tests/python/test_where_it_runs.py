"""gm.map where other tools fail: in threads, in asyncio, in daemons, in pools, in its own workers."""

import asyncio
import logging
import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest
from processes import await_gone, children, descendants

import gristmill as gm

FORKING_IS_MEANT = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
DATA = b"".join(b"%d\n" % n for n in range(500))


@pytest.fixture
def source(file):
    return file(DATA)


def mapped(path: str, **options) -> bytes:
    suffix = b"!"  # a closure, so that it must travel
    return bytes(gm.map(lambda record: record + suffix, path, workers=2, **options))


WANTED = DATA.replace(b"\n", b"!\n")


def test_in_threads(source):
    before = descendants()
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(mapped, [source] * 8)) == {WANTED}
    assert descendants() == before


def test_in_asyncio(source):
    async def several():
        return await asyncio.gather(*(asyncio.to_thread(mapped, source) for _ in range(3)))

    assert asyncio.run(several()) == [WANTED] * 3


@FORKING_IS_MEANT
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_in_a_daemon_of_multiprocessing(source, method):
    context = multiprocessing.get_context(method)
    ours, theirs = context.Pipe()
    process = context.Process(target=_send, args=(theirs, source), daemon=True)
    process.start()
    assert ours.poll(30) and ours.recv() == WANTED
    process.join()
    assert process.exitcode == 0


def _send(connection, path: str) -> None:
    connection.send(mapped(path))


@FORKING_IS_MEANT
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_in_pools(source, method):
    mapped(source)  # the parent has used it already
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        assert pool.map(mapped, [source] * 3) == [WANTED] * 3
    with ProcessPoolExecutor(2, mp_context=context) as executor:
        assert list(executor.map(mapped, [source] * 3)) == [WANTED] * 3


@FORKING_IS_MEANT
def test_workers_end_with_a_daemon_that_is_terminated(tmp_path, source):
    log = tmp_path / "log"

    def sleep():
        gm.map(lambda record: log.write_bytes(b"asleep") and threading.Event().wait(), source, workers=2)

    process = multiprocessing.get_context("fork").Process(target=sleep, daemon=True)
    process.start()
    while not log.exists():
        assert process.is_alive()
    theirs = descendants(process.pid)
    process.terminate()
    process.join()
    await_gone(theirs, seconds=2)


@pytest.mark.parametrize("start", ["fork", "fresh"])
@pytest.mark.parametrize("options", [{}, {"workers": 0}, {"workers": 2}, {"workers": 1, "start": "fresh"}])
def test_inside_a_worker(source, file, start, options):
    few, before = file(b"1\n2\n3\n"), children()

    def inner(record):
        of_plugin = {name: value for name, value in options.items() if name != "start"}
        assert gm.map("upper", few, **of_plugin)[0] == b"1"
        return b"".join(gm.map(lambda inside: inside + record, few, **options))

    assert list(gm.map(inner, few, workers=2, start=start)) == [b"112131", b"122232", b"132333"]
    assert children() == before


def test_workers_have_no_workers_of_their_own_unless_asked(file):
    def count(record):
        with gm.Engine() as engine, gm.Engine(workers=2) as two:
            return b"%d %d" % (len(engine.plan.workers), len(two.plan.workers))

    assert list(gm.map(count, file(b"1\n"))) == [b"0 2"]


@FORKING_IS_MEANT
def test_in_a_process_that_a_function_forked(file, source):
    def function(record):
        with multiprocessing.get_context("fork").Pool(1) as pool:
            return pool.apply(_total, (source,))

    assert list(gm.map(function, file(b"1\n"), workers=1, timeout=20)) == [b"500"]


def _total(path: str) -> bytes:
    return b"%d" % gm.run(bytes.upper, path, workers=0).read


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
@pytest.mark.parametrize("call", ["gm.map(str.upper, {!r})", "gm.Engine().map('identity', {!r})"])
def test_while_a_child_imports_the_main_module(tmp_path, source, method, call):
    script = tmp_path / "main.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import multiprocessing, os
            import gristmill as gm

            def work(_):
                return 1

            try:
                {call.format(source)}
            except gm.RecordError:
                pass  # in the main process, the function is wrong on purpose
            except gm.GristmillError as error:
                os.write(2, f"refused: {{error}}\\n".encode())

            if __name__ == "__main__":
                with multiprocessing.get_context({method!r}).Pool(1) as pool:
                    print(pool.map(work, [1, 2]))
            """
        )
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=50)
    assert done.stdout == "[1, 1]\n"
    lines = done.stderr.splitlines()
    assert lines and all(line.startswith("refused: ") and "if __name__ == '__main__'" in line for line in lines)


@pytest.mark.parametrize("start", ["auto", "fresh"])
def test_beside_a_thread_that_holds_a_lock(source, start):
    """A39: the logging lock is held most of the time; a fork would copy it locked."""
    handler, over = logging.StreamHandler(open(os.devnull, "w")), threading.Event()
    logger = logging.getLogger("gristmill-test")
    logger.addHandler(handler)
    logger.propagate = False

    def hold():
        while not over.is_set():
            with handler.lock:
                over.wait(0.005)

    holder = threading.Thread(target=hold)
    holder.start()

    def log(record):
        logging.getLogger("gristmill-test").warning("record")
        return record

    try:
        for _ in range(5):
            assert len(gm.map(log, source, workers=2, start=start)) == 500
    finally:
        over.set()
        holder.join()
        logger.removeHandler(handler)
        handler.stream.close()


def test_fresh_workers_have_the_callers_module_path(tmp_path, file, monkeypatch):
    (tmp_path / "only_here.py").write_text("def function(record): return record + b' from here'\n")
    monkeypatch.syspath_prepend(tmp_path)
    sys.path.append(tmp_path)  # a Path, which the import system skips
    sys.path.append("odd '\"{}\\\udc80\u00e9")
    try:
        for start in ("fork", "fresh"):
            assert list(gm.map("only_here:function", file(b"a\n"), start=start)) == [b"a from here"]
        assert "only_here" not in sys.modules
    finally:
        del sys.path[-2:]


def test_fresh_workers_never_import_the_main_module(tmp_path, source):
    script = tmp_path / "main.py"
    script.write_text(
        "import os, sys\n"
        "import gristmill as gm\n"
        "os.write(1, b'imported\\n')\n"
        f"print(len(gm.map(lambda record: record, {source!r}, start='fresh', workers=2)))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=50)
    assert (done.stdout, done.stderr) == ("imported\n500\n", "")


@FORKING_IS_MEANT
def test_a_forked_child_leaves_the_workers_of_its_parents_engine_alone(source):
    with gm.Engine(workers=2) as engine:
        engine.run(bytes.upper, source)
        before = descendants()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                with pytest.raises(gm.GristmillError, match="fork"):
                    engine.map(bytes.upper, source)
                engine.close()
                del engine
                code = 0 if mapped(source) == WANTED else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert descendants() == before
        assert len(engine.map(bytes.upper, source)) == 500


def test_modules_imported_later_reach_an_engines_workers(tmp_path, source, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    with gm.Engine(workers=2) as engine:
        engine.run(bytes.upper, source)
        (tmp_path / "came_later.py").write_text("def function(record): return record * 2\n")
        import came_later

        assert engine.map(came_later.function, source)[7] == b"77"
        assert engine.map("came_later:function", source)[7] == b"77"
