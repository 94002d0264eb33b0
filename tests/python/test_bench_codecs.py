"""codecs says so when what comes back differs from what was given."""

import argparse

import pytest

from gristmill.bench import codec_kinds, codecs, sheet


@pytest.mark.parametrize("shape", codec_kinds.SHAPES)
@pytest.mark.parametrize("name", codec_kinds.KINDS)
def test_objects_survive_each_codec(shape, name):
    kind = codec_kinds.KINDS[name]
    if codec_kinds.missing(kind):
        pytest.skip(codec_kinds.missing(kind))
    values = codec_kinds.objects(shape, 2)
    encode, decode = kind.make(values[0])
    assert [decode(encode(value)) for value in values] == values
    assert codecs.through((encode, decode))(encode(values[0])) == encode(values[0])


def test_what_is_wrong_has_no_rate(capsys):
    found = sheet.Sheet("codecs", codecs.__doc__, argparse.Namespace())
    kinds = {
        "right": codec_kinds.Codec(lambda value: b"%d" % value, int),
        "wrong": codec_kinds.Codec(lambda value: b"%d" % value, lambda data: int(data) + 1),
    }
    alone, away = found.table("a", "", codecs.IN_PROCESS), found.table("b", "", codecs.THROUGH)
    assert codecs.in_process(alone, "integer", kinds, [1, 2, 3], 1) == ["wrong of integer"]
    options = argparse.Namespace(workers=1, trials=1)
    assert codecs.through_workers(away, "integer", kinds, [1, 2, 3], options) == ["gristmill wrong with integer"]
    assert ["note" in row for row in alone.rows] == [False, True]
    assert [row.get("subject") for row in away.rows if "note" in row] == ["gristmill wrong"]
    assert all(row["objects_per_s"] > 0 for row in away.rows if "note" not in row)
