"""Functions of batches: what a Batch is, what they may return, and how they fail."""

import functools
import os
import time

import pytest

import gristmill as gm

RECORDS = [b"%d" % n for n in range(100)]
DATA = b"".join(record + b"\n" for record in RECORDS)


@gm.batch
def upper(batch):
    return bytes(batch.data).upper()


@gm.batch
def describe(batch):
    return [b"%d %d %d %d %d" % (batch.sequence, batch.offset, batch.records, len(batch), len(batch.data))] + [
        b""
    ] * (batch.records - 1)


@pytest.fixture
def source(file):
    return file(DATA)


@pytest.mark.parametrize("start", ["fork", "fresh"])
@pytest.mark.parametrize("workers", [0, 1, 2])
def test_bytes_stand_for_the_whole_batch(file, workers, start):
    data = b"".join(b"record %d\n" % n for n in range(5000)) + b"last"
    results = gm.map(upper, file(data), workers=workers, start=start)
    assert bytes(results) == data.upper()
    assert list(results) == data.upper().split(b"\n")
    assert (results.report.emitted, results.report.output_records) == (5001, 5001)


def test_a_batch_describes_itself(file):
    first, second = file(b"aa\nbb\ncc\n"), file(b"d\ne")
    described = gm.map(describe, [first, second], batch_records=2, workers=2)
    assert list(described) == [b"0 0 2 2 6", b"", b"1 6 1 1 3", b"2 0 2 2 4", b""]

    @gm.batch
    def look(batch):
        data = batch.data
        return f"{data.readonly} {data.format} {data.contiguous} {batch!r}\n"

    assert list(gm.map(look, first, batch_records=3)) == [b"True B True <gristmill.Batch 0: 3 records at byte 0>"]


RETURNS = {
    "bytes": (b"x\ny\n", [b"x", b"y"]),
    "bytearray": (bytearray(b"x\n"), [b"x"]),
    "view": (memoryview(b"x\ny\n"), [b"x", b"y"]),
    "view with steps": (memoryview(b"x-\n-")[::2], [b"x"]),
    "str": ("\u00e9\n", ["\u00e9".encode()]),
    "nothing": (b"", []),
    "list": ([b"a\nb", "\u00e9", bytearray(b"c"), memoryview(b"d"), b""], [b"a\nb", "\u00e9".encode(), b"c", b"d", b""]),
    "tuple": ((b"1", b"2", None, None, b"5"), [b"1", b"2", b"5"]),
}


@pytest.mark.parametrize("name", RETURNS)
def test_what_a_function_of_batches_may_return(file, name):
    returned, wanted = RETURNS[name]
    results = gm.map(gm.batch(lambda batch: returned), file(b"1\n2\n3\n4\n5\n"), workers=1, batch_records=5)
    assert list(results) == wanted
    left_out = 2 if name == "tuple" else 0
    assert (results.report.emitted, results.report.filtered) == (5 - left_out, left_out)


@pytest.mark.parametrize(
    "returned, said",
    [
        (7, "returned int; a function of batches returns bytes, or a list"),
        (None, "returned NoneType; a function of batches"),
        ({}, "returned dict"),
        (iter(b"12345"), "returned bytes_iterator"),
        ([b"x"] * 4, "returned 4 results for a batch of 5 records"),
        ([b"x"] * 6, "returned 6 results for a batch of 5 records"),
        (b"not ended", "does not end with a whole record"),
    ],
)
def test_what_a_function_of_batches_must_not_return(file, returned, said):
    @gm.batch
    def function(batch):
        return returned if batch.records == 5 else b"alone\n"

    source = file(b"1\n2\n3\n4\n5\n")
    results = gm.map(function, source, workers=1, batch_records=5, retries=0, on_error="collect")
    if said.startswith("does not"):
        assert (list(results), results.report.failed) == ([], 5) and said in results.errors[0].reason
    else:
        # What fails as a whole is tried record by record.
        assert (list(results), results.report.failed) == ([b"alone"] * 5, 0)
        with pytest.raises(gm.BadReturnError, match="record 0 .*" + said.partition(" for a batch")[0]):
            gm.map(gm.batch(lambda batch: returned), file(b"1\n"), workers=1)


def test_a_list_is_accounted_for_item_by_item(source):
    @gm.batch
    def pick(batch):
        records = bytes(batch.data).split(b"\n")[:-1]
        return [7 if int(r) % 10 == 0 else None if int(r) % 2 else r for r in records]

    for filtered, blank in (("drop", []), ("blank", [b""])):
        results = gm.map(pick, source, workers=2, batch_records=7, on_error="collect", filtered=filtered)
        wanted = [[r] if int(r) % 2 == 0 and int(r) % 10 else blank for r in RECORDS]
        assert list(results) == [each for part in wanted for each in part]
        report = results.report
        assert (report.read, report.emitted, report.filtered, report.failed) == (100, 40, 50, 10)
        assert [error.index for error in results.errors] == list(range(0, 100, 10))
        assert "returned int" in results.errors[0].reason


KEPT = []
VIEWS = {
    "the batch's own": lambda batch: KEPT.append(batch.data),
    "a part": lambda batch: KEPT.append(batch.data[1:]),
    "of a part": lambda batch: KEPT.append(memoryview(batch.data[:1]).cast("c")),
}


@pytest.mark.parametrize("keep", VIEWS.values(), ids=VIEWS)
def test_views_are_valid_during_the_call_only(source, keep):
    KEPT.clear()

    @gm.batch
    def function(batch):
        keep(batch)
        return bytes(batch.data)

    if keep is VIEWS["the batch's own"]:  # is released, so nothing can go wrong
        assert list(gm.map(function, source, workers=0)) == RECORDS
        for view in KEPT:
            with pytest.raises(ValueError, match="released"):
                bytes(view)
    else:
        with pytest.raises(gm.BadReturnError, match="kept a view of batch.data"):
            gm.map(function, source, workers=1, retries=0)


def test_a_batch_that_fails_is_tried_again_whole_then_record_by_record(tmp_path, source):
    log = tmp_path / "log"

    @gm.batch
    def function(batch):
        with open(log, "ab") as out:
            out.write(b"%d " % batch.records)
        if b"\n55\n" in b"\n" + bytes(batch.data):
            raise ValueError("dislike")
        return batch.data

    results = gm.map(function, source, workers=1, batch_records=10, on_error="collect", retries=2)
    assert list(results) == RECORDS[:55] + RECORDS[56:]
    (error,) = results.errors
    assert (error.index, error.excerpt, error.kind) == (55, b"55", "ValueError")
    assert "dislike" in error.reason
    assert log.read_bytes().split() == [b"10"] * 5 + [b"10"] * 3 + [b"1"] * 10 + [b"10"] * 4
    with pytest.raises(gm.RecordError, match="record 55 .*ValueError: dislike") as caught:
        gm.map(function, source, workers=2, batch_records=10)
    assert isinstance(caught.value.__cause__, ValueError) or "dislike" in caught.value.traceback


@pytest.mark.parametrize(
    "end, kind",
    [(os.abort, "WorkerCrashed"), (lambda: time.sleep(1000), "PayloadTimeout"), (lambda: os._exit(0), "WorkerCrashed")],
)
def test_a_batch_that_takes_its_worker_along(source, end, kind):
    @gm.batch
    def function(batch):
        if batch.offset == DATA.index(b"50\n"):
            end()
        return batch.data

    results = gm.map(
        function, source, workers=2, batch_records=10, on_error="collect", retries=1, timeout=0.2
    )
    failed = [error.index for error in results.errors]
    lost = range(50, 60) if len(results) == 90 else [50]
    assert list(results) == [record for n, record in enumerate(RECORDS) if n not in lost]
    assert failed and set(failed) <= set(lost) and results.errors[0].kind == kind
    assert results.report.failed == len(lost)


def test_marked_things(source):
    class Cuts:
        def __init__(self, to=1):
            self.to = to

        @gm.batch
        def cut(self, batch):
            return [record[: self.to] for record in bytes(batch.data).split(b"\n")[:-1]]

    @gm.batch
    class Counts:
        def __init__(self):
            self.batches = 0

        def __call__(self, batch):
            self.batches += 1
            return [b"%d" % self.batches] * batch.records

    @gm.batch
    def repeat(batch, times):
        return bytes(batch.data) * times

    ones = [record[:1] for record in RECORDS]
    assert list(gm.map(Cuts().cut, source)) == ones
    assert list(gm.map(gm.batch(Cuts().cut), source)) == ones
    assert set(gm.map(Counts, source, workers=1, batch_records=50)) == {b"1", b"2"}
    assert len(gm.map(functools.partial(repeat, times=3), source)) == 300
    assert gm.batch(repeat) is repeat


@pytest.mark.parametrize("framing", ["u32le", 3])
def test_other_framings(file, framing):
    record = b"\3\0\0\0abc" if framing == "u32le" else b"abc"
    source = file(record * 100)
    options = {"framing": framing, "batch_records": 7, "workers": 2}
    assert bytes(gm.map(gm.batch(lambda batch: batch.data), source, **options)) == record * 100
    returned = gm.map(gm.batch(lambda batch: [b"x\n"] * batch.records), source, **options)
    assert list(returned) == [b"x\n"] * 100
    assert bytes(returned) == (b"\2\0\0\0x\n" if framing == "u32le" else b"x\n") * 100
    if framing == "u32le":
        with pytest.raises(gm.GristmillError, match="whole record"):
            gm.map(gm.batch(lambda batch: b"\1\0\0"), source, **options, retries=0)
