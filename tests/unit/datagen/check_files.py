"""Judges generated files by the specification, with nothing of the generator but its writer.

    check_files.py WRITER

WRITER: the program datagen_writer.
"""

import gzip
import json
import math
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

WRITER = ""
RECORDS = {"light": 20000, "medium": 20000, "heavy": 2000, "tokenize": 2000}
STREAMS = ("reference", "fast")

EVENT_TYPES = {"view": 40, "click": 25, "scroll": 15, "hover": 10, "purchase": 5, "skip": 5}
DEVICES = {"ios": 30, "android": 35, "web": 20, "desktop": 10, "tablet": 5}
TIERS = {"free": 60, "basic": 30, "premium": 10}
TIMES = (1700000000, 1731536000)
WORDS = set(
    "the quick brown fox jumps over lazy dog product quality excellent recommend purchase value shipping "
    "fast service great good bad".split()
)
SUFFIXES = "ing tion ness ment able ible ful less ly er est ed es s".split()

KEYS = {
    "light": "eid uid iid ts et dev dur",
    "medium": "event_id user_id item_id session_id timestamp event_type device duration_ms scroll_depth "
    "revenue_cents user_context item_context experiment_bucket",
    "tokenize": "doc_id text source lang timestamp",
}
KEYS["heavy"] = KEYS["medium"] + " review_text search_query"


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "records"

    def write(self, name, stream="fast", records=1000, malformed=0, compression="none", **options):
        command = [WRITER, name, stream, str(records), str(malformed), compression, str(self.file)]
        return subprocess.run(command, stderr=subprocess.PIPE, text=True, **options)

    def lines(self):
        content = self.file.read_bytes()
        self.assertTrue(content.endswith(b"\n"))
        return content[:-1].split(b"\n")

    def manifest(self):
        return json.loads(Path(f"{self.file}.manifest.json").read_text())


class Distribution:
    """Values of one field over all records, against what they are drawn from."""

    def __init__(self, test: unittest.TestCase, records) -> None:
        self.test, self.records = test, records
        self.deviations = 6 / math.sqrt(len(records))  # six standard deviations of a mean

    def values(self, path):
        for record in self.records:
            for key in path.split("."):
                record = record[key]
            yield record

    def uniform(self, path, low, high, kind=int) -> None:
        self.numbers(path, [*self.values(path)], low, high, kind)

    def numbers(self, what, values, low, high, kind=int) -> None:
        self.test.assertEqual({type(value) for value in values}, {kind}, what)
        self.test.assertGreaterEqual(min(values), low, what)
        self.test.assertLessEqual(max(values), high, what)
        allowed = self.deviations * (high - low) / math.sqrt(12)
        self.test.assertAlmostEqual(sum(values) / len(values), (low + high) / 2, delta=allowed, msg=what)

    def digits(self, path, pattern, low, high) -> None:
        found = [re.fullmatch(pattern, value) for value in self.values(path)]
        self.test.assertTrue(all(found), path)
        self.numbers(path, [int(match[1]) for match in found], low, high)

    def texts(self, path, pattern) -> None:
        for value in self.values(path):
            self.test.assertRegex(value, rf"\A{pattern}\Z")

    def shares(self, path, weights) -> None:
        values = [*self.values(path)]
        self.test.assertEqual(set(values), set(weights), path)
        for value, weight in weights.items():
            share = weight / sum(weights.values())
            allowed = self.deviations * math.sqrt(share * (1 - share))
            self.test.assertAlmostEqual(values.count(value) / len(values), share, delta=allowed, msg=path)


def check_light(of: Distribution) -> None:
    of.texts("eid", "evt_[0-9a-f]{12}")
    of.uniform("uid", 1, 1000000)
    of.uniform("iid", 1, 50000)
    of.uniform("ts", *TIMES)
    of.shares("et", EVENT_TYPES)
    of.shares("dev", DEVICES)
    of.uniform("dur", 50, 120000)


def check_medium(of: Distribution) -> None:
    of.texts("event_id", "evt_[0-9a-f]{12}")
    of.digits("user_id", r"user_(\d{8})", 1, 1000000)
    of.digits("item_id", r"item_(\d{6})", 1, 50000)
    of.texts("session_id", "sess_[0-9a-f]{12}")
    of.uniform("timestamp", *TIMES)
    of.shares("event_type", EVENT_TYPES)
    of.shares("device", DEVICES)
    of.uniform("duration_ms", 50, 120000)
    of.uniform("scroll_depth", 0, 1, float)
    of.uniform("user_context.num_prev_sessions", 1, 500)
    of.uniform("user_context.avg_session_duration_s", 30, 3600, float)
    of.shares("user_context.user_tier", TIERS)
    of.uniform("user_context.days_since_signup", 1, 3650)
    of.digits("item_context.category", r"cat_(\d{3})", 1, 200)
    of.uniform("item_context.price_cents", 99, 99999)
    of.uniform("item_context.rating", 1, 5, float)
    of.uniform("item_context.num_reviews", 0, 10000)
    of.shares("experiment_bucket", {f"exp_{letter}": 1 for letter in "ABCDE"})
    for record in of.records:
        sold = record["event_type"] == "purchase"
        of.test.assertTrue(100 <= record["revenue_cents"] <= 9999 if sold else record["revenue_cents"] == 0)
    decimals = {"scroll_depth": 3, "user_context.avg_session_duration_s": 1, "item_context.rating": 1}
    for path, places in decimals.items():
        of.test.assertTrue(all(round(value, places) == value for value in of.values(path)), path)


def check_heavy(of: Distribution) -> None:
    check_medium(of)
    for path, low, high in (("review_text", 50, 200), ("search_query", 3, 10)):
        texts = [value.split(" ") for value in of.values(path)]
        of.numbers(path, [len(words) for words in texts], low, high)
        of.test.assertEqual({word for words in texts for word in words}, WORDS)


def check_tokenize(of: Distribution) -> None:
    of.test.assertEqual([*of.values("doc_id")], [*range(len(of.records))])
    of.numbers("text", [len(text.split(" ")) for text in of.values("text")], 50, 500)
    of.shares("source", {name: 1 for name in "web books code news forum".split()})
    of.shares("lang", {"en": 1})
    of.uniform("timestamp", *TIMES)
    words = [word for text in of.values("text") for word in text.split(" ")]
    numbered = [int(word[3:]) for word in words if re.fullmatch(r"tok\d{5}", word)]
    of.test.assertAlmostEqual(len(numbered) / len(words), 0.05, delta=0.003)
    of.numbers("tok", numbered, 1, 30000)
    of.test.assertAlmostEqual(sum(len(word) >= 20 for word in words) / len(words), 0.03, delta=0.003)
    of.test.assertAlmostEqual(sum(map(len, words)) / len(words), 5.93, delta=0.1)


CHECKS = {"light": check_light, "medium": check_medium, "heavy": check_heavy, "tokenize": check_tokenize}


def tokens_of(text, vocabulary):
    tokens = []
    for word in text.split():
        if word in vocabulary:
            tokens.append(vocabulary[word])
            continue
        for suffix in SUFFIXES:
            stem = word[: -len(suffix)]
            if word.endswith(suffix) and len(stem) > 2 and stem in vocabulary:
                tokens += [vocabulary[stem], vocabulary.get(suffix, 0)]
                break
        else:
            tokens.append(0)
    return tokens


def gives_a_result(name, line, vocabulary) -> bool:
    """What the payloads do with a record of these files, as far as it matters whether."""
    try:
        record = json.loads(line)
    except ValueError:
        return False
    if name == "light":
        return set(KEYS["light"].split()) <= set(record) and record["dur"] >= 50
    if name == "tokenize":
        if not {"doc_id", "text"} <= set(record):
            return False
        tokens = tokens_of(record["text"], vocabulary)
        return 20 <= len(tokens) <= 1000 and len(set(tokens)) / len(tokens) >= 0.1
    required = {"event_id", "user_id", "item_id", "timestamp", "event_type", "device"}
    return required <= set(record) and type(record["timestamp"]) is int and record.get("duration_ms", 0) >= 100


class Files(Folder):
    def test_whole_records_are_as_specified(self) -> None:
        for name, records in RECORDS.items():
            for stream in STREAMS:
                with self.subTest(name, stream=stream):
                    self.assertEqual(self.write(name, stream, records).returncode, 0)
                    lines = self.lines()
                    self.assertEqual(len(lines), records)
                    parsed = [json.loads(line) for line in lines]
                    for line, record in zip(lines, parsed):
                        # Compact, in order, numbers as Python prints them.
                        self.assertEqual(json.dumps(record, separators=(",", ":")).encode(), line)
                        self.assertEqual(list(record), KEYS[name].split())
                    CHECKS[name](Distribution(self, parsed))

    def test_valid_records_are_counted(self) -> None:
        for name, records in RECORDS.items():
            for stream in STREAMS:
                with self.subTest(name, stream=stream):
                    self.assertEqual(self.write(name, stream, records, malformed=20).returncode, 0)
                    vocabulary = {}
                    if name == "tokenize":
                        text = Path(f"{self.file}.vocab").read_text()
                        vocabulary = {word: int(id) for id, word in (row.split("\t") for row in text.splitlines())}
                    lines = self.lines()
                    valid = sum(gives_a_result(name, line, vocabulary) for line in lines)
                    manifest = self.manifest()
                    self.assertEqual((manifest["records"], manifest["valid"]), (len(lines), valid))
                    self.assertEqual(manifest["bytes"], self.file.stat().st_size)
                    self.assertTrue(0.8 < valid / records < 0.9)

    def test_gzip_files_are_read_by_others(self) -> None:
        self.write("light", compression="gz")
        packed = gzip.decompress(self.file.read_bytes())
        self.write("light")
        self.assertEqual(packed, self.file.read_bytes())


class BrokenRuns(Folder):
    """What is there when a run does not come to its end: what was there before."""

    def content(self):
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if not path.name.startswith(".")}

    def killed(self) -> None:
        command = [WRITER, "heavy", "fast", "1000000000", "0", "none", str(self.file)]
        with subprocess.Popen(command) as writer:
            time.sleep(0.3)
            writer.send_signal(signal.SIGKILL)
        self.assertEqual(writer.returncode, -signal.SIGKILL)

    def full(self) -> None:
        """A limit on the size of files takes the place of a full disk."""

        def limit() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (5000000, 5000000))

        written = self.write("heavy", records=10000, preexec_fn=limit, restore_signals=False)
        self.assertEqual(written.returncode, 1)
        self.assertIn(str(self.file), written.stderr)

    def test_leave_nothing(self) -> None:
        for broken in (self.killed, self.full):
            broken()
            self.assertEqual(self.content(), {})

    def test_leave_what_was_there(self) -> None:
        self.assertEqual(self.write("light").returncode, 0)
        before = self.content()
        for broken in (self.killed, self.full):
            broken()
            self.assertEqual(self.content(), before)


if __name__ == "__main__":
    WRITER = os.path.abspath(sys.argv.pop(1))
    unittest.main()
