"""The table of options: each with values that are taken, or refused."""

import os
from pathlib import Path

import pytest

import gristmill as gm
from gristmill import options

TAKEN = {
    "workers": [None, 0, 1, 3],
    "nodes": ["auto", 1, "1", "0,", "@2", "@1024"],
    "smt": [True, False],
    "order": ["index", "none"],
    "batch_records": [None, 1, 2**63 - 1],
    "batch_bytes": [None, 1, "1KiB", "1.5 MiB", "1mb", "7", 2**63 - 1],
    "delimiter": [b"\n", "\n", bytearray(b"ab"), memoryview(b"x"), "\N{SNOWMAN}"],
    "framing": ["delimiter", 2],
    "max_record": [4, "1GiB", 2**63 - 1],
    "on_error": ["raise", "skip", "collect"],
    "errors_to": [None],
    "max_errors": [None],
    "memory": ["512MiB", 2**25, "1TiB", 2**63 - 1],
    "config": [None, "", "text", Path("path")],
    "filtered": [None],
    "isolation": [None, "process", "thread"],
    "progress": [None, False, True],
    "timeout": [None, 0.5, 3, 1e6],
    "start": [None, "auto"],
    "retries": [None, 0, 2, 100],
    "retry_exceptions": [None],
    "batches_per_worker": [None, 1, 2**31],
}
TAKEN_BY_FUNCTIONS = {
    "filtered": [None, "drop", "blank"],
    "isolation": [None, "process"],
    "start": [None, "auto", "fork", "fresh"],
    "retry_exceptions": [None, ValueError, BaseException, (OSError, KeyError), ()],
}
REFUSED = {  # by OptionError
    "workers": [-1, 4097, 2**64, 10**30],
    "nodes": ["", "x", 0, -1, "0,x", ",", "@", "@0", "@-1", "99", "98,99", "@99999", "99999999999"],
    "order": ["", "input", "INDEX"],
    "batch_records": [0, -1, 2**63],
    "batch_bytes": [0, -1, "", "KiB", "1 furlong", "-1KiB", "0.1B", "8388608TiB"],
    "delimiter": ["", b""],
    "framing": [0, -3, "", "u32be", 2**40],
    "max_record": [0, "0"],
    "on_error": ["ignore", ""],
    "errors_to": ["", "a\0b", "dead.jsonl"],  # the last one because on_error="raise"
    "max_errors": [-1, 5],  # the same
    "memory": [0, 1, "1KiB"],
    "config": ["a\0b"],
    "filtered": ["drop", "blank", "keep", "what"],
    "isolation": ["fiber"],
    "timeout": [0, -1.5, float("nan"), float("inf")],
    "start": ["never"],
    "retries": [-1, 101],
    "retry_exceptions": [ValueError, (OSError, KeyError)],  # the payload is a plugin
    "batches_per_worker": [0, 2**31 + 1],
}
WRONG_TYPE = {  # by an OptionError that is a TypeError too
    "workers": ["2", 1.0, True],
    "nodes": [1.5, None, (0, 1), True],
    "smt": [None, 1, "yes"],
    "order": [None, 0],
    "batch_records": ["7", 1.0, False],
    "batch_bytes": [1.0, b"1"],
    "delimiter": [None, 10, ["\n"]],
    "framing": [None, 2.0, b"u32le"],
    "max_record": [None, 1e6],
    "on_error": [None, False],
    "errors_to": [3],
    "max_errors": ["1", 0.5],
    "memory": [None, 1.5],
    "config": [3, b"x"],
    "filtered": [False],
    "isolation": [1],
    "progress": ["yes", 1],
    "timeout": ["1s", True],
    "start": [1],
    "retries": ["2"],
    "retry_exceptions": ["ValueError", (ValueError, 3), 7],
    "batches_per_worker": ["2"],
}


def cases(table):
    return [pytest.param(name, value, id=f"{name}={value!r:.20}") for name, values in table.items() for value in values]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("options") / "in"
    path.write_bytes(b"abc\n" * 10)
    return path


@pytest.fixture(scope="module")
def engine():
    with gm.Engine(workers=1) as engine:
        yield engine


def test_the_tables_know_every_option():
    known = set(options.CallOptions.__annotations__)
    assert known == set(options._ENGINE) | set(options._RUN)
    assert known == set(TAKEN)
    assert known == set(REFUSED) | {"smt", "progress"}
    assert known == set(WRONG_TYPE)


@pytest.mark.parametrize("name, value", cases(TAKEN))
def test_taken(source, name, value):
    assert gm.run("identity", source, **{name: value}).read > 0


@pytest.mark.parametrize("name, value", cases(TAKEN_BY_FUNCTIONS))
def test_taken_by_functions(source, name, value):
    assert gm.run(bytes.upper, source, workers=1, **{name: value}).read == 10


@pytest.mark.parametrize("name, value", cases(REFUSED))
def test_refused(source, name, value):
    with pytest.raises(gm.OptionError) as caught:
        gm.map("identity", source, **{name: value})
    assert isinstance(caught.value, ValueError) and not isinstance(caught.value, TypeError)
    assert name in str(caught.value)


@pytest.mark.parametrize("name, value", cases(WRONG_TYPE))
def test_wrong_type(source, name, value):
    with pytest.raises(gm.OptionError) as caught:
        gm.run("identity", source, **{name: value})
    assert isinstance(caught.value, TypeError)
    assert name in str(caught.value)


# Some only make sense, or none, together with others or with a payload, which a run decides.
OF_A_RUN = ("errors_to", "max_errors", "memory", "framing", "filtered", "retry_exceptions")


@pytest.mark.parametrize("table", [REFUSED, WRONG_TYPE])
def test_engines_and_their_calls_check_the_same(source, engine, table):
    for name, values in table.items():
        of_engine = name in options.EngineOptions.__annotations__
        for value in values:
            if name in OF_A_RUN and table is REFUSED:
                continue
            with pytest.raises(gm.OptionError, match=name):
                gm.Engine(**{name: value}).close()
            if not of_engine:
                with pytest.raises(gm.OptionError, match=name):
                    engine.run("identity", source, **{name: value})


def test_unknown_options_are_named_with_what_was_meant(source, engine):
    for call in (gm.map, gm.run, engine.map, engine.run):
        with pytest.raises(TypeError, match="'batch_recrods'.*'batch_records'"):
            call("identity", source, batch_recrods=3)
    with pytest.raises(gm.OptionError, match="'wrokers'.*'workers'"):
        gm.Engine(wrokers=2)
    with pytest.raises(TypeError, match="there are .*memory"):
        gm.map("identity", source, zzz=1)


def test_options_are_by_keyword_only(source):
    with pytest.raises(TypeError):
        gm.map("identity", source, 2)
    with pytest.raises(TypeError):
        gm.run("identity", source, "out")


@pytest.mark.parametrize(
    "given, said",
    [
        ({"batch_records": 2, "batch_bytes": 9}, "batch_records and batch_bytes"),
        ({"delimiter": "x", "framing": "u32le"}, "delimiter goes with"),
        ({"framing": 10, "max_record": 5}, "longer than max_record"),
        ({"max_errors": 1}, "max_errors needs on_error"),
        ({"errors_to": "x"}, "errors_to needs on_error"),
        ({"timeout": 1, "isolation": "thread"}, "timeout"),
        ({"timeout": 1, "workers": 0}, "timeout"),
        ({"filtered": "drop"}, "filtered belongs to Python functions"),
        ({"retry_exceptions": OSError}, "retry_exceptions belongs to Python functions"),
    ],
)
def test_combinations_that_make_no_sense(source, given, said):
    with pytest.raises(gm.OptionError, match=said):
        gm.map("identity", source, **given)


def test_memory_below_the_minimum_names_the_minimum(source):
    with pytest.raises(gm.OptionError, match=str(3 * 2 * 2**20)):
        gm.map("identity", source, workers=3, memory=3 * 2 * 2**20 - 1)
    assert gm.run("identity", source, workers=3, memory=3 * 2 * 2**20).read == 10


def test_engine_options_belong_to_the_engine(source, engine):
    for option in ({"workers": 2}, {"nodes": 1}, {"smt": True}):
        with pytest.raises(TypeError, match=f"{[*option][0]} belongs to the engine"):
            engine.map("identity", source, **option)


def test_output_belongs_to_run(source, engine):
    for call in (gm.map, engine.map):
        with pytest.raises(TypeError, match="output belongs to run"):
            call("identity", source, output="x")
    with pytest.raises(TypeError, match="output belongs to run"):
        gm.Engine(output="x")


def test_engine_defaults_give_way_to_what_a_call_says(source):
    with gm.Engine(workers=1, batch_records=2, delimiter="c\n") as engine:
        assert list(engine.map("count", source)) == [b"2"] * 5
        assert bytes(engine.map("count", source)) == b"2c\n" * 5
        assert list(engine.map("count", source, batch_records=5)) == [b"5", b"5"]
        assert list(engine.map("count", source, batch_bytes="1MiB")) == [b"10"]
        assert list(engine.map("identity", source, framing=20)) == [b"abc\n" * 5] * 2


def test_an_output_that_cannot_be_one(source):
    import io

    for output in (io.StringIO(), io.BytesIO(), 1.5, True, open(os.devnull)):
        with pytest.raises(TypeError, match="output"):
            gm.run("identity", source, output=output)
    for output in (-1, "", "a\0b"):
        with pytest.raises(gm.OptionError, match="output"):
            gm.run("identity", source, output=output)
