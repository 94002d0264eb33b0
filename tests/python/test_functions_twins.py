"""The record sets through their Python twins: byte for byte what the plugins give, however it is cut."""

import itertools
import random
from functools import partial

import pytest

import gristmill as gm
from gristmill import workloads

SETS = list(itertools.product(("light", "medium", "heavy", "tokenize"), ("fast", "reference")))


@pytest.fixture(scope="module", params=SETS, ids="-".join)
def record_set(request, tmp_path_factory):
    """(twin, plugin, path of 300 records, a tenth of them malformed)."""
    name, stream = request.param
    path = tmp_path_factory.mktemp(name) / "records.jsonl"
    gm.datagen.generate(name, path, records=300, malformed_pct=10, stream=stream)
    if name == "tokenize":
        vocabulary = f"{path}.vocab"
        return workloads.Tokenize(vocabulary), gm.Plugin(name, config=vocabulary), path
    return getattr(workloads, name), gm.Plugin(name), path


def failures(results):
    return [(error.index, error.offset, error.excerpt) for error in results.errors]


def test_twins_are_the_plugins_equals(record_set):
    twin, plugin, path = record_set
    wanted = gm.map(plugin, path, on_error="collect")
    assert 0 < wanted.report.failed < 60
    for options in (
        {"workers": 0}, {"batch_records": 1}, {"batch_records": 100, "workers": 7}, {"start": "fresh"},
        {"batch_records": 7, "batches_per_worker": 3}, {"batch_bytes": 5000, "nodes": "@2", "workers": 3},
    ):  # fmt: skip
        found = gm.map(twin, path, on_error="collect", filtered="blank", **options)
        assert bytes(found) == bytes(wanted)
        assert failures(found) == failures(wanted)
        report = found.report
        assert (report.read, report.emitted, report.filtered, report.failed) == (
            wanted.report.read, wanted.report.emitted, wanted.report.filtered, wanted.report.failed,
        )  # fmt: skip


def test_what_is_dropped(record_set):
    twin, plugin, path = record_set
    wanted = [record for record in gm.map(plugin, path, on_error="skip") if record]
    assert list(gm.map(twin, path, on_error="skip", workers=2)) == wanted
    assert sorted(gm.map(twin, path, on_error="skip", order="none", workers=3, batch_records=11)) == sorted(wanted)


def test_the_first_malformed_record_is_raised_by_both(record_set):
    twin, plugin, path = record_set
    raised = []
    for payload in (twin, plugin):
        with pytest.raises(gm.RecordError) as caught:
            gm.map(payload, path, workers=2, batch_records=13)
        raised.append((caught.value.index, caught.value.offset, caught.value.excerpt))
    assert raised[0] == raised[1]


def framed(records, options):
    if options.get("framing") == "u32le":
        return b"".join(len(record).to_bytes(4, "little") + record for record in records)
    return b"".join(record + options["delimiter"] for record in records)


@pytest.mark.parametrize(
    "options", [{"framing": "u32le"}, *({"delimiter": d} for d in (b"\0", b"\r\n", b"aab", b"\n\n", b"$$$$", b"}{"))]
)
def test_framings_and_odd_delimiters(tmp_path, file, options):
    path = tmp_path / "medium.jsonl"
    gm.datagen.generate("medium", path, records=200, malformed_pct=10, seed=3)
    records = path.read_bytes().split(b"\n")[:-1]
    if "delimiter" in options:
        records = [record.replace(options["delimiter"], b"") for record in records]
    source = file(framed(records, options))
    wanted = gm.map("medium", source, on_error="collect", **options)
    for more in ({"batch_records": 1, "workers": 2}, {"batch_records": 100}, {"workers": 7, "batch_bytes": 3000}):
        found = gm.map(workloads.medium, source, on_error="collect", filtered="blank", **options, **more)
        assert bytes(found) == bytes(wanted)
        assert failures(found) == failures(wanted)


@pytest.mark.parametrize("seed", range(12))
def test_any_bytes_in_any_cut_give_what_plain_python_gives(file, seed):
    """Data and delimiters over few characters, so that partial matches are everywhere."""
    rng = random.Random(seed)
    delimiter = bytes(rng.choices(b"ab", k=rng.randrange(1, 5)))
    data = bytes(rng.choices(b"abc", k=rng.randrange(3000)))
    records = data.split(delimiter)
    records = records[:-1] if records[-1] == b"" else records
    source = file(data)
    function = partial(_twice_if_it_has_c, delimiter)
    wanted = [each for each in map(function, records) if each is not None]
    for workers, size in ((0, 3), (1, 1), (2, 10), (7, 100)):
        results = gm.map(function, source, delimiter=delimiter, workers=workers, batch_records=size)
        assert list(results) == wanted
        whole = b"".join(each + delimiter for each in wanted)
        open_end = records and not data.endswith(delimiter) and function(records[-1])
        assert bytes(results) == (whole[: -len(delimiter)] if open_end else whole)


def _twice_if_it_has_c(delimiter, record):
    return record + delimiter + record if b"c" in record else None if len(record) == 2 else record
