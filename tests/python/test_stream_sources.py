"""Sources of streams: descriptors, pipes, FIFOs, sockets, file objects, '-', devices, compressed files."""

import asyncio
import bz2
import contextlib
import fcntl
import gzip
import http.server
import io
import itertools
import lzma
import os
import pty
import random
import signal
import socket
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import tty
import urllib.request

import pytest
from expected_records import split
from processes import LIVENESS_SECONDS, children, descendants

import gristmill as gm


def upper(record):
    return record.upper()


PAYLOADS = pytest.mark.parametrize("payload", ["upper", upper, ["tr", "a-z", "A-Z"]], ids=["plugin", "function", "command"])


@contextlib.contextmanager
def writing(descriptor, data, pieces=0):
    """A thread that writes the data, in pieces of some size, and closes the descriptor, or the FIFO."""

    def write():
        view, to = memoryview(data), descriptor if isinstance(descriptor, int) else os.open(descriptor, os.O_WRONLY)
        while view:
            view = view[os.write(to, view[: pieces or len(view)]) :]
        os.close(to)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    yield
    writer.join(LIVENESS_SECONDS)
    assert not writer.is_alive()


@pytest.fixture
def pipe():
    """A reading end, closed at the end, and a writing end, which the test closes."""
    reading, writing_end = os.pipe()
    yield reading, writing_end
    os.close(reading)


# What is read once


@PAYLOADS
def test_a_pipe_equals_a_file(pipe, lines, payload):
    with writing(pipe[1], lines):
        found = list(gm.stream(payload, pipe[0], workers=2))
    assert found == split(lines.upper())


@pytest.mark.parametrize("framing", [{}, {"delimiter": "ab"}, {"delimiter": "$$"}, {"framing": 7}, {"framing": "u32le"}])
@pytest.mark.parametrize("size", [{}, {"batch_bytes": 300}, {"batch_records": 5}])
def test_any_framing_in_random_pieces(file, framing, size):
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    print("seed", seed)
    records = [bytes(rng.choices(b"ab$\n", k=rng.choice((0, 1, 7, 50)))) for _ in range(400)]
    if framing.get("framing") == "u32le":
        data = b"".join(struct.pack("<I", len(record)) + record for record in records)
    else:
        data = framing.get("delimiter", "\n").encode().join(records)
    if framing.get("framing") == 7:
        data = data[: len(data) // 7 * 7]
    reading, writing_end = os.pipe()
    with writing(writing_end, data, rng.randrange(1, 200)):
        found = list(gm.stream("identity", reading, workers=2, **framing, **size))
    os.close(reading)
    assert found == list(gm.map("identity", file(data), workers=0, **framing))


def test_a_fifo_by_its_path(tmp_path, lines):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    stream = gm.stream(upper, path)  # nobody writes yet, and the call returns
    with writing(path, lines[:100_000]):
        assert list(stream) == split(lines[:100_000].upper())


@pytest.mark.parametrize("given", [lambda ours: ours, lambda ours: ours.fileno()], ids=["object", "descriptor"])
def test_sockets(lines, given):
    ours, theirs = socket.socketpair()
    with ours, writing(theirs.detach(), lines):
        assert list(gm.stream("upper", given(ours))) == split(lines.upper())
        assert ours.getblocking()


def test_a_socket_reset_is_never_an_end():
    listening = socket.create_server(("127.0.0.1", 0))
    sending = socket.create_connection(listening.getsockname())
    receiving, _ = listening.accept()
    sending.sendall(b"one\ntwo\nhal")
    stream = gm.stream(upper, receiving)
    assert [next(stream), next(stream)] == [b"ONE", b"TWO"]
    sending.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sending.close()
    with pytest.raises(gm.SourceError, match="byte 11.*reset") as caught:
        next(stream)
    assert caught.value.errno == 104 and stream.closed
    receiving.close(), listening.close()


def test_the_output_of_a_process_after_a_readline(lines):
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        with writing(os.dup(process.stdin.fileno()), lines[:300_000]):
            process.stdin.close()
            assert process.stdout.readline() == split(lines)[0] + b"\n"
            assert list(gm.stream(upper, process.stdout)) == split(lines[:300_000].upper())[1:]


def test_a_process_that_answers_only_later():
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        late = threading.Timer(1, process.stdin.close)  # so that this test ends in any case
        late.start()
        began = time.monotonic()
        stream = gm.stream(upper, process.stdout)
        assert time.monotonic() - began < 0.5
        process.stdin.write(b"question\n")
        process.stdin.flush()
        assert next(stream) == b"QUESTION"
        late.join()
        assert list(stream) == []


def test_a_killed_writer_ends_the_pipe_and_its_half_record_is_the_last():
    script = "import os, time; os.write(1, b'one\\ntwo\\nhal'); time.sleep(100)"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        stream = gm.stream(upper, process.stdout)
        assert [next(stream), next(stream)] == [b"ONE", b"TWO"]
        process.kill()
        assert list(stream) == [b"HAL"]


@pytest.mark.parametrize("start", ["fork", "fresh"])
@PAYLOADS
def test_no_worker_keeps_the_writing_end(pipe, payload, start):
    os.set_inheritable(pipe[1], True)
    options = {"start": start} if callable(payload) else {"isolation": "process"}
    stream = gm.stream(payload, pipe[0], **options)
    os.write(pipe[1], b"a\n")
    assert next(stream) == b"A"
    assert pipe_holders(pipe[1], descendants()) == []
    os.close(pipe[1])
    began = time.monotonic()
    assert list(stream) == []
    assert time.monotonic() - began < 2


def pipe_holders(descriptor, pids):
    """Who of them has a descriptor of this pipe's."""
    ours, found = os.readlink(f"/proc/self/fd/{descriptor}"), []
    for pid in pids:
        with contextlib.suppress(FileNotFoundError):
            for each in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(FileNotFoundError):
                    if os.readlink(f"/proc/{pid}/fd/{each}") == ours:
                        found.append(pid)
    return found


@pytest.mark.parametrize("flags", [0, os.O_NONBLOCK])
def test_flags_of_the_users_descriptors_stay(pipe, flags):
    ours, theirs = socket.socketpair()
    for reading, writing_end in ((pipe[0], pipe[1]), (ours.fileno(), theirs.detach())):
        fcntl.fcntl(reading, fcntl.F_SETFL, fcntl.fcntl(reading, fcntl.F_GETFL) & ~os.O_NONBLOCK | flags)
        before = fcntl.fcntl(reading, fcntl.F_GETFL)
        stream = gm.stream(upper, reading)
        os.write(writing_end, b"a\nb")
        assert next(stream) == b"A"
        assert fcntl.fcntl(reading, fcntl.F_GETFL) == before
        os.close(writing_end)
        assert list(stream) == [b"B"]
        assert fcntl.fcntl(reading, fcntl.F_GETFL) == before


@pytest.mark.parametrize(
    "options",
    [{}, {"workers": 0}, {"order": "none"}, {"delimiter": "$$"}, {"batch_records": 1}, {"batch_bytes": "1MiB"}, {"framing": 4}],
)
@pytest.mark.parametrize("payload", ["upper", upper], ids=["plugin", "function"])
def test_a_trickle_comes_at_once(pipe, payload, options):
    record = b"abcd" + (b"" if "framing" in options else options.get("delimiter", "\n").encode())
    with gm.stream(payload, pipe[0], **options) as stream:
        delays = []
        for _ in range(5):
            began = time.monotonic()
            os.write(pipe[1], record)
            assert next(stream) == b"ABCD"
            delays.append(time.monotonic() - began)
        assert sorted(delays)[1] < 0.1  # others may have the machine for a while
    os.close(pipe[1])


@pytest.mark.parametrize(
    "framing, data, wanted, match",
    [
        ("u32le", b"\1\0\0\0a\5\0\0\0bc", [b"a"], "frame of 5 bytes.*byte 5"),
        (3, b"abcdefg", [b"abc", b"def"], "1 of 3 bytes.*byte 6"),
    ],
)
def test_half_a_frame_at_the_end_is_an_error(pipe, framing, data, wanted, match):
    os.write(pipe[1], data)
    os.close(pipe[1])
    stream = gm.stream("identity", pipe[0], framing=framing)
    assert [next(stream) for _ in wanted] == wanted
    with pytest.raises(gm.SourceError, match=match):
        next(stream)


def test_half_a_record_waits_for_its_other_half(pipe):
    with gm.stream(upper, pipe[0]) as stream:
        os.write(pipe[1], b"a\nb")
        assert next(stream) == b"A"
        time.sleep(0.02)
        os.write(pipe[1], b"c\n")
        assert next(stream) == b"BC"
    os.close(pipe[1])


def test_a_terminal():
    controlling, terminal = pty.openpty()
    tty.setraw(terminal)
    before = fcntl.fcntl(terminal, fcntl.F_GETFL)
    with gm.stream(upper, terminal) as stream:
        os.write(controlling, b"typed\n")
        assert next(stream) == b"TYPED"
    assert fcntl.fcntl(terminal, fcntl.F_GETFL) == before
    os.close(controlling), os.close(terminal)


# Descriptors and objects of files


def test_a_file_object_is_read_from_where_it_stands(file, lines):
    records = split(lines)
    with open(file(lines), "rb") as source:
        for _ in range(3):
            source.readline()
        stands, deep = source.tell(), os.lseek(source.fileno(), 0, os.SEEK_CUR)
        for payload in ("identity", lambda record: record):
            assert list(gm.stream(payload, source)) == records[3:]
        assert (source.tell(), os.lseek(source.fileno(), 0, os.SEEK_CUR)) == (stands, deep)
        assert source.readline() == records[3] + b"\n"


@pytest.mark.parametrize("options", [{}, {"delimiter": "$$"}, {"batch_records": 3}])
def test_a_descriptor_of_a_file_at_an_offset(file, options):
    data = b"head$$0123456789$$tail" * 100
    descriptor = os.open(file(data), os.O_RDONLY)
    os.lseek(descriptor, 7, os.SEEK_SET)
    wanted = split(data[7:], options.get("delimiter", "\n").encode())
    assert list(gm.stream("identity", descriptor, **options)) == wanted
    assert os.lseek(descriptor, 0, os.SEEK_CUR) == 7
    os.lseek(descriptor, 0, os.SEEK_END)
    assert list(gm.stream("identity", descriptor)) == []
    os.close(descriptor)


@pytest.mark.parametrize("payload", ["identity", lambda record: record], ids=["plugin", "function"])
def test_a_source_may_be_closed_once_the_stream_is_made(file, payload):
    path, decoy, wanted = file(b"right\n" * 100), file(b"wrong\n"), [b"right"] * 100
    stream = gm.stream(payload, open(path, "rb"))  # nobody else holds it
    with open(decoy, "rb"):
        assert list(itertools.islice(stream, 200)) == wanted
    descriptor = os.open(path, os.O_RDONLY)
    stream = gm.stream(payload, descriptor)
    os.close(descriptor)
    with open(decoy, "rb"):
        assert list(stream) == wanted


def test_a_source_of_an_asynchronous_stream_may_be_closed(file):
    path, decoy = file(b"right\n" * 3), file(b"wrong\n")

    async def main():
        stream = gm.astream("identity", open(path, "rb"))
        with open(decoy, "rb"):
            return [record async for record in stream]

    assert asyncio.run(main()) == [b"right"] * 3


def test_devices_and_procfs():
    assert list(gm.stream("identity", "/dev/null")) == []
    wanted = split(open("/proc/self/auxv", "rb").read(), b"\0")
    with open("/proc/self/auxv", "rb") as object:
        for source in ("/proc/self/auxv", object):
            assert list(gm.stream("identity", source, delimiter=b"\0", workers=0)) == wanted
    with open("/dev/zero", "rb") as zeros, gm.stream("identity", zeros, framing=5) as stream:
        assert list(itertools.islice(stream, 1000)) == [bytes(5)] * 1000


def test_refusals(file, tmp_path, pipe):
    path = file(b"a\n")
    with open(path, "rb") as closed:
        pass
    writable, folder = os.open(path, os.O_WRONLY), os.open(tmp_path, os.O_RDONLY)
    with open(path) as text, socket.socket() as unconnected:
        for source, error, match in (
            (text, gm.ArgumentTypeError, "text mode"),
            (closed, gm.ArgumentTypeError, "closed"),
            (writable, gm.SourceError, "writing only"),
            (pipe[1], gm.SourceError, "writing only"),
            (folder, gm.SourceError, "directory"),
            (tmp_path, gm.SourceError, "directory"),
            (9999, gm.SourceError, "Bad file descriptor"),
            (-1, gm.ArgumentTypeError, "descriptor"),
            (io.BytesIO(b"a\n"), gm.ArgumentTypeError, "gm.items"),
            (unconnected, gm.SourceError, "not connected"),
        ):
            with pytest.raises(error, match=match):
                list(gm.stream("identity", source))
    for descriptor in (writable, folder, pipe[1]):
        os.close(descriptor)


def test_objects_whose_bytes_are_not_those_of_their_descriptor(file, lines):
    """Right, or refused; never silently other records."""
    path, data = file(b""), lines[:100_000]
    for module in (gzip, bz2, lzma):
        for skipped in (0, 1):
            with module.open(path, "wb") as out:
                out.write(data)
            with module.open(path, "rb") as source:
                for _ in range(skipped):
                    source.readline()
                with contextlib.suppress(gm.ArgumentTypeError):
                    assert list(gm.stream("identity", source)) == split(data)[skipped:]
    with tarfile.open(path, "w") as archive:
        archive.add(file(data), "member")
    with tarfile.open(path) as archive, contextlib.suppress(gm.ArgumentTypeError):
        assert list(gm.stream("identity", archive.extractfile("member"))) == split(data)


def test_the_answer_of_a_web_server(lines):
    """Right, or refused; never silently other records."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(lines[:50_000])

        log_message = lambda *_: None  # noqa: E731

    with http.server.HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/") as answer:
            with contextlib.suppress(gm.ArgumentTypeError):
                assert list(gm.stream("identity", answer)) == split(lines[:50_000])


def test_what_a_temporary_file_holds():
    with tempfile.TemporaryFile() as one, tempfile.NamedTemporaryFile() as two:
        for source in (one, two):
            source.write(b"a\nb\nc\n")
            source.seek(2)
            assert list(gm.stream("identity", source)) == [b"b", b"c"]


# Standard input

STDIN = """
import sys
import gristmill as gm
if sys.argv[1] == "readline": sys.stdin.buffer.readline()
try:
    for record in gm.stream(sys.argv[2] if sys.argv[2] != "function" else bytes.upper, "-"):
        print(record.decode())
except gm.SourceError as error:
    print("refused", error.errno)
"""


@pytest.mark.parametrize("payload", ["upper", "function"])
@pytest.mark.parametrize(
    "shell, how, wanted",
    [
        ("printf 'a\\nb' | {}", "", "A\nB\n"),
        ("printf 'a\\nb' | {}", "readline", "B\n"),
        ("{} < $FILE", "", "C\nD\n"),
        ("(read x; {}) < $FILE", "", "D\n"),
        ("{} < /dev/null", "", ""),
        ("{} <&-", "", "refused 9\n"),
        ("printf 'z\\n' | gzip | {}", "", "Z\n"),
    ],
)
def test_standard_input(file, payload, shell, how, wanted):
    command = shell.format(f'"{sys.executable}" -c "$SCRIPT" "{how}" {payload}')
    environment = {**os.environ, "SCRIPT": STDIN, "FILE": file(b"c\nd\n"), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=LIVENESS_SECONDS)
    assert (done.stdout, done.stderr, done.returncode) == (wanted, "", 0)


# Compressed


def by_command(*command):
    return lambda data: subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout


FORMATS = {
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "zstd": by_command("zstd", "-qc"),
    "lz4": by_command("lz4", "-qc"),
}


@pytest.fixture(params=FORMATS)
def compress(request):
    return FORMATS[request.param]


def test_compressed_files(file, lines, compress):
    half = len(lines) // 2
    members = compress(lines[:half]) + compress(b"") + compress(lines[half:])
    for source in (file(compress(lines)), file(members), open(file(members), "rb")):
        assert list(gm.stream(upper, source)) == split(lines.upper())
    assert list(gm.stream("identity", file(compress(b"")))) == []
    assert list(gm.stream("identity", file(compress(b"one, no end")))) == [b"one, no end"]


def test_a_compressed_pipe_byte_by_byte(pipe, compress):
    with writing(pipe[1], compress(b"a\nbc\n" * 5), 1):
        assert list(gm.stream("upper", pipe[0])) == [b"A", b"BC"] * 5


def test_a_truncated_file_fails_after_what_came_before(file, lines, compress):
    whole = compress(lines)
    got, stream = [], gm.stream("identity", file(whole[: len(whole) * 2 // 3]))
    with pytest.raises(gm.SourceError, match="byte [0-9]+"):
        for record in stream:
            got.append(record)
    assert len(got) < 20_000 and got == split(lines)[: len(got)]
    assert len(got) > 5000 or compress is not FORMATS["gzip"]


def test_a_mixed_list(tmp_path, file, compress):
    os.mkfifo(tmp_path / "fifo")
    paths = [file(b"a\nb"), file(compress(b"c\n")), tmp_path / "fifo", file(b""), file(compress(b"d")), file(b"e")]
    stream = gm.stream(upper, paths, workers=2)
    with writing(tmp_path / "fifo", b"in the fifo"):
        assert list(stream) == [b"A", b"B", b"C", b"IN THE FIFO", b"D", b"E"]
    assert stream.report.sources == 6


MANY = """
import glob, sys
import gristmill as gm
for payload, options in (("upper", {"isolation": "thread"}), (bytes.upper, {"workers": 0})):
    found = list(gm.stream(payload, sorted(glob.glob(sys.argv[1] + "/*")), **options))
    assert found == [b"R%04d" % n for n in range(2000)], found[:10]
"""


def test_many_small_files_with_few_descriptors(tmp_path):
    packed = gzip.compress(b"r1000\n")
    for n in range(2000):
        (tmp_path / f"{n:04}").write_bytes(b"r%04d\n" % n if n != 1000 else packed)
    for limit, script in ((64, MANY), (128, MANY.replace(', {"workers": 0}', ", {}"))):
        command = ["bash", "-c", f'ulimit -n {limit}; exec "$0" -c "$1" "$2"', sys.executable, script, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIVENESS_SECONDS)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("sent", [(signal.SIGSTOP, signal.SIGCONT), (signal.SIGKILL,)])
def test_workers_that_are_stopped_or_killed_lose_nothing_of_a_pipe(pipe, lines, sent):
    with writing(pipe[1], lines, 50_000):
        stream = gm.stream(upper, pipe[0], workers=2, batch_records=100)
        got = [next(stream)]
        for each in sent:
            for pid in [worker for nursery in children() for worker in children(nursery)]:
                os.kill(pid, each)
            time.sleep(0.05)
        assert got + list(stream) == split(lines.upper())
