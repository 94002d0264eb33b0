"""``gristmill plugin check``: plugins that keep the ABI pass, and each fault is named where it shows."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import gristmill as gm


def gristmill(*arguments, **options):
    """Runs the installed command; stdout and stderr as text."""
    command = [str(Path(sys.executable).parent / "gristmill"), *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100, text=True, **options)


def checked(*arguments, code=0):
    """The report of ``plugin check --json`` as {step: its part}."""
    done = gristmill("plugin", "check", "--json", "--seed", 1, *arguments)
    assert (done.returncode, done.stderr) == (code, ""), done
    report = json.loads(done.stdout)
    assert report["ok"] == (code == 0)
    return {step["name"]: step for step in report["steps"]}


def violations(steps):
    return {name: step["violations"] for name, step in steps.items() if step["violations"]}


# --- plugins that keep the ABI


@pytest.mark.parametrize("name", gm.plugins.names())
def test_bundled_plugins_keep_the_abi(tmp_path, name):
    set_of = name if name in gm.datagen.SETS else "light"
    records = tmp_path / "records"
    gm.datagen.generate(set_of, str(records), records=500, malformed_pct=5)
    words = tmp_path / "words"
    words.write_text("1\tthe\n2\tand\n3\tof\n")
    steps = checked(name, "--input", records, *(("--config", words) if name == "tokenize" else ()))
    assert len(steps) == 18 and {step["outcome"] for step in steps.values()} == {"ok"}
    if name == "count":
        assert "GM_PLUGIN_WHOLE_BATCHES" in steps["batching"]["tried"]
    else:
        assert "500 records of the file" in steps["batching"]["tried"]


@pytest.mark.parametrize("kind", [("--delimiter", r"\r\n"), ("--delimiter", r"\x00"), ("--delimiter", "aa"),
                                  ("--framing", "u32le"), ("--framing", "16")])
def test_bundled_plugins_under_other_framings(kind):
    assert not violations(checked("upper", *kind))
    if kind != ("--framing", "16"):  # their output does not have the size of their input
        checked("light", *kind)
        checked("count", *kind)


def test_allowed_is_allowed(plugin):
    assert not violations(checked(plugin("faulty_memory"), "--config", "read-padding"))
    steps = checked(plugin("faulty_results"), "--config", "sum-up")
    assert "legitimate" in steps["batching"]["notes"][0] and "WHOLE_BATCHES" in steps["batching"]["notes"][0]


@pytest.mark.parametrize("name", ["faulty_memory", "faulty_results", "faulty_endings", "faulty_states", "doubled"])
def test_no_fault_no_finding(plugin, name):
    assert not violations(checked(plugin(name)))


# --- plugins that break it, one fault each: where it shows first, and the words for it

FAULTS = [
    ("faulty_memory", "write-past", "one record", "record 0 .* goes 1 byte past the end of the 6 bytes that it reserved"),
    ("faulty_memory", "write-before", "one record", "writes 1 byte before the 6 bytes that it reserved"),
    ("faulty_memory", "write-stale", "one record", r"a reservation that a later reserve\(\) had made invalid"),
    ("faulty_memory", "write-input", "empty records", r"writes to its input, at byte 5000 of the batch \(record 5000 "),
    ("faulty_memory", "read-far", "one record", "byte 70 of a batch of 6 bytes; no more than 64 bytes"),
    ("faulty_memory", "read-before", "memory edges", "in front of the batch, at byte -1"),
    ("faulty_memory", "use-padding", "memory edges", "when the padding behind the batch has other bytes"),
    ("faulty_memory", "leave-unwritten", "memory edges", "commits bytes that it never wrote: from output byte 0"),
    ("faulty_memory", "write-batch", "one record", "changes gm_batch"),
    ("faulty_memory", "write-offsets", "one record", "changes gm_batch or its record_offsets"),
    ("faulty_memory", "write-output", "one record", "changes fields of gm_output"),
    ("faulty_memory", "over-commit", "one record", "commits 7 bytes where 6 are reserved"),
    ("faulty_memory", "commit-twice", "one record", "a reservation can be committed once"),
    ("faulty_memory", "reserve-negative", "one record", r"reserve\(\) for 18446744073709551615 bytes"),
    ("faulty_memory", "ignore-null", "no memory", r"GM_OK .* although reserve\(\) gave NULL"),
    ("faulty_memory", "small-buffer", "huge record", "SIGABRT"),
    ("faulty_results", "miscount", "empty records", r"9999 emitted \+ 0 filtered \+ 0 failed of 10000 records"),
    ("faulty_results", "no-delimiter", "one record", r'does not end with a whole record \("hello"\)'),
    ("faulty_results", "odd-status", "one record", r"process\(\) returns 7"),
    ("faulty_results", "fail-index", "one record", r"names record 1 of a batch that has 1 \(they count from 0\)"),
    ("faulty_results", "fail-twice", "empty records", "fails record 0 of the batch twice"),
    ("faulty_results", "fail-late", "batching", "record 6 is failed when .* bytes of output are committed"),
    ("faulty_results", "carry-over", "same batch again", "something is carried over from batch to batch"),
    ("faulty_results", "carry-over", "states", "something is carried over from batch to batch"),
    ("faulty_results", "number-in-batch", "batching", "the output depends on the batch, first for record 1 of"),
    ("faulty_results", "share", "threads", "share something that is not protected"),
    ("faulty_results", "stop-at-nul", "binary bytes", r"4 emitted \+ 0 filtered \+ 0 failed of 5 records"),
    ("faulty_results", "fail-all", "batching", "every single record of the sample records fails as a whole batch"),
    ("faulty_results", "this-version-only", "newer host", "struct_size .* is larger"),
    ("faulty_endings", "null-pointer", "one record", r"process\(\) of record 0 .* SIGSEGV at address .*a null pointer"),
    ("faulty_endings", "divide-by-size", "empty records", "SIGFPE"),
    ("faulty_endings", "abort", "one record", "SIGABRT"),
    ("faulty_endings", "kill", "one record", "SIGKILL"),
    ("faulty_endings", "endless-recursion", "one record", "uses up its stack"),
    ("faulty_endings", "exit", "one record", "ends the process, with exit status 0"),
    ("faulty_endings", "quick-exit", "one record", "ends the process, with exit status 3"),
    ("faulty_endings", "throw-error", "one record", "lets an exception escape: no such luck"),
    ("faulty_endings", "throw-number", "one record", "lets an exception escape that is no std::exception"),
    ("faulty_endings", "print", "one record", 'prints to standard output.*"here I am'),
    ("faulty_endings", "leave-child", "one record", "leaves a process of its own running"),
    ("faulty_states", "leak-memory", "100 rounds", "80 rounds .* leave [0-9]{5} more bytes of memory behind"),
    ("faulty_states", "leak-pages", "100 rounds", "leave 1280 more pages of memory behind"),
    ("faulty_states", "leak-descriptor", "100 rounds", "leave 80 more open descriptors behind"),
    ("faulty_states", "leak-thread", "100 rounds", "leave 80 more running threads behind"),
    ("faulty_states", "refusal", "create and destroy", '"refusal": no thank you'),
    ("faulty_states", "silent-refusal", "create and destroy", "does not explain why"),
    ("faulty_states", "crash-in-destroy", "create and destroy", r"destroy\(\) crashes with SIGSEGV"),
]
# Faults that no other step may be blamed for.
ALONE = {"read-before", "ignore-null", "small-buffer", "fail-late", "number-in-batch", "share", "stop-at-nul",
         "fail-all", "this-version-only", "leak-memory", "leak-pages", "leak-descriptor", "leak-thread",
         "refusal", "silent-refusal", "crash-in-destroy"}


@pytest.mark.parametrize("name, fault, step, said", FAULTS, ids=[f"{row[1]}-{row[2]}" for row in FAULTS])
def test_a_fault_is_named(plugin, name, fault, step, said):
    found = violations(checked(plugin(name), "--config", fault, code=2))
    assert any(re.search(said, text) for text in found[step]), found
    if step != "states":
        assert step in ("memory edges", next(iter(found)))
    if fault in ALONE:
        assert list(found) == [step]


def test_what_it_printed_before_it_died(plugin):
    steps = checked(plugin("faulty_endings"), "--config", "abort", code=2)
    assert steps["one record"]["notes"] == ["it printed: assertion failed: x > 0"]


def test_a_plugin_that_never_comes_back(plugin):
    started = time.monotonic()
    steps = checked(plugin("faulty_endings"), "--config", "loop", "--step-seconds", "0.5", code=2)
    assert time.monotonic() - started < 30
    assert "after 0.5 s it was still in process() of record 0" in steps["one record"]["violations"][0]
    assert steps["threads"]["outcome"] == "not tried" and "out of time" in steps["threads"]["tried"]


def test_a_record_that_crashes_is_found_in_the_users_file(plugin, file):
    records = file(b"fine\n" * 500 + b"poison\n" + b"fine\n" * 499)
    assert not violations(checked(plugin("faulty_endings"), "--config", "one-record-crashes"))
    steps = checked(plugin("faulty_endings"), "--config", "one-record-crashes", "--input", records, code=2)
    (said,) = steps["batching"]["violations"]
    assert "record 500 of the records of the file (bytes 2500 to 2507) crashes with SIGILL" in said


@pytest.mark.parametrize("symbol, said", [
    ("no_version", "plugin ABI 0"), ("later_version", "plugin ABI 2, the engine knows 1 to 1"),
    ("no_size", "struct_size of 0, of ABI 1 it is at least 48"), ("no_name", "has no name"),
    ("empty_name", "name is empty"), ("bad_name", "SIGSEGV"), ("no_process", r"has no process\(\)"),
    ("unknown_flag", "unknown flags 0x10000000000"), ("no_description", "plugin ABI 0"),
    ("absent", "exports no symbol 'absent'"), ("gm_plugin", "exports no symbol 'gm_plugin'"),
])
def test_descriptions(plugin, symbol, said):
    path = plugin("misdescribed")
    assert not violations(checked(f"{path}:right"))
    steps = checked(f"{path}:{symbol}", code=2)
    assert re.search(said, violations(steps)["load"][0])
    assert {step["outcome"] for name, step in steps.items() if name != "load"} == {"not tried"}


@pytest.mark.parametrize("made, said", [
    (lambda path: None, "No such file"), (lambda path: path.mkdir(), "is a directory"),
    (lambda path: path.write_bytes(b""), "is empty"), (lambda path: path.write_text("int main;"), "build it on this"),
    (lambda path: os.mkfifo(path), "no regular file"),
])
def test_files_that_are_no_plugin(tmp_path, made, said):
    made(tmp_path / "bad.so")
    assert said in violations(checked(tmp_path / "bad.so", code=2))["load"][0]


def test_a_missing_library_is_named(tmp_path):
    source = tmp_path / "needy.c"
    source.write_text("extern int far(void); int (*const gm_plugin)(void) = far;")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "needy.so", "needy.c"], cwd=tmp_path, check=True)
    said = violations(checked(tmp_path / "needy.so", code=2))["load"][0]
    assert "undefined symbol: far" in said and "-lNAME" in said


# --- the command


def test_what_people_see(plugin):
    good = gristmill("plugin", "check", plugin("faulty_memory"), "--seed", 7)
    assert good.returncode == 0 and good.stderr == ""
    assert good.stdout.endswith("keeps the plugin ABI: 18 steps, 18 ok (seed 7)\n")
    assert good.stdout.count("\n  ok ") == 18
    bad = gristmill("plugin", "check", plugin("faulty_memory"), "--config", "write-past")
    assert bad.returncode == 2 and bad.stderr == ""
    assert bad.stdout.count("1 byte past the end of the 6 bytes") == 1 and "as in 'one record'" in bad.stdout
    assert "breaks the plugin ABI: 18 steps, 2 ok, 16 with violations" in bad.stdout


def test_names_are_those_of_map(plugin, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(plugin("doubled"), tmp_path / "mine.so")
    assert gristmill("plugin", "check", "mine.so").returncode == 0
    assert gristmill("plugin", "check", "~/mine.so", env={**os.environ, "HOME": str(tmp_path)}).returncode == 0
    assert "bundled are count" in gristmill("plugin", "check", "lihgt").stderr


@pytest.mark.parametrize("options, said", [
    (("--delimiter", ""), "at least one byte"), (("--delimiter", r"\q"), "there are the escapes"),
    (("--framing", "0"), "at least 1"), (("--framing", "odd"), "takes a number"), (("--seed", "x"), "takes a number"),
    (("--step-seconds", "0"), "above 0"), (("--input", "no-such-file"), "cannot be read: No such file"),
    (("--input", os.devnull), "has no record"), (("--framing", "u32le", "--input", __file__), "incomplete"),
])
def test_options_that_make_no_sense(options, said):
    done = gristmill("plugin", "check", "upper", *options)
    assert (done.returncode, done.stdout) == (2, "") and said in done.stderr


def test_the_seed_repeats_a_check(plugin):
    def texts(seed):
        done = gristmill("plugin", "check", plugin("faulty_results"), "--config", "carry-over", "--seed", seed)
        return done.stdout

    assert texts(3) == texts(3) != texts(4)


def test_ctrl_c_leaves_nothing_behind(plugin):
    command = [str(Path(sys.executable).parent / "gristmill"), "plugin", "check", plugin("faulty_endings"), "--config", "loop"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    while b"create and destroy" not in running.stdout.readline():
        pass
    time.sleep(0.2)
    group = running.pid
    looping = subprocess.run(["ps", "-s", str(group), "-o", "pid="], stdout=subprocess.PIPE, text=True).stdout.split()
    assert len(looping) == 3  # the command, the checker, the step
    os.killpg(group, signal.SIGINT)
    _, said = running.communicate(timeout=10)
    assert running.returncode == 130 and said == b"gristmill: interrupted\n"
    deadline = time.monotonic() + 5
    while any(Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text() for pid in looping):
        assert time.monotonic() < deadline
        time.sleep(0.05)
