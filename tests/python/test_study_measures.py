"""What the study measures with, and draws with: memory and CPU time of processes, its plan, its plots."""

import argparse
import contextlib
import dataclasses
import hashlib
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as tree
from pathlib import Path

import pytest

import gristmill as gm
from gristmill.bench import arguments, inputs, plan, processes, reference, rows, svg
from gristmill.bench.peers import Peer
from gristmill.bench.task import Task, counted

MIB = 1 << 20


@pytest.fixture
def child():
    """Runs a script in another process, until it has printed a line; it ends with the test."""
    made = []

    def start(script, *descriptors):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "pass_fds": descriptors}
        process = subprocess.Popen([sys.executable, "-c", script + "\nprint(flush=True); input()"], **pipes)
        made.append(process)
        process.stdout.readline()
        return process

    yield start
    for process in made:
        process.communicate()


def test_memory_of_a_tree_counts_shared_files_once(child):
    before = processes.memory_bytes(os.getpid())
    file = os.memfd_create("shared")
    os.write(file, bytes(60 * MIB))
    map_it = f"import mmap; m = mmap.mmap({file}, {60 * MIB}); sum(m[::4096]); kept = bytearray(b'x' * {30 * MIB})"
    child(map_it, file)
    child(map_it + f"; import os; os.close({file})", file)
    grown = processes.memory_bytes(os.getpid()) - before
    os.close(file)
    assert (60 + 2 * 30) * MIB <= grown < (60 + 2 * 30 + 40) * MIB


def test_cpu_time_counts_the_living_and_the_ended(child):
    burn = "import time; begun = time.process_time()\nwhile time.process_time() < begun + 0.3: pass"
    before = processes.cpu_seconds()
    living = child(burn)
    assert 0.3 <= processes.cpu_seconds() - before < 1.5
    living.communicate()
    assert 0.3 <= processes.cpu_seconds() - before < 1.5


def test_only_the_process_that_was_known_is_killed(child):
    process = child("")
    known = processes.identities([process.pid])
    processes.kill({process.pid: known[process.pid] + "1"})
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.3)
    processes.kill(known)
    assert process.wait(10) == -9
    assert processes.identities([process.pid]) == {}


def test_the_reference_is_checked_itself(tmp_path, monkeypatch):
    given = inputs.prepare("medium", 3000, tmp_path)
    found = reference.compute(Task("gristmill", "plugin", given, 1))
    assert (found["total"], found["valid"]) == (3000, given.valid)
    false = dataclasses.replace(given, valid=given.valid + 1)
    with pytest.raises(gm.AccountingError, match="the plugin gave"):
        reference.compute(Task("gristmill", "plugin", false, 1))
    monkeypatch.setattr(reference.twins, "twin", lambda *_: bytes.upper)
    with pytest.raises(gm.AccountingError, match="the Python function differ"):
        reference.compute(Task("gristmill", "plugin", given, 1))


@pytest.mark.parametrize("chunks", [[b"\n\n\na\n\n\nb\n\n"], [b"\n", b"\n\na\n\n", b"\nb\n", b"\n"]])
def test_lines_and_those_that_are_not_empty(chunks):
    found = counted(chunks)
    assert (found.total, found.valid, found.bytes) == (8, 2, 10)
    assert found.digest.hexdigest() == hashlib.sha256(b"\n\n\na\n\n\nb\n\n").hexdigest()


def options(*given):
    parser = argparse.ArgumentParser()
    arguments.add_to(parser)
    parsed = parser.parse_args(list(given))
    arguments.settle(parsed)
    return parsed


def planned(given, peers=()):
    def input_of(name, records):
        return inputs.Input(name, f"{name}-{records}", records, 100 * records, records, "")

    return plan.configurations(given, list(peers), "python", input_of)


def test_the_whole_study_has_the_published_sizes():
    given = options("--workers", "2", "--sweep-workers", "1,2")
    found = planned(given, [Peer("one", "one.py", "python"), Peer("two", "two.py", "python", payloads=("plugin",))])
    sizes = {(each.task.input.set, each.task.payload): each.task.input.records for each in found}
    wanted = {"light": (5_000_000, 5_000_000), "medium": (5_000_000, 1_000_000), "heavy": (5_000_000, 500_000),
              "tokenize": (500_000, 100_000)}  # fmt: skip
    for name, (plugin, function) in wanted.items():
        assert (sizes[name, "plugin"], sizes[name, "function"]) == (plugin, function)
    shapes = [(each.task.nodes, each.task.workers) for each in found if each.part == "a"]
    assert len(shapes) == 4 * 2 * 5 and set(shapes) == {("1", 2), ("@2", 2), ("@4", 2), ("auto", 2), ("auto", 1)}
    assert len({each.task for each in found}) == len(found)
    assert len([each for each in found if each.part == "c"]) == 4 * 2, "ours are those of part a"


def test_isolation_multiplies_plugins_alone():
    found = planned(options("--parts", "a", "--variants", "light", "--nodes", "1", "--workers", "2",
                            "--sweep-workers", "none", "--isolation", "process,thread"))  # fmt: skip
    assert sorted((each.task.payload, each.task.isolation) for each in found) == [
        ("function", ""), ("plugin", "process"), ("plugin", "thread"),
    ]  # fmt: skip


def test_worker_counts_double():
    assert arguments.doubling(6) == [1, 2, 4, 6] and arguments.doubling(1) == [1] and arguments.doubling(8) == [1, 2, 4, 8]


def test_ranks_are_of_one_table_and_of_exact_rows():
    made = [
        {"set": "light", "payload": payload, "records": records, "exact": exact, "records_per_s": rate, "rank": None}
        for payload, records, exact, rate in [
            ("plugin", 10, True, 5.0), ("plugin", 10, False, 9.0), ("plugin", 10, True, 7.0), ("plugin", 20, True, 1.0),
            ("upper: tr", 10, True, 1.0), ("upper: plugin", 10, True, 2.0),
        ]
    ]  # fmt: skip
    rows.rank(made)
    assert [row["rank"] for row in made] == [2, None, 1, 1, 2, 1]


def widths(drawn):
    return [float(each.get("width")) for each in tree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}rect")]


def test_bars_are_as_long_as_their_values():
    given = [svg.Bar("a & <b>", 100.0, 90, 110), svg.Bar("half", 50.0, 50, 50), svg.Bar("none", None, note="not here")]
    drawn = svg.bars(given, lambda value: f"{value:g}")
    whole, half = widths(drawn)
    assert whole == pytest.approx(2 * half, rel=0.01) and "a &amp; &lt;b&gt;" in drawn and "not here" in drawn


@pytest.mark.parametrize("most", [0.004, 1.0, 7.3, 99.0, 100.0, 12_345_678.0])
def test_ticks_are_few_and_round(most):
    found = svg._ticks(most)
    assert 3 <= len(found) <= 6 and found[0] == 0 and most * 0.6 < found[-1] <= most * 1.0001
    assert len({round(b - a, 12) for a, b in zip(found, found[1:])}) <= 2


def test_plots_of_one_point_and_of_nothing():
    for drawn in (
        svg.lines([svg.Series("one", [(0.0, 0.0)])], str, str, limit=(5.0, "limit")),
        svg.lines([], str, str),
        svg.spans([svg.Bar("one", 8.0, 8, 8)], str),
        svg.bars([svg.Bar("none", None, note="n" * 500)], str),
    ):
        assert tree.fromstring(drawn).get("viewBox")


SLOW = """
import subprocess, time
name = "slow"
def ready(task):
    subprocess.Popen(["sleep", "4321"], start_new_session=True)
    time.sleep(600)
"""


def test_a_cell_that_takes_too_long_is_ended(tmp_path):
    folder = tmp_path / "peers"
    folder.mkdir()
    (folder / "slow.py").write_text(SLOW)
    given = ["--parts", "c", "--variants", "light", "--records", "500", "--trials", "1", "--peers-folder", folder]
    command = [sys.executable, "-m", "gristmill", "study", *given, "--tmpdir", tmp_path, "--cell-limit", "3"]
    begun = time.monotonic()
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=100)
    assert done.returncode == 1 and "not done within --cell-limit" in done.stdout and time.monotonic() - begun < 60
    assert b"sleep\x004321\x00" not in {commands(pid) for pid in os.listdir("/proc") if pid.isdigit()}


def commands(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
