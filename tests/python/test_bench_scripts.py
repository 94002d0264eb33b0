"""The scripts in bench/ that generate, verify and count."""

import csv
import html.parser
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture(autouse=True)
def nothing_is_left_behind(monkeypatch, tmp_path_factory):
    """In a folder for temporary files of their own; nor do they wait for who measures on this machine."""
    folder = tmp_path_factory.mktemp("tmp")
    monkeypatch.setenv("TMPDIR", str(folder))
    yield
    assert list(folder.iterdir()) == []


def script(name, *arguments):
    command = [sys.executable, str(BENCH / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=250)


def study(folder, records=2000):
    shape = ["--parts", "a", "--variants", "light", "--nodes", "1", "--sweep-workers", "none"]
    done = script("numa_study.py", "--records", records, "--trials", 1, "--tmpdir", folder, *shape)
    assert done.returncode == 0, done.stderr
    assert f"totals exact: {records:,} in" in done.stdout
    return done.stderr


def test_the_study_uses_its_records_again(tmp_path):
    folder = tmp_path / "kept"
    assert study(folder).startswith("generating 2,000 light records: there are none")
    (records,) = folder.glob("*.jsonl")
    written = records.stat().st_mtime_ns
    assert "is as its manifest says" in study(folder)
    assert records.stat().st_mtime_ns == written


def test_the_study_trusts_no_file_that_differs(tmp_path):
    study(tmp_path)
    (records,) = tmp_path.glob("*.jsonl")
    sound = records.read_bytes()
    for spoilt, why in [(sound[:-1], "bytes instead of"), (b"?" + sound[1:], "digest")]:
        records.write_bytes(spoilt)
        said = study(tmp_path)
        assert said.startswith("generating 2,000 light records: ") and why in said
        assert records.read_bytes() == sound
    Path(f"{records}.manifest.json").unlink()
    assert "No such file" in study(tmp_path)
    assert "is as its manifest says" in study(tmp_path)


def test_the_study_takes_no_other_records(tmp_path):
    study(tmp_path, 1000)
    (records,) = tmp_path.glob("*.jsonl")
    for name in [records.name, records.name + ".manifest.json"]:
        (tmp_path / name).rename(tmp_path / name.replace("1000", "2000"))
    assert "holds others" in study(tmp_path, 2000)


@pytest.mark.parametrize("name", ["light", "medium", "heavy"])
def test_totals_are_as_published(tmp_path, name):
    done = script("totals.py", "--quick", "--sets", name, "--tmpdir", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    # read and lines out, each beside what is published
    assert re.search(rf"^  {name} +100,000( +100,000){{4}} ", done.stdout, re.M), done.stdout
    assert done.stdout.count("  as published (") == 3 and "no difference" in done.stdout
    assert list(tmp_path.iterdir()) == []


def check_files(kept):
    """``kept``: the path of a result, without its ending. What CSV and HTML hold is what JSON does."""
    found = json.loads(Path(f"{kept}.json").read_text())
    assert found["schema"] == "gristmill-bench/1" and found["wrong"] == "" and found["tables"]
    columns = [column for table in found["tables"] for column in table["columns"]]
    assert all(column["better"] in ("", "higher", "lower", "same") for column in columns)
    with open(f"{kept}.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert list(lines[0]) == ["table", *dict.fromkeys(column["name"] for column in columns), "note"]
    rows = [{name: row.get(name) for name in lines[0]} for row in found["rows"]]
    assert lines == [{name: "" if value is None else str(value) for name, value in row.items()} for row in rows]
    page = Page(Path(f"{kept}.html").read_text())
    assert page.titles[:-1] == [table["title"] for table in found["tables"]] and page.open == []
    for table in found["tables"]:
        of_table = [row for row in found["rows"] if row["table"] == table["name"]]
        names = {column["name"] for column in table["columns"]}
        assert of_table and all(any(name in row for row in of_table) for name in names)
    return found


class Page(html.parser.HTMLParser):
    """Its titles of the second rank, and what was begun and not ended."""

    def __init__(self, text):
        super().__init__()
        self.titles, self.open = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "br", "link"):
            self.open.append(tag)
        if tag == "h2":
            self.titles.append("")

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "h2":
            self.titles[-1] += data


def kept_by(folder, name, begin, arguments, says):
    """The result of a benchmark, and of its files."""
    kept = folder / f"{name}{len(begin)}"
    files = [word for kind in ("csv", "json", "html") for word in (f"--{kind}", f"{kept}.{kind}")]
    command = [sys.executable, *begin, *map(str, arguments), *files]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, cwd=folder)
    assert done.returncode == 0 and says in done.stdout, done.stdout + done.stderr
    found = check_files(kept)
    assert re.match(rf"gristmill bench {name}( |$)", found["command"]) and found["rows"]
    return found


@pytest.mark.parametrize(
    "name, arguments, says",
    [
        ("startup", ["--calls", 2], "cold, processes"),
        ("batch_shape", ["--records", 4000, "--trials", 1], "tokenize"),
        ("streaming", ["--records", 4000, "--trials", 1, "--trickle", 20], "cat|dd"),
        ("record_size", ["--sizes", "1,300", "--records", 2000, "--calls", 3, "--trials", 1], "gristmill kept pipe"),
        ("codecs", ["--shapes", "nested dict", "--scale", 0.01, "--trials", 1], "gristmill json"),
        ("numa_overhead", ["--records", 4000, "--trials", 2, "--sets", "light,tokenize"], "@8"),
        ("udf", ["--records", 2000, "--trials", 1, "--only", "light", "--only", "tokenize"], "ProcessPoolExecutor"),
        ("totals", ["--quick", "--sets", "light"], "as published ("),
    ],
)
def test_benchmarks_run_from_the_clone_and_from_the_package(tmp_path, name, arguments, says):
    clone = kept_by(tmp_path, name, [str(BENCH / f"{name}.py")], arguments, says)
    package = kept_by(tmp_path, name, ["-m", "gristmill", "bench", name], arguments, says)
    assert clone["environment"]["commit"] != "unknown" == package["environment"]["commit"]


@pytest.mark.parametrize(
    "name, program, arguments, says",
    [
        ("ideal", "bench_ideal", ["--records", 4000, "--pairs", 1, "--workers", 1, "--sets", "light,heavy,tokenize,identity"], "memory"),
        ("kernels", "bench_kernels", ["--sets", "light", "--repetitions", 2, "--min-time", 0.01], "simdjson"),
        ("ring", "bench_ring", ["--only", "cycle,small,budget", "--repetitions", 2, "--min-time", 0.001], "budget/recount"),
    ],
)  # fmt: skip
def test_compiled_benchmarks_are_run(tmp_path, name, program, arguments, says):
    folder = BENCH.parent / "build" / "release" / "bench"
    if not (folder / program).exists():
        pytest.skip(f"there is no release build with {program}; scripts/setup makes one")
    clone = kept_by(tmp_path, name, [str(BENCH / f"{name}.py")], arguments, says)
    begin = ["-m", "gristmill", "bench", name, "--program", str(folder)]
    package = kept_by(tmp_path, name, begin, arguments, says)
    assert str(folder) not in package["command"] and len(package["rows"]) == len(clone["rows"])


@pytest.mark.parametrize("name", ["ideal", "kernels", "ring"])
def test_a_missing_program_is_named(tmp_path, name):
    for options, says in [([], "does not come with the package"), (["--program", "nothing"], "there is no program")]:
        command = [sys.executable, "-m", "gristmill", "bench", name, *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
        assert done.returncode == 2 and says in done.stderr and "--program PATH" in done.stderr, done.stderr
        assert "Traceback" not in done.stderr


def result(folder, name, **changes):
    """The result of a study with one row."""
    row = {"set": "light", "payload": "plugin", "subject": "gristmill", "nodes": "1", "workers": 2, "isolation": "process",
           "records": 1000, "exact": True, "records_per_s": 100.0, "records_per_s_min": 98.0, "records_per_s_max": 102.0,
           "peak_memory_bytes": 1 << 20}  # fmt: skip
    found = {"schema": "gristmill-study/1", "environment": {"cpu": changes.pop("cpu", "one")}, "rows": [{**row, **changes}]}
    path = folder / f"{name}.json"
    path.write_text(json.dumps({**found, "schema": changes.get("schema", found["schema"])}))
    return path


@pytest.mark.parametrize(
    "changes, code, says",
    [
        ({}, 0, "1 rows compared, 0 worse"),
        ({"records_per_s": 90.0, "records_per_s_min": 85.0, "records_per_s_max": 97.0}, 1, "0.900   1.000   SLOWER"),
        ({"records_per_s": 90.0, "records_per_s_min": 85.0, "records_per_s_max": 99.0}, 0, "0 worse"),
        ({"records_per_s": 96.0, "records_per_s_min": 95.0, "records_per_s_max": 97.0}, 0, "0 worse"),
        ({"records_per_s": 120.0, "records_per_s_min": 119.0, "records_per_s_max": 121.0}, 0, "faster"),
        ({"exact": False}, 1, "NOT EXACT"),
        ({"peak_memory_bytes": 2 << 20}, 1, "MORE MEMORY"),
        ({"subject": "a peer"}, 2, "no row in common"),
        ({"schema": "gristmill-study/9"}, 2, "another version: its schema is 'gristmill-study/9'"),
        ({"cpu": "two"}, 0, "note: cpu differs: one before, two after"),
    ],
)
def test_two_results_compared(tmp_path, changes, code, says):
    done = script("compare.py", result(tmp_path, "before"), result(tmp_path, "after", **changes))
    assert done.returncode == code and says in done.stdout + done.stderr, done.stdout + done.stderr


def sheet(folder, file, **changes):
    """The result of a benchmark with one row for each of gristmill and a peer."""
    columns = [
        {"name": "subject", "head": "", "show": "", "better": ""},
        {"name": "workers", "head": "workers", "show": ",d", "better": "same"},
        {"name": "seconds", "head": "s", "show": ".2f", "better": "lower"},
        {"name": "records_per_s", "head": "records/s", "show": ",.0f", "better": "higher"},
        {"name": "batches", "head": "batches", "show": ",d", "better": ""},
    ]
    subject = changes.pop("of", "gristmill")
    found = {key: changes.pop(key) for key in ("name", "wrong") if key in changes}
    row = {"table": "calls", "workers": 2, "seconds": 1.0, "records_per_s": 100.0, "batches": 10}
    rows = [{**row, "subject": each, **(changes if each == subject else {})} for each in ("gristmill", "a peer")]
    path = folder / f"{file}.json"
    tables = [{"name": "calls", "title": "Calls", "columns": columns}]
    path.write_text(json.dumps({"schema": "gristmill-bench/1", "name": "latency", "environment": {}, "tables": tables,
                                "rows": rows, "wrong": "", **found}))  # fmt: skip
    return path


@pytest.mark.parametrize(
    "changes, options, code, says",
    [
        ({}, [], 0, "4 figures compared, 0 worse"),
        ({"records_per_s": 94.0}, [], 1, "0.940    WORSE"),
        ({"records_per_s": 96.0}, [], 0, "0 worse"),
        ({"records_per_s": 96.0}, ["--tolerance", "0.01"], 1, "1 worse"),
        ({"seconds": 1.2}, [], 1, "1.200    WORSE"),
        ({"seconds": 0.5, "records_per_s": 200.0}, [], 0, "0.500   better"),
        ({"batches": 99}, [], 0, "0 worse"),
        ({"seconds": None, "note": "failed"}, [], 1, "NOT HERE"),
        ({"workers": 3}, [], 0, "2 figures compared, 0 worse, 2 rows in one of them only"),
        ({"of": "a peer", "seconds": 2.0}, [], 0, "2.000    worse"),
        ({"of": "a peer", "seconds": 2.0}, ["--peers"], 1, "2.000    WORSE"),
        ({"wrong": "2 differences"}, [], 1, "WRONG: 2 differences"),
        ({"name": "startup"}, [], 2, "results of two benchmarks: latency and startup"),
    ],
)
def test_two_sheets_compared(tmp_path, changes, options, code, says):
    done = script("compare.py", sheet(tmp_path, "before"), sheet(tmp_path, "after", **changes), *options)
    assert done.returncode == code and says in done.stdout + done.stderr, done.stdout + done.stderr


def test_rows_count_where_none_names_a_peer(tmp_path):
    files = [sheet(tmp_path, "before"), sheet(tmp_path, "after", of="a peer", seconds=2.0)]
    for path in files:
        path.write_text(path.read_text().replace('"gristmill"', '"light, function"'))
    done = script("compare.py", *files)
    assert done.returncode == 1 and "2.000    WORSE" in done.stdout


def test_a_study_is_not_compared_with_a_sheet(tmp_path):
    done = script("compare.py", result(tmp_path, "study"), sheet(tmp_path, "sheet"))
    assert done.returncode == 2 and "one is a gristmill-study/1, the other a gristmill-bench/1" in done.stderr


def test_peers_count_only_on_request(tmp_path):
    slow = {"subject": "a peer", "records_per_s": 10.0, "records_per_s_min": 9.0, "records_per_s_max": 11.0}
    files = [result(tmp_path, "before", subject="a peer"), result(tmp_path, "after", **slow)]
    assert script("compare.py", *files).returncode == 0
    assert script("compare.py", *files, "--peers").returncode == 1
