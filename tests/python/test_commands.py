"""Commands as payloads: each batch on standard input, what it prints is the output."""

import os
import shutil
import signal
import stat
import sys

import pytest
from processes import await_gone, descendants, workers

import gristmill as gm

RECORDS = [b"record %d" % n for n in range(1000)]
DATA = b"".join(record + b"\n" for record in RECORDS)


@pytest.fixture
def source(file):
    return file(DATA)


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert descendants() == []


@pytest.fixture
def program(tmp_path):
    """program(text): the path of a shell script."""

    def write(text: str) -> str:
        path = tmp_path / "program"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return str(path)

    return write


@pytest.mark.parametrize(
    "options",
    [{}, {"workers": 0}, {"workers": 1, "batch_records": 100}, {"workers": 2, "batch_bytes": 777}, {"isolation": "thread"}],
)
def test_a_filter(source, options):
    results = gm.map(["tr", "a-z", "A-Z"], source, **options)
    assert bytes(results) == DATA.upper() and list(results) == DATA.upper().splitlines()
    report = results.report
    assert (report.read, report.emitted, report.output_records) == (1000, 1000, 1000)


def test_arguments_are_not_for_a_shell(source):
    assert list(gm.map(("printf", "%s\\n", "$HOME; *", ""), source, workers=1, batch_records=1000)) == [b"$HOME; *", b""]
    sed = shutil.which("sed")
    assert list(gm.map([sed, "-n", "s/record 7$/seven/p"], source)) == [b"seven"]


def test_output_of_any_size(source):
    zeros = gm.map(["sh", "-c", "cat >/dev/null; head -c 20000000 /dev/zero; echo"], source, batch_records=1000)
    assert [len(record) for record in zeros] == [20_000_000]
    assert list(gm.map(["true"], source)) == []
    report = gm.run(["true"], source)
    assert (report.read, report.emitted, report.output_records) == (1000, 1000, 0)


def test_a_command_that_does_not_read_its_input(file):
    source = file(b"x" * 9_999_999 + b"\n")
    assert list(gm.map(["echo", "done"], source)) == [b"done"]
    assert list(gm.map(["head", "-c", "1"], source, retries=0, on_error="skip")) in ([b"x"], [])


def test_the_last_delimiter(file):
    assert bytes(gm.map(["cat"], file(b"a\nb"))) == b"a\nb"
    assert bytes(gm.map(["tr", "b", "c"], file(b"a\nb\n"))) == b"a\nc\n"
    with pytest.raises(gm.GristmillError, match="does not end with a whole record"):
        gm.map(["printf", "x"], file(b"a\n"), retries=0)


def test_the_last_record_is_no_call_of_its_own(file):
    for data in (b"a\nb\nc\n", b"a\nb\nc"):
        assert [int(count) for count in gm.map(["grep", "-c", ""], file(data), batch_records=5)] == [3]


@pytest.mark.parametrize(
    "text, said",
    [
        ("exit 3", "ended with exit status 3"),
        ("echo out of luck >&2; exit 1", "ended with exit status 1: out of luck"),
        ("kill -SEGV $$", "ended with SIGSEGV"),
        ("kill -KILL $$", "ended with SIGKILL"),
    ],
)
def test_a_command_that_fails(source, program, text, said):
    path = program(f"if read line && [ \"$line\" = 'record 500' ]; then {text}; fi; echo \"$line\"; cat")
    with pytest.raises(gm.RecordError, match=f"record 500 .*command '{path}' {said}"):
        gm.map([path], source, workers=2, batch_records=100, retries=1)
    results = gm.map([path], source, workers=2, batch_records=100, retries=1, on_error="collect")
    assert list(results) == RECORDS[:500] + RECORDS[501:]
    (error,) = results.errors
    assert (error.index, error.excerpt) == (500, b"record 500") and said in error.reason
    assert results.report.worker_deaths == 0


def test_a_command_that_fails_now_and_then_is_tried_again(tmp_path, source, program):
    path = program(f"cat; mkdir {tmp_path}/first 2>/dev/null && exit 1; exit 0")
    results = gm.map([path], source, workers=1, batch_records=100)
    assert list(results) == RECORDS


def test_a_command_without_end(source, program):
    path = program("if read line && [ \"$line\" = 'record 5' ]; then sleep 1000; fi; echo \"$line\"; cat")
    results = gm.map([path], source, workers=2, batch_records=5, retries=0, timeout=0.3, on_error="collect")
    failed = {error.index for error in results.errors}
    assert failed and failed <= set(range(5, 10))
    assert {error.kind for error in results.errors} == {"PayloadTimeout"}
    assert list(results) == [r for n, r in enumerate(RECORDS) if n not in (failed if len(results) == 999 else range(5, 10))]


def test_processes_that_a_command_leaves_do_not_outlive_the_run(source):
    left = gm.map(["sh", "-c", "cat >/dev/null; sleep 1000 >/dev/null 2>&1 & echo $!"], source, workers=2)
    assert len(left) > 0
    try:
        await_gone([int(pid) for pid in left], seconds=2)
    finally:
        for pid in left:
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass


def test_surroundings_of_a_command(source, monkeypatch):
    monkeypatch.setenv("GRISTMILL_TEST", "in the environment")
    show = ["sh", "-c", "cat >/dev/null; echo $GRISTMILL_TEST; pwd; ls /proc/self/fd; grep SigIgn /proc/self/status"]
    found = list(gm.map(show, source, workers=1, batch_records=1000))
    assert found[0].decode() == "in the environment" and found[1].decode() == os.getcwd()
    descriptors = [int(number) for number in found[2:-1]]
    assert [each for each in descriptors if each > 2] in ([], [3])  # the folder that ls lists
    ignored = int(found[-1].split()[1], 16)
    for number in (signal.SIGPIPE, signal.SIGTERM, signal.SIGCHLD):
        assert not ignored >> (number - 1) & 1, number


def test_programs_that_cannot_be_started(tmp_path, source):
    plain = tmp_path / "plain"
    plain.write_text("no program")
    for arguments, said in [
        (["no-such-program-at-all"], "no-such-program-at-all"),
        ([str(tmp_path / "missing")], "missing"),
        ([str(plain)], "plain"),
        ([str(tmp_path)], os.path.basename(tmp_path)),
        ([""], "''"),
    ]:
        with pytest.raises(gm.GristmillError, match=said) as caught:
            gm.map(arguments, source, workers=1)
        assert not isinstance(caught.value, gm.RecordError)


@pytest.mark.parametrize("command", [["cat", 1], ["cat", None], [b"cat", ["x"]]])
def test_arguments_of_a_wrong_type(source, command):
    with pytest.raises(TypeError, match="a command is a list of str"):
        gm.map(command, source)


@pytest.mark.parametrize("options", [{"filtered": "drop"}, {"retry_exceptions": OSError}, {"config": "x"}])
def test_options_of_other_payloads(source, options):
    with pytest.raises(gm.OptionError, match=f"{[*options][0]} belongs"):
        gm.map(["cat"], source, **options)
    with pytest.raises(gm.OptionError, match="NUL"):
        gm.map(["ca\0t"], source)


def test_commands_and_functions_on_one_engine(source):
    with gm.Engine(workers=2) as engine:
        for _ in range(3):
            assert list(engine.map(["cat"], source)) == RECORDS
            assert list(engine.map(bytes.upper, source)) == [record.upper() for record in RECORDS]
            assert bytes(engine.map("identity", source)) == DATA
            with pytest.raises(gm.RecordError):
                engine.map(["false"], source, retries=0)
        assert len(workers()) == 4
