"""The command line: what it prints where, and its exit codes."""

import hashlib
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from expected_records import picky

import gristmill as gm

FAILING = b"a\n!b\n#c\n!d\n"


def gristmill(*arguments, **options):
    """Runs the installed command; stdout and stderr as bytes."""
    command = [str(Path(sys.executable).parent / "gristmill"), *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=50, **options)


def test_map_to_standard_output(file, lines):
    done = gristmill("map", "identity", file(lines))
    assert (done.returncode, done.stdout, done.stderr) == (0, lines, b"")


def test_map_to_a_file_with_a_report(tmp_path, file, lines, plugin):
    out = tmp_path / "out"
    done = gristmill("map", plugin("picky"), file(lines), file(lines), "-o", out, "--config", "> ", "--report")
    assert (done.returncode, done.stdout) == (0, b"")
    assert out.read_bytes() == b"".join(record + b"\n" for record in picky(lines, b"> ") * 2)
    assert b"40,000 read = 40,000 emitted" in done.stderr


@pytest.mark.parametrize("named", [[], ["-"]])
def test_map_is_a_filter(named, lines):
    done = gristmill("map", "upper", *named, input=lines)
    assert (done.returncode, done.stdout, done.stderr) == (0, lines.upper(), b"")
    done = gristmill("map", *named, "--", "tr", "a-z", "A-Z", input=lines)
    assert (done.returncode, done.stdout, done.stderr) == (0, lines.upper(), b"")


def test_map_does_not_wait_for_a_terminal():
    ours, theirs = pty.openpty()
    done = gristmill("map", "upper", stdin=theirs)
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 2 and b"standard input" in done.stderr


def test_map_appends_to_a_shells_redirection(tmp_path, file):
    with open(tmp_path / "out", "ab") as out:
        out.write(b"head\n")
        out.flush()
        subprocess.run([sys.executable, "-m", "gristmill", "map", "upper", file(b"a\nb")], stdout=out, check=True)
    assert (tmp_path / "out").read_bytes() == b"head\nA\nB"


def test_map_takes_every_option(tmp_path, file):
    done = gristmill(
        "map", "identity", file(b"a\x00|bb\x00|"), "--workers", 1, "--nodes", "@2", "--no-smt", "--memory", "64MiB",
        "--order", "none", "--batch-records", 1, "--delimiter", r"\x00|", "--max-record", "1KiB",
        "--on-error", "collect", "--errors-to", tmp_path / "dead", "--max-errors", 3, "-o", "-",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"a\x00|bb\x00|", b"")
    assert (tmp_path / "dead").read_bytes() == b""
    assert gristmill("map", "identity", file(b"aabb"), "--framing", 2, "--batch-bytes", 2).stdout == b"aabb"
    assert gristmill("map", "identity", file(b"\1\0\0\0x"), "--framing", "u32le").stdout == b"\1\0\0\0x"


@pytest.mark.parametrize(
    "text, data",
    [
        (r"\n", b"\n"),
        (r"\t\r", b"\t\r"),
        (r"\0", b"\0"),
        (r"\\", b"\\"),
        (r"\x1F", b"\x1f"),
        ("é;", "é;".encode()),
    ],
)
def test_delimiters_with_escapes(file, text, data):
    done = gristmill("map", "count", file(b"x" + data + b"y" + data), "--delimiter", text, "--batch-records", 9)
    assert done.stdout == b"2" + data


def test_exit_code_for_a_failing_record(file, plugin):
    done = gristmill("map", plugin("picky"), file(FAILING))
    assert (done.returncode, done.stdout) == (2, b"a\n")
    assert done.stderr.startswith(b"gristmill: record 1 of ") and done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("policy, lines_of_errors", [("skip", 0), ("collect", 2)])
def test_exit_code_for_a_run_with_failed_records(file, plugin, policy, lines_of_errors):
    done = gristmill("map", plugin("picky"), file(FAILING), "--on-error", policy)
    assert (done.returncode, done.stdout) == (3, b"a\n")
    assert done.stderr.count(b"no shouting\n") == lines_of_errors
    assert done.stderr.endswith(b"gristmill: 2 of 4 records failed\n")


def test_collected_errors_are_not_listed_without_end(file, plugin):
    done = gristmill("map", plugin("picky"), file(b"!x\n" * 1000), "--on-error", "collect")
    assert done.stderr.count(b"\n") == 12 and b"and 990 more" in done.stderr


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["map", "identity", "missing"], b"gristmill: cannot open 'missing': No such file or directory\n"),
        (["map", "nothing", "x"], b"gristmill: there is no bundled plugin 'nothing'"),
        (["map", "identity", "x", "--workers", "-1"], b"gristmill: workers=-1 is out of range"),
        (["map", "identity", "x", "--on-error", "x"], b"usage: "),
        (["map", "identity", "x", "--delimiter", r"\q"], b"usage: "),
        (["map", "identity", "x", "--unknown"], b"usage: "),
        (["map"], b"gristmill: map needs a payload"),
        (["gen", "light", "--records", "-1", "-o", "x"], b"gristmill: records=-1 is out of range"),
        (["gen", "light", "--records", "1", "-o", "no/x"], b"gristmill: "),
        (["gen", "dark", "--records", "1", "-o", "x"], b"usage: "),
        (["topo", "--nodes", "x"], b"gristmill: nodes='x' is not understood"),
        (["studies"], b"usage: "),
        ([], b"usage: "),
    ],
)
def test_exit_code_for_errors(tmp_path, arguments, said):
    done = gristmill(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(said)
    assert done.stderr.startswith(b"usage: ") or done.stderr.count(b"\n") == 1
    assert os.listdir(tmp_path) == []


def test_map_with_a_command(tmp_path, file):
    first, second = file(b"a\nb\n"), file(b"c")
    done = gristmill("map", first, second, "--", "tr", "a-z", "A-Z")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"A\nB\nC", b"")
    done = gristmill("map", "--batch-records", 1, "-o", tmp_path / "out", first, "--", "sh", "-c", "tr a b; echo --")
    assert (done.returncode, (tmp_path / "out").read_bytes()) == (0, b"b\n--\nb\n--\n")
    done = gristmill("map", first, "--", "sh", "-c", "echo out of luck >&2; exit 3")
    assert done.returncode == 2 and b"record 0 of" in done.stderr and b"out of luck" in done.stderr


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["map", "file", "--"], b"gristmill: a command is missing behind --"),
        (["map", "--config", "x", "file", "--", "cat"], b"gristmill: --config belongs to plugins"),
        (["map", "--filtered", "drop", "file", "--", "cat"], b"gristmill: filtered belongs to Python functions"),
        (["map", "file", "--", "no-such-program"], b"gristmill: "),
        (["map", "no.such.module:function", "file"], b"gristmill: "),
        (["map", "--timeout", "0", "identity", "file"], b"gristmill: timeout=0.0 is out of range"),
        (["map", "--retries", "-1", "identity", "file"], b"gristmill: retries=-1 is out of range"),
        (["map", "--isolation", "fiber", "identity", "file"], b"usage: "),
        (["map", "--start", "soon", "identity", "file"], b"usage: "),
    ],
)
def test_exit_code_for_errors_of_payloads(tmp_path, arguments, said):
    (tmp_path / "file").write_bytes(b"a\n")
    done = gristmill(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(said)
    assert done.stderr.startswith(b"usage: ") or done.stderr.count(b"\n") == 1


MODULE = """
import os, time

def function(record):
    if record == b"die": os.abort()
    if record == b"fail": raise ValueError("no")
    if record == b"wait": time.sleep(1000)
    return None if record == b"none" else record.upper()
"""


@pytest.fixture
def module(tmp_path):
    (tmp_path / "mine.py").write_text(MODULE)
    return tmp_path


def test_map_with_a_function_of_the_working_directory(module, file):
    source = file(b"a\nnone\nb")
    assert gristmill("map", "mine:function", source, cwd=module).stdout == b"A\nB"
    done = gristmill("map", "mine:function", source, "--filtered", "blank", "--start", "fresh", cwd=module)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"A\n\nB", b"")


def test_map_takes_every_option_of_worker_processes(module, file):
    source = file(b"a\ndie\nfail\nwait\nb\n")
    done = gristmill(
        "map", "mine:function", source, "--timeout", "0.5", "--retries", 0, "--batches-per-worker", 1, "--start", "fork",
        "--isolation", "process", "--on-error", "collect", "--report", "--no-progress", cwd=module,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (3, b"A\nB\n")
    for said in (b"SIGABRT", b"ValueError: no", b"no progress for longer than timeout", b"3 of 5 records failed"):
        assert said in done.stderr
    done = gristmill("map", "upper", source, "--isolation", "thread", "--progress")
    assert done.stdout == b"A\nDIE\nFAIL\nWAIT\nB\n" and b"5 records" in done.stderr


def test_exit_code_for_ctrl_c_in_a_function(module, file, tmp_path):
    command = [sys.executable, "-m", "gristmill", "map", "mine:function", file(b"wait\n" * 9), "--progress"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, cwd=module) as child:
        assert child.stderr.read(1)  # it has begun
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=20)
    assert (child.returncode, out) == (130, b"") and err.endswith(b"gristmill: interrupted\n") and b"Traceback" not in err


def test_exit_code_for_ctrl_c(tmp_path, file, plugin):
    command = [sys.executable, "-m", "gristmill", "map", plugin("slow"), file(b"a\n" * 10_000), "--config", "20"]
    command += ["--batch-records", "1", "-o", str(tmp_path / "out")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        time.sleep(0.7)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=20)
    assert (child.returncode, out, err) == (130, b"", b"gristmill: interrupted\n")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("arguments", [["map", "identity"], ["topo"]])
def test_exit_code_for_a_closed_pipe(file, arguments):
    if arguments[0] == "map":
        arguments = [*arguments, file(b"x" * 99 + b"\n" * 100_000)]
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "gristmill", *arguments]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, timeout=50)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_standard_output_closed(file):
    done = gristmill("map", "identity", file(b"a\n"), preexec_fn=lambda: os.close(1))
    assert (done.returncode, done.stderr) == (2, b"gristmill: standard output is closed\n")


def test_a_full_standard_output(file):
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "gristmill", "map", "identity", file(b"a\n")]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=50)
    assert done.returncode == 2 and b"No space left" in done.stderr


@pytest.mark.parametrize(
    "name, digest",
    [
        ("light", "9f6edb49c6ad7f2a04474e7f36b58723839c67192df8c72e59aa12f86112694d"),
        ("medium", "cdd6f5daa72f4af53c7d9432b0e959370c4ac360b21349dc40fde72f9ebc2f16"),
        ("heavy", "0e294e6db7acc18ebee1c02e94212b807015d8d20b3ca5cf2ef94bd9da410c99"),
    ],
)
def test_gen_reproduces_the_published_records(tmp_path, name, digest):
    done = gristmill("gen", name, "--records", 50_000, "-o", tmp_path / "out", "--stream", "reference")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert hashlib.sha256((tmp_path / "out").read_bytes()).hexdigest() == digest


def test_gen_with_seed_and_spoilt_records(tmp_path):
    out = tmp_path / "out"
    assert gristmill("gen", "light", "--records", 100, "--seed", 1, "--malformed", 100, "-o", out).returncode == 0
    assert out.read_bytes().count(b"\n") == 100
    first = out.read_bytes()
    gristmill("gen", "light", "--records", 100, "--seed", 2, "--malformed", 100, "-o", out)
    assert out.read_bytes() != first


def test_gen_shows_progress_on_a_terminal_only(tmp_path):
    terminal, ours = pty.openpty()
    command = [sys.executable, "-m", "gristmill", "gen", "heavy", "--records", "200000", "--stream", "reference", "-o", str(tmp_path / "out")]
    subprocess.run(command, stderr=ours, check=True, timeout=50)
    os.close(ours)
    shown = os.read(terminal, 65536)
    os.close(terminal)
    assert b" records, " in shown and shown.endswith(b"\r\x1b[K")


def test_version_and_help():
    assert gristmill("--version").stdout.decode() == f"gristmill {gm.__version__}\n"
    shown = gristmill("--help")
    assert shown.returncode == 0 and b"exit codes" in shown.stdout
    for command in ("map", "gen", "topo"):
        assert command.encode() in shown.stdout
        assert gristmill(command, "--help").returncode == 0
