"""The study end to end, on few records: totals, files, what it uses again, and what it must not let pass."""

import csv
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as tree
from pathlib import Path

import pytest

from gristmill.bench import page, rows

RECORDS, DOCS = 2000, 300


def study(*arguments, code=0):
    command = [sys.executable, "-m", "gristmill", "study", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def small(folder, *arguments, code=0):
    """Light records on one node: four cells."""
    given = ["--records", RECORDS, "--trials", 2, "--parts", "a", "--variants", "light", "--nodes", "1"]
    return study(*given, "--sweep-workers", "none", "--tmpdir", folder, *arguments, code=code)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """All sets, parts a, b and d, on two node configurations: what it printed, and its files."""
    folder = tmp_path_factory.mktemp("study")
    files = {kind: folder / "out" / f"study.{kind}" for kind in ("json", "csv", "html")}
    options = [word for kind, path in files.items() for word in (f"--{kind}", path)]
    given = ["--quick", "--records", RECORDS, "--docs", DOCS, "--trials", 1, "--parts", "a,b,d"]
    done = study(*given, "--nodes", "1,@2", "--workers", "2", "--sweep-workers", "1,2", "--tmpdir", folder, *options)
    result = json.loads(files["json"].read_text())
    return done, result, files


def test_every_row_of_every_set_is_exact(whole):
    done, result, _ = whole
    assert "totals exact: 2,000, 400, 300, 200, 60, 12 in and out, the same bytes" in done.stdout
    assert {row["set"] for row in result["rows"]} == {"light", "medium", "heavy", "tokenize", "tokenize-large"}
    for row in result["rows"]:
        assert row["exact"] and row["total"] == row["records"] and row["valid"] == row["expected_valid"]
        assert 0 < row["records_per_s_min"] <= row["records_per_s"] <= row["records_per_s_max"]
        assert row["peak_memory_bytes"] > 5 << 20 and row["cpu_s"] > 0 and row["compared"] == "bytes"
    shapes = {(row["nodes"], row["workers"]) for row in result["rows"] if row["part"] == "a"}
    assert shapes == {("1", 2), ("@2", 2), ("auto", 1), ("auto", 2)}


def test_a_plugin_and_its_function_give_the_same(whole):
    _, result, _ = whole
    light = {row["digest"] for row in result["rows"] if row["set"] == "light" and ":" not in row["payload"]}
    upper = {row["digest"] for row in result["rows"] if row["payload"].startswith("upper")}
    assert len(light) == len(upper) == 1 and light != upper


def test_rows_have_the_fields_that_the_schema_names(whole):
    _, result, files = whole
    described = (Path(rows.__file__).parent / "schema.md").read_text()
    named = set(re.findall(r"`(\w+)`", described))
    for row in result["rows"]:
        assert set(rows.COLUMNS) <= set(row)
    for name in rows.COLUMNS:
        assert name in named or re.sub("(.*)(_min|_median|_max)$", r"\2", name) in named, name
    assert set(result) <= named and set(result["streams"][0]) <= named
    with files["csv"].open(newline="") as file:
        read = list(csv.DictReader(file))
    assert [row["digest"] for row in read] == [row["digest"] for row in result["rows"]]
    assert list(read[0]) == list(rows.COLUMNS)


def test_streams_stay_within_their_memory(whole):
    done, result, _ = whole
    assert [stream["source"] for stream in result["streams"]] == ["file", "pipe", "items"]
    for stream in result["streams"]:
        assert stream["exact"] and stream["within"] and stream["samples"][-1][0] > 0
    assert done.stdout.count("totals exact: ") == 4


def test_the_page_has_every_row_and_needs_nothing_else(whole):
    done, result, files = whole
    assert f"HTML  {files['html'].resolve()}" in done.stdout
    text = files["html"].read_text()
    assert "totals exact: all" in text and text.count("<svg") >= 8 + 4 + 1 + 3
    for row in result["rows"]:
        assert f"<td>{row['records_per_s']:,.0f}</td><td>{row['records_per_s_min']:,.0f}</td>" in text
    assert not re.search(r"(src|href)=|@import|url\(|<script", text)
    tree.fromstring(text[text.index("<main>") : text.index("</main>") + 7].replace("&nbsp;", " "))  # well-formed


def test_the_page_says_what_is_not_exact(whole):
    result = json.loads(json.dumps(whole[1]))
    result["rows"][0].update(exact=False, note="a <false> digest")
    found = page.html(result)
    assert "are not as they have to be" in found and "totals exact: all" not in found
    assert "NOT EXACT: a &lt;false&gt; digest" in found and "<false>" not in found


def test_the_machine_comes_first(whole):
    done, result, _ = whole
    words = "--quick --records 2000 --docs 300 --trials 1 --parts a,b,d --nodes 1,@2 --workers 2 --sweep-workers 1,2"
    assert result["command"] == f"gristmill study {words}"
    assert done.stdout.startswith("machine   ") and result["environment"]["cpus"] >= 1


def cells(folder):
    return {path: path.stat().st_mtime_ns for path in (folder / "cells").iterdir()}


def test_a_study_takes_the_cells_that_are_there(tmp_path):
    small(tmp_path)
    before = cells(tmp_path)
    assert len(before) == 4
    lost = sorted(before)[0]
    lost.unlink()
    small(tmp_path)
    after = cells(tmp_path)
    assert {path for path in before if after[path] != before[path]} == {lost}
    small(tmp_path, "--trials", 3)
    assert len(cells(tmp_path)) == 6


@pytest.mark.parametrize(
    "field, value, said",
    [
        ("digest", "0" * 64, "the digest of the output differs"),
        ("total", 1999, "1,999 lines and 2,000 results instead of 2,000 and 2,000"),
        ("valid", 1999, "2,000 lines and 1,999 results"),
        ("read", 2001, "the report says 2,001 records"),
        ("failed", 1, "the report accounts for 2,001 records"),
    ],
)
def test_a_false_cell_is_not_ranked_and_fails_the_study(tmp_path, field, value, said):
    small(tmp_path)
    falsified = next(path for path in sorted(cells(tmp_path)) if '"payload": "plugin"' in path.read_text())
    found = json.loads(falsified.read_text())
    falsified.write_text(json.dumps({**found, field: value}))
    done = small(tmp_path, "--json", tmp_path / "r.json", code=1)
    assert said in done.stderr and "NOT EXACT" in done.stdout and "totals exact" not in done.stdout
    false, right = sorted(json.loads((tmp_path / "r.json").read_text())["rows"], key=lambda row: row["exact"])
    assert false["rank"] is None and right["rank"] == 1


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--variants", "lite"], "there is no 'lite'"),
        (["--parts", "a,e"], "there is no 'e'"),
        (["--workers", "two"], "--workers takes numbers"),
        (["--records", "0"], "--records must be at least 1"),
        (["--nodes", "@x"], "nodes"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path, arguments, said):
    assert said in small(tmp_path, *arguments, code=2).stderr
