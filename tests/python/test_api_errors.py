"""Errors: their classes, what they carry, and that they travel."""

import errno
import json
import os
import pickle
from base64 import b64decode

import pytest
from expected_records import picky

import gristmill as gm

FAILING = b"good\n#left out\n!first bad\ngood too\n!second bad\nlast\n"


def travelled(error):
    return pickle.loads(pickle.dumps(error))


def test_a_failing_record_is_named(file, plugin):
    source = file(FAILING)
    with pytest.raises(gm.RecordError) as caught:
        gm.map(plugin("picky"), source, batch_records=1, workers=2)
    error = caught.value
    assert (error.source, error.offset, error.index) == (source, 15, 2)
    assert (error.reason, error.excerpt, error.kind) == ("no shouting", b"!first bad", "RecordError")
    for part in (source, "2", "15", "no shouting"):
        assert part in str(error)


def test_the_lowest_failing_record_is_raised_whatever_finishes_first(file, plugin):
    data = b"x\n" * 5000 + b"!a\n" + b"!b\n" * 20_000
    for _ in range(10):
        with pytest.raises(gm.RecordError) as caught:
            gm.map(plugin("picky"), file(data), batch_bytes=100, workers=4)
        assert (caught.value.index, caught.value.excerpt) == (5000, b"!a")


def test_what_stands_before_the_failing_record_is_delivered(tmp_path, file, plugin):
    with open(tmp_path / "out", "wb") as out, pytest.raises(gm.RecordError):
        gm.run(plugin("picky"), file(FAILING), output=out)
    assert (tmp_path / "out").read_bytes() == b"good\n"


def test_skip_goes_on(file, plugin):
    results = gm.map(plugin("picky"), file(FAILING), on_error="skip")
    assert list(results) == picky(FAILING)
    assert (results.report.failed, results.errors) == (2, ())


@pytest.mark.parametrize("batch", [{}, {"batch_records": 1}])
def test_collect_describes_all(file, plugin, batch):
    source = file(FAILING)
    report = gm.run(plugin("picky"), source, on_error="collect", workers=2, **batch)
    assert [(e.offset, e.index, e.excerpt) for e in report.errors] == [
        (15, 2, b"!first bad"),
        (35, 4, b"!second bad"),
    ]
    assert all(isinstance(e, gm.RecordError) and e.source == source for e in report.errors)
    with pytest.raises(gm.RecordError) as raised:
        gm.map(plugin("picky"), source)
    assert str(raised.value) == str(report.errors[0])


def test_an_excerpt_is_short(file, plugin):
    (error,) = gm.map(plugin("picky"), file(b"!" + b"x" * 9999 + b"\n"), on_error="collect").errors
    assert error.excerpt == b"!" + b"x" * 255


def test_dead_letters_keep_the_whole_record(tmp_path, file, plugin):
    bad = b"!" + bytes(range(128, 256)) * 50
    source = file(b"ok\n" + bad + b"\n")
    gm.run(plugin("picky"), source, on_error="skip", errors_to=tmp_path / "dead")
    (line,) = (tmp_path / "dead").read_text().splitlines()
    letter = json.loads(line)
    assert b64decode(letter["record_b64"]) == bad
    assert (letter["source"], letter["offset"], letter["index"]) == (source, 3, 1)


def test_too_many_errors(file, plugin):
    source = file(FAILING)
    assert gm.run(plugin("picky"), source, on_error="skip", max_errors=2).failed == 2
    for limit in (0, 1):
        with pytest.raises(gm.TooManyErrors, match=f"max_errors={limit}"):
            gm.run(plugin("picky"), source, on_error="skip", max_errors=limit)


def test_a_record_longer_than_max_record_fails_alone(file):
    results = gm.map("identity", file(b"short\n" + b"x" * 5000 + b"\nshort\n"), max_record=100, on_error="collect")
    assert list(results) == [b"short", b"short"]
    assert (results.errors[0].offset, results.errors[0].index) == (6, 1)


def test_a_file_that_we_may_not_read(file, unprivileged):
    path = file(b"a\n")
    os.chmod(path, 0)
    with unprivileged(), pytest.raises(PermissionError) as caught:
        gm.map("identity", path, isolation="thread")
    assert isinstance(caught.value, gm.SourceError)
    assert (caught.value.filename, caught.value.errno) == (path, errno.EACCES)


@pytest.mark.parametrize("in_list", [False, True])
def test_missing_files_and_folders(tmp_path, in_list):
    for path, number, builtin in [
        (tmp_path / "missing", errno.ENOENT, FileNotFoundError),
        (tmp_path, errno.EISDIR, IsADirectoryError),
        ("", errno.ENOENT, FileNotFoundError),
    ]:
        with pytest.raises(builtin) as caught:
            gm.map("identity", [path] if in_list else path)
        error = caught.value
        assert isinstance(error, gm.SourceError) and isinstance(error, OSError)
        assert error.errno == number and error.strerror == os.strerror(number)
        assert str(path) in str(error)


def test_a_pattern_without_match(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file matches .*\*\.csv") as caught:
        gm.map("identity", str(tmp_path / "*.csv"))
    assert isinstance(caught.value, gm.SourceError)


def test_framing_errors_say_where(file):
    with pytest.raises(gm.SourceError, match="byte 20") as caught:
        gm.map("identity", file(bytes(25)), framing=10)
    assert caught.value.filename and caught.value.errno is None
    with pytest.raises(gm.SourceError, match="byte 5"):
        gm.map("identity", file(b"\1\0\0\0a\xff\xff\xff\x0f"), framing="u32le")


def test_a_missing_source_comes_after_what_was_before_it(tmp_path, file):
    with open(tmp_path / "out", "wb") as out, pytest.raises(gm.SourceError):
        gm.run("identity", [file(b"first\n"), "missing"], output=out)
    assert (tmp_path / "out").read_bytes() == b"first\n"


@pytest.mark.parametrize(
    "source, said",
    [(b"x", "gm.items"), (bytearray(b"x"), "gm.items"), (None, "NoneType"), (True, "bool"), (1.5, "float")],
)
def test_sources_of_a_wrong_type(source, said):
    with pytest.raises(TypeError, match=said):
        gm.map("identity", source)


def test_text_files_are_refused_and_binary_ones_not_there_yet(file):
    path = file(b"a\n")
    with open(path) as text, pytest.raises(TypeError, match="text mode"):
        gm.map("identity", text)


@pytest.mark.parametrize("source", [iter([b"a"]), [b"a"], ["a", 1], gm.items(["a"]), {"a": 1}])
def test_items_are_for_functions(source):
    with pytest.raises(gm.UnsupportedError, match="save the records to a file"):
        gm.map("identity", source)


def test_errors_survive_pickling(tmp_path, file, plugin):
    calls = [
        lambda: gm.map(plugin("picky"), file(FAILING)),
        lambda: gm.map("identity", tmp_path / "missing"),
        lambda: gm.map(str(tmp_path / "missing.so"), file(b"a")),
        lambda: gm.map("identity", "x", workers=-1),
        lambda: gm.run("identity", file(b"a"), output=tmp_path),
    ]
    for call in calls:
        with pytest.raises(gm.GristmillError) as caught:
            call()
        error, copy = caught.value, travelled(caught.value)
        assert type(copy) is type(error) and str(copy) == str(error)
        assert copy.__dict__ == error.__dict__
        assert getattr(copy, "errno", 0) == getattr(error, "errno", 0)


def test_the_family():
    for name in (
        "RecordError WorkerCrashed PayloadTimeout PluginError AccountingError SourceError OptionError"
        " OutputError TooManyErrors UnsupportedError OutOfMemoryError KernelError"
    ).split():
        assert issubclass(getattr(gm, name), gm.GristmillError)
    assert issubclass(gm.PayloadTimeout, TimeoutError)
    assert issubclass(gm.PluginLoadError, ImportError) and issubclass(gm.PluginLoadError, gm.PluginError)
    assert issubclass(gm.SourceError, OSError) and issubclass(gm.OutputError, OSError)
    assert issubclass(gm.OutOfMemoryError, MemoryError)
