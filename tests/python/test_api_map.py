"""gm.map and gm.run over files: what comes out, and what the report says."""

import os
from pathlib import Path

import pytest
from expected_records import picky, split

import gristmill as gm


def test_map_gives_the_records_in_order(file, lines):
    results = gm.map("identity", file(lines))
    assert list(results) == split(lines)
    assert bytes(results) == lines


@pytest.mark.parametrize("workers", [0, 1, 2, 7])
@pytest.mark.parametrize("nodes", ["auto", "@2", "@4"])
def test_the_output_is_the_same_for_any_workers_and_nodes(file, lines, workers, nodes, plugin):
    results = gm.map(plugin("picky"), file(lines), workers=workers, nodes=nodes, batch_bytes=3000, config="> ")
    assert list(results) == picky(lines, b"> ")


@pytest.mark.parametrize(
    "size",
    [{"batch_records": 1}, {"batch_records": 777}, {"batch_bytes": 1}, {"batch_bytes": "1MiB"}],
)
def test_the_output_is_the_same_for_any_batch_size(file, lines, size):
    data = lines[:100_000]
    assert bytes(gm.map("identity", file(data), **size)) == data


def test_order_none_gives_the_same_records(file, lines):
    results = gm.map("identity", file(lines), order="none", batch_bytes=5000, workers=3)
    assert sorted(results) == sorted(split(lines))


def test_batch_records_is_exact(file):
    report = gm.run("count", file(b"x\n" * 1000), batch_records=300)
    assert report.batches == 4
    assert list(gm.map("count", file(b"x\n" * 1000), batch_records=300)) == [b"300", b"300", b"300", b"100"]


@pytest.mark.parametrize(
    "data, delimiter",
    [
        (b"a\x00bb\x00\x00ccc", b"\x00"),
        (b"a\r\nb\nc\r\n", b"\r\n"),
        (b"$$$$a$$$$b$$", "$$"),
        (b"one--two--", "--"),
        (b"no delimiter at all", b"|"),
        ("\N{SNOWMAN}a\N{SNOWMAN}b".encode(), "\N{SNOWMAN}"),
    ],
)
def test_delimiters(file, data, delimiter):
    wanted = delimiter.encode() if isinstance(delimiter, str) else delimiter
    results = gm.map("identity", file(data), delimiter=delimiter)
    assert list(results) == split(data, wanted)
    assert bytes(results) == data


@pytest.mark.parametrize("batch_records", [1, 2, 3, 9])
def test_length_prefixed_frames(file, batch_records):
    records = [b"", b"a", b"", b"\n\n", b"", b"", b"x" * 1000, b""]
    data = b"".join(len(record).to_bytes(4, "little") + record for record in records)
    results = gm.map("identity", file(data), framing="u32le", batch_records=batch_records)
    assert list(results) == records
    assert bytes(results) == data


def test_fixed_size_records(file):
    data = bytes(range(250)) * 4
    results = gm.map("identity", file(data), framing=25, batch_records=3)
    assert list(results) == [data[i : i + 25] for i in range(0, 1000, 25)]
    assert bytes(results) == data


def test_sources_follow_each_other_and_lines_never_join(file):
    paths = [file(b"a\nb"), file(b""), file(b"c\n"), Path(file(b"d"))]
    results = gm.map("identity", paths)
    assert list(results) == [b"a", b"b", b"c", b"d"]
    assert bytes(results) == b"a\nb\nc\nd"
    assert results.report.sources == 4


def test_a_tuple_of_paths_and_no_path_at_all(file):
    assert list(gm.map("identity", (file(b"a\n"), file(b"b\n")))) == [b"a", b"b"]
    empty = gm.map("identity", [])
    assert (list(empty), bytes(empty), empty.report.read) == ([], b"", 0)


def test_an_empty_file_gives_nothing_and_no_batch(file):
    results = gm.map("count", file(b""))
    assert (len(results), list(results), bytes(results)) == (0, [], b"")
    assert results.report.batches == 0


def test_patterns_are_sorted_and_go_deep(tmp_path, file):
    for name in ("b.log", "a.log", "c.txt"):
        file(name.encode() + b"\n", name)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "z.log").write_bytes(b"z\n")
    assert list(gm.map("identity", str(tmp_path / "*.log"))) == [b"a.log", b"b.log"]
    assert list(gm.map("identity", tmp_path / "**" / "*.log")) == [b"a.log", b"b.log", b"z"]


def test_a_file_is_preferred_to_the_pattern_of_its_name(tmp_path, file):
    file(b"matched\n", "x1")
    file(b"literal\n", "x[1]")
    assert list(gm.map("identity", str(tmp_path / "x[1]"))) == [b"literal"]
    assert list(gm.map("identity", [str(tmp_path / "x[1]")])) == [b"literal"]


def test_names_that_are_no_utf8(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff\xfe.bin"
    with open(path, "wb") as out:
        out.write(b"!boo\n")
    source = os.fsdecode(path)
    assert list(gm.map("upper", source)) == [b"!BOO"]
    with pytest.raises(gm.RecordError) as caught:
        gm.map("identity", source, max_record=2)
    assert caught.value.source == source
    assert "\\xff" in str(caught.value)


def test_run_writes_what_map_gives(tmp_path, file, lines, plugin):
    target = tmp_path / "out"
    report = gm.run(plugin("picky"), file(lines), output=target, config="+", batch_bytes=4000)
    assert target.read_bytes() == b"".join(record + b"\n" for record in picky(lines, b"+"))
    assert (report.read, report.output_bytes) == (20_000, target.stat().st_size)


def test_outputs_larger_than_any_buffer_one_smaller_than_the_other(tmp_path, file, plugin):
    records = [bytes([97 + n]) * (size << 20) for n, size in enumerate((6, 5, 4, 7))]
    source = file(b"\n".join(records) + b"\n")
    gm.run(plugin("doubled"), source, output=tmp_path / "out", batch_records=1, workers=1)
    assert (tmp_path / "out").read_bytes() == b"".join(record * 2 + b"\n" for record in records)


def test_run_keeps_a_missing_last_delimiter_missing(tmp_path, file):
    target = tmp_path / "out"
    gm.run("identity", file(b"a\nb"), output=str(target))
    assert target.read_bytes() == b"a\nb"


def test_run_without_output_only_counts(file, lines):
    report = gm.run("identity", file(lines))
    assert (report.read, report.emitted, report.output_bytes) == (20_000, 20_000, len(lines))


def test_run_appends_to_an_open_file_behind_its_buffer(tmp_path, file):
    with open(tmp_path / "out", "wb") as out:
        out.write(b"head\n")
        gm.run("identity", file(b"a\n"), output=out)
        gm.run("identity", file(b"b\n"), output=out.fileno())
        out.write(b"tail\n")
    assert (tmp_path / "out").read_bytes() == b"head\na\nb\ntail\n"


def test_run_may_replace_its_own_input(file):
    path = file(b"abc\n" * 50_000)
    gm.run("upper", path, output=path)
    assert Path(path).read_bytes() == b"ABC\n" * 50_000


def test_report_adds_up(file, plugin):
    data = b"a\n!b\n#c\n" * 1000
    report = gm.run(plugin("picky"), file(data), on_error="skip", workers=2, nodes="@2")
    assert (report.read, report.emitted, report.filtered, report.failed) == (3000, 1000, 1000, 1000)
    assert (report.discarded, report.sources, report.input_bytes) == (0, 1, len(data))
    assert (report.workers, len(report.nodes)) == (2, 2)
    assert sum(node.records for node in report.nodes) == 3000
    assert sum(node.batches for node in report.nodes) == report.batches
    assert report.batch_bytes_min <= report.batch_bytes_median <= report.batch_bytes_max <= len(data)
    assert report.records_per_second == pytest.approx(3000 / report.wall_seconds)
    assert "3,000 read = 1,000 emitted + 1,000 filtered + 1,000 failed" in str(report)
    assert report._repr_html_().startswith("<table>") and "3,000 read" in report._repr_html_()


def test_light_agrees_with_its_specification(tmp_path):
    from light_oracle import light

    path = tmp_path / "light.jsonl"
    gm.datagen.generate("light", path, records=3000, malformed_pct=20, seed=5)
    wanted, failing = [], 0
    for record in split(path.read_bytes()):
        try:
            wanted.append(light(record) or b"")
        except ValueError:
            wanted.append(b"")
            failing += 1
    results = gm.map("light", path, on_error="skip")
    assert list(results) == wanted
    assert 0 < failing == results.report.failed
