"""The framing files of the cases through the Python package, by the digest of their records."""

import hashlib
import itertools
import json
from pathlib import Path

import pytest

gm = pytest.importorskip("gristmill")

DATA = Path(__file__).resolve().parent / "data"
CASES = json.loads((DATA / "manifest.json").read_text())
EDGES = [64, 4096, 65536]


def digest(records) -> str:
    """SHA-256 over each record's length, eight bytes little-endian, and the record."""
    sha = hashlib.sha256()
    for record in records:
        sha.update(len(record).to_bytes(8, "little"))
        sha.update(record)
    return sha.hexdigest()


def split(data: bytes, delimiter: bytes) -> list[bytes]:
    records = data.split(delimiter)
    if records[-1] == b"":
        records.pop()
    return records


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"].partition(".")[0])
def test_records_of_the_case(case: dict) -> None:
    path, delimiter = DATA / case["file"], bytes.fromhex(case["delim"])
    blocks = [None, *case.get("blocks", EDGES)]
    for block, workers, nodes in itertools.product(blocks, (1, 2, 7), ("1", "@4")):
        size = {} if block is None else {"batch_bytes": block}
        results = gm.map("identity", path, delimiter=delimiter, workers=workers, nodes=nodes, **size)
        seen = (len(results), digest(results))
        assert seen == (case["records"], case["digest"]), (block, workers, nodes)
        assert bytes(results) == path.read_bytes()


def test_manifest_names_every_file() -> None:
    assert {case["file"] for case in CASES} == {path.name for path in DATA.glob("A*")}


@pytest.mark.parametrize("delimiter", [b"$$$$", b"a", b"b", b"\n", b"\n\n", b"aba"])
def test_any_delimiter(delimiter: bytes) -> None:
    path = DATA / "A04_any_delimiter.txt"
    expected = split(path.read_bytes(), delimiter)
    for block in (1, 2, 3, 5, 64):
        assert list(gm.map("identity", path, delimiter=delimiter, batch_bytes=block)) == expected


def test_lines_keep_their_carriage_return() -> None:
    path = DATA / "A02_crlf_on_edges.txt"
    expected = split(path.read_bytes(), b"\n")
    for block in EDGES:
        assert list(gm.map("identity", path, batch_bytes=block)) == expected


def test_separators_of_other_splitters_stay_in_the_record() -> None:
    results = gm.map("identity", DATA / "A09_unicode_separators.jsonl", batch_bytes=7)
    # Some of these characters JSON wants escaped; that is the reader's affair.
    assert [json.loads(record, strict=False)["n"] for record in results] == list(range(9))
