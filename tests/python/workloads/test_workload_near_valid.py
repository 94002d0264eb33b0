"""Plugin and twin on records that hypothesis makes: nearly valid ones, with something odd here and there."""

import json

import pytest
from test_workload_bytes import TYPICAL

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

WORDS = [
    "the",
    "dogs",
    "a1",
    "running",
    "kernels",
    "theing",
    "internationalization",
    "tok00148",
    "tok00147",
    "é",
    "ß_x",
    "K",
    "x" * 15,
    "x" * 16,
    "y" * 17,
    "\v",
    "\0",
    "\u2028",
    "view",
    "purchase",
    "ios",
    "free",
    "premium",
    "😀",
    "\\",
    '"',
    "  ",
]

texts = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join),
    st.text(max_size=20),
    st.text(alphabet="abs ingTd_1\t\né", max_size=80),
)
integers = st.one_of(
    st.integers(-5, 200000),
    st.integers(0, 3000000000),
    st.integers(-(2**66), 2**66),
    st.sampled_from([2**e + d for e in (15, 31, 53, 63, 64) for d in (-2, -1, 0, 1, 2)]),
)
# Quotients of small integers are near ties of every rounding.
floats = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-2, 200000),
    st.tuples(st.integers(-1000, 1000000), st.sampled_from([1, 2, 8, 10, 16, 20, 32, 100, 160, 1000, 20000])).map(
        lambda q: q[0] / q[1]
    ),
)


@st.composite
def printed_float(draw) -> str:
    value = draw(floats)
    return draw(
        st.sampled_from([repr(value), f"{value:.3f}", f"{value:.17g}", f"{value:e}", f"{value:.1E}", f"{value:.30f}"])
    )


@st.composite
def printed_text(draw) -> str:
    text = draw(texts)
    return json.dumps(text, ensure_ascii=draw(st.booleans()))


scalars = st.one_of(printed_text(), integers.map(str), printed_float(), st.sampled_from(["null", "true", "false"]))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]"),
        st.lists(st.tuples(printed_text(), inner), max_size=3).map(
            lambda pairs: "{" + ",".join(f"{name}:{value}" for name, value in pairs) + "}"
        ),
    ),
    max_leaves=5,
)
spaces = st.sampled_from(["", "", "", " ", "\t", "\r", "\n "])


def like(value) -> st.SearchStrategy:
    """Values mostly of the type of `value`, as they are printed."""
    usual = st.just(json.dumps(value))
    if isinstance(value, str):
        return st.one_of(usual, usual, printed_text(), values)
    if isinstance(value, dict):
        return st.one_of(objects_like(value), objects_like(value), objects_like(value), values)
    return st.one_of(usual, usual, integers.map(str), printed_float(), values)


@st.composite
def objects_like(draw, fields: dict) -> str:
    """Mostly the fields of `fields` in their order, one or another changed, missing, doubled, moved or new."""
    printed = {name: json.dumps(value, separators=(",", ":")) for name, value in fields.items()}
    for name in draw(st.sets(st.sampled_from(sorted(fields)), max_size=3)):
        printed[name] = draw(like(fields[name]))
    pairs = [(json.dumps(name), value) for name, value in printed.items()]
    for change in draw(st.lists(st.sampled_from(["drop", "double", "add", "move"]), max_size=2)):
        at = draw(st.integers(0, len(pairs) - 1)) if pairs else 0
        if change == "add":
            pairs.insert(at, (draw(printed_text()), draw(values)))
        elif pairs and change == "double":
            pairs.append((pairs[at][0], draw(like(fields.get(json.loads(pairs[at][0]), 0)))))
        elif pairs:
            moved = pairs.pop(at)
            if change == "move":
                pairs.append(moved)
    gap = draw(spaces)
    return "{" + f"{gap},".join(f"{gap}{name}{gap}:{gap}{value}" for name, value in pairs) + "}"


@st.composite
def records(draw, name: str) -> bytes:
    record = bytearray(draw(objects_like(json.loads(TYPICAL[name]))).encode("utf-8", "surrogatepass"))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        at = draw(st.integers(0, len(record)))
        record[at : at + draw(st.integers(0, 2))] = draw(
            st.sampled_from([b"", b'"', b"\\", b"0", b"-", b".", b"e", b",", b"\xff", b" ", b"\\ud83d"])
        )
    return bytes(record)


@pytest.mark.parametrize("name", TYPICAL)
def test_near_valid_records(pair_of, name):
    kinds = set()

    @settings(max_examples=300, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(records(name), min_size=1, max_size=4))
    def check(batch):
        kinds.update(verdict.kind for verdict in pair_of(name).compare(batch))

    check()
    assert kinds >= {"emitted", "failed"}
