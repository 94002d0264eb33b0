"""Plugin and twin on records made by hand: every strange value in every field, and what a JSON parser may get wrong."""

import json

import pytest
from test_workload_bytes import TYPICAL

STRINGS = r"""
"" "view" "ios" "basic" "purchases" "5" "\u0065" "vi\u0065w" "\ud800" "\udc00" "\ud83d\ude00" "\ude00\ud83d" "\uD83D\uDE00"
"\ud83d\\ude00" "\ud83d\u0041" "\\ud83d" "\ud83d\ud83d\ude00\ude00" "\\\ud83d" "\u0000" "\u12" "\u12G4" "\v" "\x41" "\"
"\/\b\f\n\r\t\"\\" "the\u0020cat\u00a0a" "dogs\u00e9s" "\u000b" "é" "😀" "a"b" 'a'
""".split()
STRINGS += ['"a b"', '" "', '"A_b c1 d Dogs"', '"KELVIN \u212a \ufb01sh"', '"\ufeff"', '"\uffff"', '"\u2028"']
STRINGS += [f'"{char}"' for char in "\x7f\x1f\x00\t\n"]
NUMBERS = """
0 -0 -0.0 0.0 1 -1 -0.5 -1.0 49 50 99 99.99 100 100.0 1.0 1e3 1E+3 5e-1 1e2 1e5 1e15 1e16 1e22 1e300 1e-4 1e-5 -1e-20
4.35 0.125 0.00001 0.30000000000000004 123456789.123456789 1700043200.5 -86400.25 5e-324 1e-999 0e999
01 -01 - + +1 .5 1. 1.e3 1e 1e+ 0x10 1_0 NaN Infinity -Infinity nan 1E400 1e999 -1e999
1.7976931348623157e308 1.7976931348623159e308 100000000000000000000 100000000000000000000.0 123456789012345680000.0
9007199254740992 9007199254740993 -9007199254740992 -9007199254740993 9007199254740993.0
9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809 18446744073709551615 18446744073709551616
""".split()
NUMBERS += ["1" * 308, "1" * 400, "1" * 5000, "1" * 309 + ".0", "0." + "1" * 400]
OTHERS = """
nul null nulll true false True truee undefined [] {} [1] [1,] [,1] [[[]]] {"a":1} {"a":1,} {"a"} {a:1} {1:1} [} } , : 1/**/
{"user_tier":"basic"} {"rating":1e999} {"price_cents":-1} {"user_tier":null} {"num_prev_sessions":true}
""".split()
OTHERS += ["[1 2]", "[1\t2]", '{"a":1 "b":2}', "[ ]", "{ }", " 1 ", "1\v"]
RAW = rb"""
\xff \x80 \xc0\x80 \xe0\x80\x80 \xed\xa0\x80 \xed\xbf\xbf \xf0\x80\x80\x80 \xf4\x90\x80\x80 \xf5\x80\x80\x80 \xc3 \xef\xbb\xbf
\xc2\xa0 \xe2\x80\xa8
"""
RAW = [value.decode("unicode_escape").encode("latin-1") for value in RAW.split()]
VALUES = [value.encode() for value in STRINGS + NUMBERS + OTHERS] + RAW + [b'"%s"' % raw for raw in RAW] + [b""]


def printed(fields) -> bytes:
    """An object from pairs of names and printed values."""
    return b"{" + b",".join(b'"%s":%s' % (name.encode(), value) for name, value in fields) + b"}"


def top_fields(name: str):
    """The fields of the typical record, each value as it is printed."""
    return [
        (key, json.dumps(value, separators=(",", ":")).encode()) for key, value in json.loads(TYPICAL[name]).items()
    ]


def changed(name: str, value: bytes):
    """The typical record with `value` for each field, also within the objects, and with more of each."""
    fields = top_fields(name)
    for at, (key, usual) in enumerate(fields):
        yield printed(fields[:at] + [(key, value)] + fields[at + 1 :])
        yield printed(fields + [(key, value)])
        yield printed([(key, value)] + fields)
        if usual.startswith(b"{"):
            inner = [(k, json.dumps(v).encode()) for k, v in json.loads(usual).items()]
            for i, (inner_key, _) in enumerate(inner):
                for new in inner[:i] + [(inner_key, value)] + inner[i + 1 :], inner + [(inner_key, value)]:
                    yield printed(fields[:at] + [(key, printed(new))] + fields[at + 1 :])
    for more in value, b"[%s]" % value, b'{"a":%s,"b":[1,%s]}' % (value, value):
        yield printed(fields + [("x", more)])
    yield printed(fields)[:-1] + b",%s:1}" % value  # as a name
    yield value
    yield printed(fields) + value
    yield value + printed(fields)


@pytest.mark.parametrize("name", TYPICAL)
def test_strange_values_everywhere(pair_of, name):
    for value in VALUES:
        pair_of(name).compare(changed(name, value))


@pytest.mark.parametrize("name", TYPICAL)
def test_fields_missing_and_in_other_orders(pair_of, name):
    fields = top_fields(name)
    records = [printed(fields[::-1]), printed(fields[1:] + fields[:1]), printed(fields[:0]), printed(fields + fields)]
    for at, (key, usual) in enumerate(fields):
        records.append(printed(fields[:at] + fields[at + 1 :]))
        records.append(printed([fields[at]]))
        records.append(printed(fields[:at] + [(key.upper(), usual)] + fields[at + 1 :]))
        records.append(printed(fields[:at] + [(f"\\u{ord(key[0]):04x}{key[1:]}", usual)] + fields[at + 1 :]))
        if usual.startswith(b"{"):
            inner = [(k, json.dumps(v).encode()) for k, v in json.loads(usual).items()]
            for i in range(len(inner)):
                for new in inner[:i] + inner[i + 1 :], inner[i:] + inner[:i]:
                    records.append(printed(fields[:at] + [(key, printed(new))] + fields[at + 1 :]))
    pair_of(name).compare(records)


@pytest.mark.parametrize("name", TYPICAL)
def test_blank_lines_and_what_surrounds_a_record(pair_of, name):
    record = TYPICAL[name]
    pair = pair_of(name)
    blank = [b"", b" ", b"\t", b"\r", b" \t\r \r"]
    assert {verdict.kind for verdict in pair.compare(blank)} == {"filtered"}
    around = [
        b"",
        b" ",
        b"\t \r",
        b"\r",
        b"\n",
        b"\v",
        b"\f",
        b"\0",
        b"\xa0",
        b"\xef\xbb\xbf",
        b",",
        b"}",
        b"x",
        record,
    ]
    pair.compare(before + record + after for before in around for after in around)
    pair.compare([b"\v", b"\0", b"\xef\xbb\xbf", b"\xa0", b"\x85", b"\x1c", b"[" + record + b"]"])
    for encoding in "utf-16-le", "utf-16-be", "utf-32-le", "utf-16", "utf-32", "utf-8-sig":
        pair.compare([record.decode().encode(encoding)])


@pytest.mark.parametrize("name", TYPICAL)
def test_deep_nesting(pair_of, name):
    fields = top_fields(name)
    records = []
    for depth in 500, 900, 960, 998, 999, 1000, 1001, 1023, 1024, 1025, 3000, 100000:
        for opening, innermost, closing in (
            (b"[", b"", b"]"),
            (b"[", b"1", b"]"),
            (b'{"a":', b"{}", b"}"),
            (b'{"\\"[{":', b"1", b"}"),
        ):
            nested = opening * depth + innermost + closing * depth
            records += [nested, printed(fields + [("x", nested)]), printed([("x", nested)] + fields)]
    records.append(printed(fields + [("x", b'"' + b"[" * 3000 + b'"')]))
    records.append(printed(fields + [("x", b"[" + b"[]," * 3000 + b"[]]")]))
    kinds = [verdict.kind for verdict in pair_of(name).compare(records)]
    assert kinds[-2:] == ["emitted", "emitted"]


@pytest.mark.parametrize("name, field", [("heavy", "review_text"), ("tokenize", "text")])
def test_long_texts(pair_of, name, field):
    """Of numbers of words at which buffers end, and of words at whose ends blocks of bytes do."""
    record = json.loads(TYPICAL[name])
    words = ["the", "dogs", "theing", "database", "A1", "é", "internationalization", "q"]
    records = []
    for count in 19, 20, 21, 511, 512, 513, 999, 1000, 1001, 1002, 1023, 1024, 1025, 5000:
        for text in " ".join((words * count)[:count]), " ".join(f"tok{i:05d} x" for i in range(count // 2)):
            records.append(json.dumps({**record, field: text}, separators=(",", ":")).encode())
    for size in range(1, 140):
        for text in "w" * size, " " * size + "the", "theing " * 30 + "e" * size, ("z" * size + " ") * 25:
            records.append(json.dumps({**record, field: text}, separators=(",", ":")).encode())
    pair_of(name).compare(records)
