"""record_size says so when records are lost, added or changed."""

import argparse
import contextlib
import importlib.util
from types import SimpleNamespace

import pytest

from gristmill.bench import record_size, sheet, zmq_programs
from gristmill.bench.zmq_pair import Pair, Received, Way


def sheet_tables():
    return record_size.tables(sheet.Sheet("record_size", record_size.__doc__, argparse.Namespace()))


@pytest.fixture
def records(tmp_path):
    return record_size.Records(memoryview(bytes(range(250)) * 4), 5, 200, tmp_path / "records")


def test_all_records_of_each_subject_arrive(records):
    table, _ = sheet_tables()
    with contextlib.ExitStack() as stack:
        bodies = record_size.Ours(stack, 2).bodies(records)
        assert record_size.throughput(table, bodies, records, 1, SimpleNamespace(settings={})) == []
    assert len(table.rows) == len(bodies) == 4 and all(row["records_per_s"] > 0 for row in table.rows)


@pytest.mark.parametrize("changes", [{"records": 199}, {"bytes": 1001}, {"digest": "0" * 64}])
def test_what_is_wrong_has_no_rate(records, changes, capsys):
    def body(digest):
        right = records.expected._replace(seconds=1.0, digest=records.expected.digest if digest else "")
        return right._replace(**changes)

    table, _ = sheet_tables()
    wrong = record_size.throughput(table, {"one": body}, records, 1, SimpleNamespace(settings={}))
    assert wrong == ["one at 5 B"] and "records_per_s" not in table.rows[0]
    assert "wrong: " in capsys.readouterr().out


def test_another_record_back_has_no_time(records):
    _, table = sheet_tables()
    calls = {"right": lambda record: record, "wrong": lambda record: record[::-1]}
    assert record_size.round_trip(table, calls, records, 2, 1) == ["round trip of wrong at 5 B"]
    assert [row.get("calls") for row in table.rows] == [2, None]


@pytest.mark.skipif(importlib.util.find_spec("zmq") is None, reason="pyzmq is not installed")
@pytest.mark.parametrize("transport", record_size.TRANSPORTS)
def test_zmq_brings_every_record(tmp_path, records, transport):
    way = Way(transport, 0, False)
    with Pair(tmp_path) as pair:
        found = [pair.push(records.objects, way, digest=True), pair.push(records.objects, way)]
        with pair.echo(way) as call:
            assert call(b"there") == b"there"
    if zmq_programs.compiler():
        found.append(zmq_programs.Programs(tmp_path).push(records.path, records.size, way, digest=True))
    right = Received(200, 1000, 0, records.expected.digest)
    assert [each._replace(seconds=0) for each in found] == [right, right._replace(digest=""), right][: len(found)]
