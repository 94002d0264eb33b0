"""The light plugin, on both its paths, against the payload as Python says it.

Run by ctest as: light_against_oracle.py DIRECTORY_OF_PLUGINS. Random mutations differ from run to
run with --seed; a disagreement prints the record.
"""

import argparse
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

from light_oracle import light  # noqa: E402
from plugin_abi import LoadedPlugin  # noqa: E402

EVENTS = ["view", "click", "scroll", "hover", "purchase", "skip"]
DEVICES = ["ios", "android", "web", "desktop", "tablet"]
VALUES = """0 -0 -1 49 50 1.0 1e3 5e1 01 -01 - + +1 .5 1. 1e 1e+ 1E400 1e999 -1e999 1e-999 0e999 9007199254740992 9007199254740993
-9007199254740992 -9007199254740993 9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809
18446744073709551615 18446744073709551616 100000000000000000000 1.7976931348623157e308 1.7976931348623159e308 0x10 1_0 NaN Infinity
-Infinity nul null true false truee [] {} [1] [1,] [1\t2] {"a":1,} {"a"} {"eid":1} "" "view" "ios" "purchases" "5" "\\u0065" "\\ud800"
"\\udc00" "\\ud83d\\ude00" "\\ude00\\ud83d" "\\ud83d\\\\ude00" "\\ud83d\\u0041" "\\\\ud83d" "\\u0000" "\\u12" "\\v" "\\/\\b\\f\\n\\r\\t\\"\\\\"
"é" "😀" "\ufeff" "\uffff" "\x7f" "\x1f" "\x00" "\t" "a"b" 'a' " "\\" """.split(" ")
TOKENS = ['"', "\\", "{", "}", "[", "]", ",", ":", "0", "1", "-", ".", "e", "\\u", "d800", "é", " ", "\t", "\x0b", "\x00", "null"]
RAW = [b"\xff", b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc3", b"\x80", b"\xef\xbb\xbf", b"\xc2\xa0"]


def event(rng: random.Random) -> dict[str, str]:
    """The fields of a usual record, as they are printed."""
    return {
        "eid": '"evt_%012x"' % rng.getrandbits(48),
        "uid": str(rng.randint(1, 1000000)),
        "iid": str(rng.randint(1, 50000)),
        "ts": str(1700000000 + rng.randint(0, 31536000)),
        "et": '"%s"' % rng.choice(EVENTS),
        "dev": '"%s"' % rng.choice(DEVICES),
        "dur": str(rng.randint(30, 120000)),
    }


def printed(fields: dict[str, str], more: str = "") -> bytes:
    return ("{" + ",".join(f'"{key}":{value}' for key, value in fields.items()) + more + "}").encode()


def usual(rng: random.Random) -> list[bytes]:
    return [printed(event(rng)) for _ in range(20000)]


def peculiar(rng: random.Random) -> list[bytes]:
    """Each strange value in each field, twice in a record, and where nobody reads it."""
    records = [b"", b" \t\r", b"\x0b", b"{}", b"[]", b"null", b"5"]
    for value in VALUES:
        fields = event(rng)
        records += [value.encode(), printed(fields, f',"x":{value}'), printed(fields, f',"x":[[{value}],2]'),
                    printed(fields, f",{value}:1"), printed(fields) + value.encode()]
        for key in fields:
            records += [printed({**fields, key: value}), printed(fields, f',"{key}":{value}')]
            records.append(printed({other: text for other, text in fields.items() if other != key}))
    for depth in (998, 999, 1000, 1001, 1023, 1024, 1025, 3000):
        for opening, innermost, closing in ("[", "", "]"), ("[", "1", "]"), ('{"a":', "{}", "}"), ('{"a":', "1", "}"):
            nested = opening * depth + innermost + closing * depth
            records += [nested.encode(), printed(event(rng), f',"x":{nested}')]
    return records


def mutated(rng: random.Random) -> list[bytes]:
    records = []
    for _ in range(30000):
        record = bytearray(printed(event(rng)))
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(record) + 1)
            token = rng.choice(RAW) if rng.random() < 0.1 else rng.choice(TOKENS).encode()
            record[at : at + rng.randint(0, 3)] = token if rng.random() < 0.8 else record[: rng.randint(0, 9)]
        records.append(bytes(record))
    return records


def expected(record: bytes) -> tuple[bytes, str]:
    try:
        result = light(record)
    except ValueError:
        return b"", "failed"
    return (b"", "filtered") if result is None else (result, "emitted")


def disagreements(plugin: LoadedPlugin, records: list[bytes], batch_records: int = 500) -> int:
    starts = range(0, len(records), batch_records)
    return sum(disagreements_in_batch(plugin, records[at : at + batch_records]) for at in starts)


def disagreements_in_batch(plugin: LoadedPlugin, records: list[bytes]) -> int:
    oracle = [expected(record) for record in records]
    outcome = plugin.run(records)
    failed = set(outcome.failed)
    wrong = 0
    if len(outcome.records) != len(records):
        raise RuntimeError(f"{len(records)} records gave {len(outcome.records)}")
    for index, (record, got, (want, kind)) in enumerate(zip(records, outcome.records, oracle)):
        if got != want or (index in failed) != (kind == "failed"):
            wrong += 1
            print(f"{record[:300]!r}\n  oracle {kind} {want!r}\n  plugin {got!r}, failed: {index in failed}")
    kinds = [kind for _, kind in oracle]
    if (outcome.emitted, outcome.filtered) != (kinds.count("emitted"), kinds.count("filtered")):
        raise RuntimeError("the counts of the plugin are not those of the oracle")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plugins", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    wrong = 0
    for kind in usual, peculiar, mutated:
        records = kind(random.Random(options.seed))
        for config in b"", b"strict":
            wrong += disagreements(LoadedPlugin(str(options.plugins / "light.so"), config), records)
        print(f"{kind.__name__}: {len(records)} records")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
