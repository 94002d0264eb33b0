"""The scripts in bench/ that generate, verify and count."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


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


@pytest.mark.parametrize(
    "name, arguments, says",
    [
        ("startup", ["--calls", 2], "cold, processes"),
        ("batch_shape", ["--records", 4000, "--trials", 1], "tokenize"),
        ("streaming", ["--records", 4000, "--trials", 1, "--trickle", 20], "cat|dd"),
        ("numa_overhead", ["--records", 4000, "--trials", 2, "--sets", "light,tokenize"], "@8"),
        ("udf", ["--records", 2000, "--trials", 1, "--only", "light", "--only", "tokenize"], "executor"),
    ],
)
def test_benchmarks_run_from_the_clone_and_from_the_package(tmp_path, name, arguments, says):
    outputs = []
    for begin in [[str(BENCH / f"{name}.py")], ["-m", "gristmill", "bench", name]]:
        kept = tmp_path / f"{len(outputs)}.json"
        command = [sys.executable, *begin, *map(str, arguments), "--json", str(kept)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=250, cwd=tmp_path)
        assert done.returncode == 0 and says in done.stdout, done.stdout + done.stderr
        outputs.append(json.loads(kept.read_text()))
        assert outputs[-1]["command"].startswith(f"gristmill bench {name} ") and outputs[-1]["rows"]
    assert outputs[0]["environment"]["commit"] != "unknown" == outputs[1]["environment"]["commit"]


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


def test_a_study_is_not_compared_with_a_sheet(tmp_path):
    done = script("compare.py", result(tmp_path, "study"), sheet(tmp_path, "sheet"))
    assert done.returncode == 2 and "one is a gristmill-study/1, the other a gristmill-bench/1" in done.stderr


def test_peers_count_only_on_request(tmp_path):
    slow = {"subject": "a peer", "records_per_s": 10.0, "records_per_s_min": 9.0, "records_per_s_max": 11.0}
    files = [result(tmp_path, "before", subject="a peer"), result(tmp_path, "after", **slow)]
    assert script("compare.py", *files).returncode == 0
    assert script("compare.py", *files, "--peers").returncode == 1
