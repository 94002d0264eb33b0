"""Faults that users of other tools met in reading files, pipes and paths. The name of each test ends with the
number of its case."""

import errno
import gzip
import hashlib
import json
import os
import subprocess
import tempfile

import forbidden_calls
import pytest
from case_scripts import all_as_before, limited, opened, run_script, take

import gristmill as gm

WAYS = pytest.mark.parametrize("way", ["map", "run", "stream"])
PAYLOADS = {"plugin": "identity", "function": bytes}
EACH_PAYLOAD = pytest.mark.parametrize("payload", PAYLOADS)
SOURCES = pytest.mark.parametrize("source", ["file", "pipe"])
CALLS_KNOWN = pytest.mark.skipif(not forbidden_calls.KNOWN, reason="the numbers of system calls are not known here")
# Bytes of a batch, workers, nodes.
SWEEP = [(64, 1, "1"), (4096, 2, "@4"), (65536, 7, "1"), (None, 2, "1")]


@pytest.fixture(autouse=True)
def in_time_and_nothing_is_left(tmp_path):
    with all_as_before(), limited(60):
        yield


def digest(records) -> str:
    """SHA-256 over each record's length, eight bytes little-endian, and the record."""
    sha = hashlib.sha256()
    for record in records:
        sha.update(len(record).to_bytes(8, "little"))
        sha.update(record)
    return sha.hexdigest()


def swept(way, payload, source, path, folder, pieces=0):
    """The counts and digests that come, whatever the sizes and the crew are."""
    found = set()
    for block, workers, nodes in SWEEP:
        size = {} if block is None else {"batch_bytes": block}
        with opened(source, path, pieces) as given:
            records = take(way, PAYLOADS[payload], given, folder, workers=workers, nodes=nodes, **size)
        found.add((len(records), digest(records)))
    return found


# --- A13: members --------------------------------------------------------------------------------

MEMBERS = [b"".join(b"m%d-%03d\n" % (member, n) for n in range(count)) for member, count in enumerate((1, 0, 300, 2))]
MEMBERS_DIGEST = "961d33b11e82e9789a2e9e86c86b6eab2829e1e37b9737d722f90c4fdf5bfe5f"


@WAYS
@EACH_PAYLOAD
@SOURCES
def test_every_member_of_a_gzip_file_a13(tmp_path, file, way, payload, source):
    path = file(b"".join(gzip.compress(member, mtime=0) for member in MEMBERS))
    assert swept(way, payload, source, path, tmp_path, pieces=1) == {(303, MEMBERS_DIGEST)}


# --- A14: files that change ----------------------------------------------------------------------

CHANGED = """
import gzip, json, os, subprocess, sys, time
import gristmill as gm

way, plugin, kind, change, path = sys.argv[1:]
command = f"sleep 0.2; truncate -s 0 {path}" if change == "truncated" else f"sleep 0.2; mv {path}.other {path}"

def slow(record):
    time.sleep(0.002)
    return record[:8]

payload, options = (plugin, {"config": "2"}) if plugin else (slow, {})
told, records = {"error": None}, []
source = open(path, "rb") if kind == "object" else path
changing = subprocess.Popen(["sh", "-c", command])
try:
    if way == "map":
        records = gm.map(payload, source, workers=2, memory="32MiB", **options)
    elif way == "run":
        gm.run(payload, source, output="out", workers=2, memory="32MiB", **options)
        records = open("out", "rb").read().split(b"\\n")[:-1]
    else:
        for record in gm.stream(payload, source, workers=2, memory="32MiB", **options):
            records.append(record[:8])
except OSError as error:
    told["error"] = [type(error).__module__, error.filename, str(error)]
changing.wait()
assert all(record[:8] == b"%08d" % n for n, record in enumerate(records))
print(json.dumps({**told, "records": len(records), "output": os.path.exists("out")}))
"""


@pytest.fixture(scope="module")
def large_file(tmp_path_factory):
    """64 MiB in 512 records; also compressed."""
    path = tmp_path_factory.mktemp("large") / "records"
    data = b"".join(b"%08d" % n + b"." * ((128 << 10) - 9) + b"\n" for n in range(512))
    path.write_bytes(data)
    path.with_suffix(".gz").write_bytes(gzip.compress(data, compresslevel=0))
    yield path
    path.unlink(), path.with_suffix(".gz").unlink()


def changed(tmp_path, large_file, way, payload, kind, change):
    name = "records.gz" if kind == "gzip" else "records"
    subprocess.run(["cp", large_file.with_name(name), tmp_path / name], check=True)
    (tmp_path / (name + ".other")).write_bytes(b"something else\n")
    done = run_script(CHANGED, way, payload, kind, change, tmp_path / name, cwd=tmp_path)
    (tmp_path / name).unlink()
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out), str(tmp_path / name)


@WAYS
@pytest.mark.parametrize("payload", ["function", "plugin"])
@pytest.mark.parametrize("kind", ["path", "object", "gzip"])
def test_a_file_is_cut_while_it_is_read_a14(tmp_path, large_file, plugin, way, payload, kind):
    named = plugin("slow") if payload == "plugin" else ""
    told, path = changed(tmp_path, large_file, way, named, kind, "truncated")
    assert told["error"] is not None, "no end, or not all of it, may look like a success"
    module, filename, message = told["error"]
    assert module.startswith("gristmill") and filename == path
    assert kind == "gzip" or "shrank" in message
    assert told["records"] < 512 and not told["output"]


@WAYS
@pytest.mark.parametrize("payload", ["function", "plugin"])
@pytest.mark.parametrize("kind", ["path", "gzip"])
def test_a_file_is_replaced_while_it_is_read_a14(tmp_path, large_file, plugin, way, payload, kind):
    named = plugin("slow") if payload == "plugin" else ""
    told, _ = changed(tmp_path, large_file, way, named, kind, "renamed")
    assert told == {"error": None, "records": 512, "output": way == "run"}


# --- A15: files of the kernel --------------------------------------------------------------------

KERNEL_FILES = ["/proc/self/status", "/proc/cpuinfo", "/sys/kernel/mm/transparent_hugepage/enabled"]
OF_THE_KERNEL = """
import os, sys
from case_scripts import piped, take
from expected_records import split
from forbidden_calls import answer

way, shim, folder, *paths = sys.argv[1:]
if shim != "none":
    answer(["copy_file_range", "sendfile", "splice"], int(shim))
    if shim == "0":
        with open(paths[0], "rb") as source, open(folder + "/copy", "wb") as copy:
            assert os.sendfile(copy.fileno(), source.fileno(), 0, 100) == 0

CHANGING = (b"State", b"Vm", b"Rss", b"Threads", b"FDSize", b"Sig", b"Shd", b"voluntary", b"nonvoluntary", b"cpu MHz")

def content(path):
    with open(path, "rb") as file:
        return file.read()

for payload in ("identity", bytes):
    for path in paths:
        with open(path, "rb") as file:
            for source in (path, file, file.fileno()):
                before = split(content(path))
                found = take(way, payload, source, folder)
                assert len(found) == len(before) > 0, (path, len(found), len(before))
                for one, wanted in zip(found, before):
                    key = wanted.split(b":")[0]
                    if key.startswith(CHANGING):  # by itself, or while we run
                        one, wanted = one.split(b":")[0], key
                    assert one == wanted, (path, one, wanted)
    with piped(b"".join(b"%d\\n" % n for n in range(200_000))) as pipe:
        assert take(way, payload, pipe, folder) == [b"%d" % n for n in range(200_000)]
"""


@WAYS
@CALLS_KNOWN
@pytest.mark.parametrize("shim", ["none", "0", str(errno.EXDEV), str(errno.EINVAL)])
def test_files_whose_size_is_not_what_is_said_a15(tmp_path, way, shim):
    paths = [path for path in KERNEL_FILES if os.path.exists(path)]
    done = run_script(OF_THE_KERNEL, way, shim, tmp_path, *paths)
    assert (done.code, done.out, done.err) == (0, "", "")


# --- A16: odd paths ------------------------------------------------------------------------------


def odd_path(kind, folder):
    path = os.path.join(folder, "odd")
    if kind == "directory":
        os.mkdir(path)
    elif kind == "dangling":
        os.symlink("nowhere", path)
    elif kind == "loop":
        os.symlink("odd", path)
    elif kind == "long":
        path = os.path.join(folder, "n" * 256)
    return path


ODD = {
    "directory": (IsADirectoryError, errno.EISDIR),
    "missing": (FileNotFoundError, errno.ENOENT),
    "dangling": (FileNotFoundError, errno.ENOENT),
    "loop": (OSError, errno.ELOOP),
    "long": (OSError, errno.ENAMETOOLONG),
}


@WAYS
@EACH_PAYLOAD
@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("kind", ODD)
def test_paths_that_cannot_be_read_a16(tmp_path, file, way, payload, on_error, kind):
    (error, number), path, good = ODD[kind], odd_path(kind, tmp_path), file(b"a\nb\n")
    (tmp_path / "taken").write_bytes(b"before")
    for sources in (path, [path], [good, path, good]):
        with pytest.raises(error) as caught:
            take(way, PAYLOADS[payload], sources, tmp_path, workers=2, on_error=on_error)
        assert isinstance(caught.value, gm.SourceError) and type(caught.value).__name__ == "SourceError"
        assert (caught.value.filename, caught.value.errno) == (path, number)
        assert path in str(caught.value)
    assert (tmp_path / "taken").read_bytes() == b"before"
    stream, got = gm.stream(PAYLOADS[payload], [good, path, good], workers=2, on_error=on_error), []
    with pytest.raises(error):
        got.extend(record for record in stream)
    assert got == [b"a", b"b"] or got == [], "the run stops there; what it gives is in front of that"


@WAYS
@EACH_PAYLOAD
def test_a_link_to_a_file_a16(tmp_path, file, way, payload):
    good = file(b"a\nb\n")
    os.symlink(os.path.basename(good), tmp_path / "link")
    for sources in (tmp_path / "link", [good, str(tmp_path / "link"), file(b"")]):
        found = take(way, PAYLOADS[payload], sources, tmp_path)
        assert found == [b"a", b"b"] * (1 if isinstance(sources, os.PathLike) else 2)
    assert take(way, PAYLOADS[payload], [file(b""), file(b"")], tmp_path) == []


UNREADABLE = """
import os, sys
from case_scripts import take

way, folder = sys.argv[1:]
secret, good = folder + "/secret", folder + "/good"
assert os.geteuid() != 0 and not os.access(secret, os.R_OK)
for payload in ("identity", bytes):
    assert take(way, payload, good, folder) == [b"a", b"b"]
    for sources in (secret, [good, secret, good]):
        try:
            print("read:", take(way, payload, sources, folder))
        except PermissionError as error:
            print(type(error).__name__, error.errno, error.filename)
"""


@WAYS
def test_a_file_that_others_may_not_read_a16(way):
    with tempfile.TemporaryDirectory() as folder:
        for name in ("good", "secret"):
            with open(os.path.join(folder, name), "wb") as file:
                file.write(b"a\nb\n")
        os.chmod(os.path.join(folder, "secret"), 0)
        nobody = {}
        if os.geteuid() == 0:
            nobody = {"user": 65534, "group": 65534, "extra_groups": []}
            os.chmod(os.environ["TMPDIR"], 0o755)
            os.chmod(folder, 0o777)
            tried = run_script("import gristmill, case_scripts", cwd="/", **nobody)
            if tried.code != 0:
                pytest.skip(f"others may not read the package: {tried.err.splitlines()[-1]}")
        done = run_script(UNREADABLE, way, folder, cwd="/", **nobody)
        assert (done.code, done.err) == (0, "")
        assert done.out == f"SourceError {errno.EACCES} {folder}/secret\n" * 4
