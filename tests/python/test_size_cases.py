"""Faults that users of other tools met with much data, with holes in files, and with memory that is not taken
back. The name of each test ends with the number of its case."""

import contextlib
import errno
import hashlib
import json
import mmap
import os
import re
import subprocess

import forbidden_calls
import pytest
from case_scripts import LARGE, all_as_before, limited, opened, run_script, take

import gristmill as gm

WAYS = pytest.mark.parametrize("way", ["map", "run", "stream"])
SOURCES = pytest.mark.parametrize("source", ["file", "pipe"])
CALLS_KNOWN = pytest.mark.skipif(not forbidden_calls.KNOWN, reason="the numbers of system calls are not known here")


@pytest.fixture(autouse=True)
def in_time_and_nothing_is_left(tmp_path):
    with all_as_before(), limited(150):
        yield


# --- A20: more than 2 GiB, and than 4 ------------------------------------------------------------

GROWN = """
import resource, sys, threading, time
import gristmill as gm

way, case, path = sys.argv[1:]
SIZES = {"one": [2**31 + 16], "batch": [800_000_000] * 3}[case]

def grow(record):
    return b"x" * int(record)

def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon:")) * 1024

with open(path, "wb") as file:
    file.write(b"".join(b"%d\\n" % size for size in SIZES))
most = 0
if way == "map":
    results = gm.map(grow, path, workers=1, batch_records=3)
    for at in range(len(results)):
        record = results[at]
        assert len(record) == SIZES[at] and record[:3] == record[-3:] == b"xxx"
        most = max(most, resident())
    assert len(results) == len(SIZES)
elif way == "run":
    gm.run(grow, path, output="out", workers=1, batch_records=3)
    most = resident()
    import os
    assert os.path.getsize("out") == sum(SIZES) + len(SIZES)
else:
    count = 0
    for record in gm.stream(grow, path, workers=1, batch_records=3):
        assert len(record) == SIZES[count] and record[:3] == record[-3:] == b"xxx"
        count, most = count + 1, max(most, resident())
    assert count == len(SIZES)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(most / sum(SIZES), peak / sum(SIZES))
"""


def free_memory() -> int:
    with open("/proc/meminfo") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")) * 1024


@pytest.mark.skipif(LARGE not in os.environ, reason=f"takes a while and 16 GiB of memory; set {LARGE} to run it")
@WAYS
@pytest.mark.parametrize("case", ["one", "batch"])
def test_results_of_gigabytes_a20(tmp_path, way, case):
    if free_memory() < 16 << 30:
        pytest.skip(f"needs 16 GiB of free memory, there are {free_memory() >> 30}")
    with limited(130):
        done = run_script(GROWN, way, case, tmp_path / "in", cwd=tmp_path, seconds=120)
    with contextlib.suppress(FileNotFoundError):
        (tmp_path / "out").unlink()
    print(done)
    assert (done.code, done.err) == (0, "")
    assert float(done.out.split()[1]) < 2.5


def too_long(record):
    """4 GiB of memory that nobody has touched, for one of three."""
    if record == b"long":
        return memoryview(mmap.mmap(-1, (4 << 30) + 16))
    return record


@WAYS
@SOURCES
def test_a_result_of_more_than_4_gib_costs_itself_alone_a20(tmp_path, way, source):
    (tmp_path / "in").write_bytes(b"before\nlong\nbehind\n")
    with opened(source, tmp_path / "in") as given:
        if way == "stream":
            stream = gm.stream(too_long, given, workers=1, on_error="collect")
            records, errors = list(stream), stream.errors
        elif way == "map":
            records = gm.map(too_long, given, workers=1, on_error="collect")
            errors = records.errors
        else:
            errors = gm.run(too_long, given, workers=1, on_error="collect", output=tmp_path / "out").errors
            records = (tmp_path / "out").read_bytes().split()
    lengths = [len(record) for record in records]
    del records  # a failure would keep them
    assert lengths in ([6, 6], [6, (4 << 30) + 16, 6])
    if len(lengths) == 2:
        assert [error.index for error in errors] == [1]
        assert re.search("4 GiB|4,?294,?967,?29[56]", str(errors[0]))


# --- A21: memory that is not taken back ----------------------------------------------------------

GIVEN_BACK = """
import contextlib, ctypes, hashlib, json, sys, warnings
import gristmill as gm
from case_scripts import opened
from forbidden_calls import answer

shim, preloaded, source, path = sys.argv[1:]
faults = ctypes.CDLL(preloaded) if preloaded else None
if shim.startswith("seccomp"):
    answer(["fallocate"], int(shim.split()[1]))

def take(way, payload, given, sha):
    if way == "run":
        report = gm.run(payload, given, output="out", workers=2, memory="32MiB")
        with open("out", "rb") as out:
            sha.update(out.read())
    elif way == "map":
        results = gm.map(payload, given, workers=2, memory="32MiB")
        sha.update(bytes(results))
        report = results.report
    else:
        stream = gm.stream(payload, given, workers=2, memory="32MiB")
        for batch in stream.batches(copy=False):
            sha.update(batch)
        report = stream.report
    return report.spool_punches_failed, report.spool_bytes_punched > 0

told = []
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    for way in ("map", "run", "stream"):
        for payload in ("identity", bytes):
            sha = hashlib.sha256()
            if faults:
                assert faults.faulty_io_set(f"fallocate {shim} /memfd:".encode()) == 1
            with opened(source, path) as given:
                spool = take(way, payload, given, sha)
            told.append([sha.hexdigest(), *spool, faults.faulty_io_hits(0) if faults else 1])
print(json.dumps([told, len(warned)]))
"""
SHIMS = {
    "none": "",
    **{f"{name} at once": f"seccomp {getattr(errno, name)}" for name in ("EOPNOTSUPP", "ENOSYS", "EPERM", "ENOSPC")},
    **{f"{name} from the 5th": f"{getattr(errno, name)} 5-" for name in ("EOPNOTSUPP", "ENOSYS", "EPERM", "ENOSPC")},
    "EINTR": f"{errno.EINTR} 1/2@7",
}


@pytest.fixture(scope="module")
def punched(tmp_path_factory):
    """24 MiB, or 200, whose slots are given back: some records are longer than a slot's usual size."""
    path = tmp_path_factory.mktemp("punched") / "in"
    lengths = [10, 3_000_000, 70_000, 0, 500_000, 2_000_000]
    block = b"".join(bytes([97 + at]) * length + b"\n" for at, length in enumerate(lengths))
    path.write_bytes(block * ((200 if LARGE in os.environ else 24) * 2**20 // len(block)))
    yield path
    path.unlink()


@CALLS_KNOWN
@pytest.mark.parametrize("source, shim", [*(("pipe", shim) for shim in SHIMS), ("file", "EOPNOTSUPP at once"), ("file", "ENOSPC at once")])
def test_holes_that_are_not_granted_a21(tmp_path, faulty_io, punched, source, shim):
    env = {} if not SHIMS[shim] or SHIMS[shim].startswith("seccomp") else {"LD_PRELOAD": faulty_io}
    done = run_script(GIVEN_BACK, SHIMS[shim], faulty_io if env else "", source, punched, env=env, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    runs, warned = json.loads(done.out)
    with open(punched, "rb") as file:
        wanted = hashlib.sha256(file.read()).hexdigest()
    assert len(runs) == 6 and warned <= 1
    for found, failed, punched_any, hits in runs:
        assert found == wanted
        if source == "pipe":
            # Said once; of a file there is nothing to give back but what lies behind the results.
            assert failed == (shim not in ("none", "EINTR")) and hits > 0
            assert punched_any == (not shim.endswith("once"))


# --- A23: files with holes -----------------------------------------------------------------------


def holes(path, half: int) -> None:
    """As make_A.py of the cases has it: a record before, inside and after the hole."""
    with open(path, "wb") as file:
        file.write(b"head\n")
        file.seek(half)
        file.write(b"\nmiddle\n")
        file.seek(2 * half)
        file.write(b"\ntail\n")


def summary(records):
    """Of each record its length, and the record, or that it is zeros."""
    return [(len(record), not record.strip(b"\0") or record) for record in records]


def around_holes(half: int):
    return [(4, b"head"), (half - 5, True), (6, b"middle"), (half - 8, True), (4, b"tail")]


@WAYS
@SOURCES
@pytest.mark.parametrize("payload", ["identity", bytes], ids=["plugin", "function"])
def test_holes_are_zeros_a23(tmp_path, way, source, payload):
    holes(tmp_path / "holes", 1 << 19)
    for block, workers, nodes in [(64, 1, "1"), (4096, 2, "@4"), (65536, 7, "1"), (None, 2, "1")]:
        size = {} if block is None else {"batch_bytes": block}
        with opened(source, tmp_path / "holes") as given:
            records = take(way, payload, given, tmp_path, workers=workers, nodes=nodes, **size)
        assert summary(records) == around_holes(1 << 19)


JUST_WRITTEN = """
import os, subprocess, sys
from case_scripts import take
from forbidden_calls import answer
from test_size_cases import around_holes, summary

way, lie, folder = sys.argv[1:]
if lie == "lie":
    answer(["lseek"], 0, third=[os.SEEK_DATA, os.SEEK_HOLE])  # as if there were nothing but a hole
    with open(sys.executable, "rb") as file:
        assert os.lseek(file.fileno(), 100, os.SEEK_DATA) == 0
writing = f"import sys; from test_size_cases import holes; holes('{folder}/written', 1 << 19)"
for payload in ("identity", bytes):
    for kind in ("path", "object", "descriptor"):
        subprocess.run([sys.executable, "-c", writing], check=True)
        with open(folder + "/written", "rb") as file:
            source = {"path": file.name, "object": file, "descriptor": file.fileno()}[kind]
            assert summary(take(way, payload, source, folder)) == around_holes(1 << 19)
        os.unlink(folder + "/written")
"""


@WAYS
@CALLS_KNOWN
@pytest.mark.parametrize("lie", ["lie", "truth"])
def test_holes_of_a_file_written_just_now_a23(tmp_path, way, lie):
    done = run_script(JUST_WRITTEN, way, lie, tmp_path)
    assert (done.code, done.out, done.err) == (0, "", "")


@WAYS
@SOURCES
@pytest.mark.skipif(LARGE not in os.environ, reason=f"takes 3 GiB of memory; set {LARGE} to run it")
def test_holes_of_half_a_gibibyte_a23(tmp_path, way, source):
    holes(tmp_path / "holes", 1 << 29)
    cat = subprocess.Popen(["cat", tmp_path / "holes"], stdout=subprocess.PIPE) if source == "pipe" else None
    given = cat.stdout if cat else tmp_path / "holes"
    try:
        assert summary(take(way, "identity", given, tmp_path, workers=2)) == around_holes(1 << 29)
    finally:
        if cat:
            cat.stdout.close(), cat.wait()
        for name in {"holes", "taken"} & set(os.listdir(tmp_path)):
            (tmp_path / name).unlink()
