"""Results: a sequence of bytes, in shared memory that lives as long as somebody looks at it."""

import collections.abc
import gc
import pickle

import pytest
from expected_records import split

import gristmill as gm


@pytest.fixture
def records(lines):
    return split(lines)[:5000]


@pytest.fixture
def results(file, records):
    return gm.map("identity", file(b"\n".join(records) + b"\n"), batch_records=333)


def test_is_a_sequence(results, records):
    assert isinstance(results, collections.abc.Sequence)
    assert len(results) == 5000
    assert records[17] in results
    assert list(reversed(results)) == records[::-1]
    assert results.index(records[100]) == records.index(records[100])


@pytest.mark.parametrize("index", [0, 1, 332, 333, 334, 4999, -1, -2, -5000])
def test_indices(results, records, index):
    assert results[index] == records[index]


@pytest.mark.parametrize("index", [5000, -5001, 2**70])
def test_indices_outside(results, index):
    with pytest.raises(IndexError):
        results[index]


def test_indices_of_a_wrong_type(results):
    with pytest.raises(TypeError):
        results["1"]


@pytest.mark.parametrize(
    "part",
    [slice(None), slice(3, 9), slice(-4, None), slice(None, None, 7), slice(None, None, -1), slice(4000, 10, -333),
     slice(9, 3), slice(4990, 10**30)],
)
def test_slices_are_lists(results, records, part):
    assert results[part] == records[part]
    assert type(results[part]) is list


def test_iterators_are_independent(results, records):
    first, second = iter(results), iter(results)
    assert [next(first) for _ in range(10)] == records[:10]
    assert list(second) == records
    assert list(first) == records[10:]


def test_batches_are_readonly_views_of_all_bytes(results, records):
    views = list(results.batches())
    assert len(views) == 16
    assert all(view.readonly and view.format == "B" and view.contiguous for view in views)
    assert b"".join(views) == b"\n".join(records) + b"\n"
    with pytest.raises(TypeError):
        views[0][0] = 1


def test_views_outlive_engine_and_results(file, lines):
    with gm.Engine(workers=2) as engine:
        views = list(engine.map("identity", file(lines)).batches())
        reused = [engine.map("upper", file(lines)) for _ in range(3)]
    del engine, reused
    gc.collect()
    gm.map("upper", file(lines))  # would write into memory given back too early
    assert b"".join(views) == lines


def test_slices_of_views_keep_the_memory_too(file, lines):
    tail = list(gm.map("identity", file(lines)).batches())[-1][-5:]
    gc.collect()
    gm.map("upper", file(lines))
    assert bytes(tail) == lines[-5:]


def test_results_outlive_their_engine(file, lines):
    with gm.Engine() as engine:
        results = engine.map("identity", file(lines))
    assert results[-1] == split(lines)[-1]
    assert bytes(results) == lines


def test_views_hide_that_the_input_lacked_its_last_delimiter(file):
    results = gm.map("identity", file(b"a\nb"))
    assert b"".join(results.batches()) == b"a\nb\n"
    assert bytes(results) == b"a\nb"


def test_write(tmp_path, results, records):
    results.write(tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == bytes(results) == b"\n".join(records) + b"\n"
    results.write(str(tmp_path / "out"))  # replaces
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith("input")] == ["out"]


def test_write_without_the_last_delimiter(tmp_path, file):
    gm.map("identity", file(b"a\nb")).write(tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == b"a\nb"


def test_write_where_nothing_can_be_written(tmp_path, results):
    with pytest.raises(gm.OutputError) as caught:
        results.write(tmp_path / "no" / "out")
    assert isinstance(caught.value, FileNotFoundError)
    with pytest.raises(TypeError):
        results.write(3)


def test_errors_are_empty_unless_collected(file, plugin):
    source = file(b"a\n!b\n")
    assert gm.map(plugin("picky"), source, on_error="skip").errors == ()
    assert len(gm.map(plugin("picky"), source, on_error="collect").errors) == 1


def test_repr_says_how_much_there_is(results):
    assert "5,000 records" in repr(results)


def test_results_refuse_to_be_pickled(results):
    with pytest.raises(TypeError):
        pickle.dumps(results)
