"""Plugin and twin when any byte of a typical record is another, missing or doubled."""

import pytest

TYPICAL = {
    "light": b'{"eid":"evt_0f3c","uid":7,"iid":30,"ts":1700000060,"et":"click","dev":"web","dur":120}',
    "medium": (
        b'{"event_id":"evt_0f3c","user_id":"user_00000007","item_id":"item_000003","session_id":"sess_1a"'
        b',"timestamp":1700043200,"event_type":"purchase","device":"ios","duration_ms":1500,"scroll_depth":0.125'
        b',"revenue_cents":777,"user_context":{"num_prev_sessions":17,"avg_session_duration_s":90.5'
        b',"user_tier":"basic","days_since_signup":400},"item_context":{"category":"cat_007","price_cents":2999'
        b',"rating":4.5,"num_reviews":0},"experiment_bucket":"exp_C"}'
    ),
    "tokenize": (
        b'{"doc_id":7,"text":"the of theing kernels database internationalization tok00147 tok00148 long you that'
        b' were your networkness he was for on are as with his they","source":"web","lang":"en"'
        b',"timestamp":1700000060}'
    ),
}
TYPICAL["heavy"] = TYPICAL["medium"][:-1] + b',"review_text":"The quick dogs jumping","search_query":"fast 2nd"}'
OTHERS = b'"\\{}[],:019-+.eEuan \t\n\r\x00\x1f\x7f\x80\xc3\xed\xff_Z'


@pytest.mark.parametrize("name", TYPICAL)
def test_the_typical_record_has_a_result(pair_of, name):
    assert [verdict.kind for verdict in pair_of(name).compare([TYPICAL[name]])] == ["emitted"]


@pytest.mark.parametrize("name", TYPICAL)
def test_every_byte_changed(pair_of, name):
    record = TYPICAL[name]
    pair_of(name).compare(
        record[:at] + bytes([other]) + record[at + 1 :] for at in range(len(record)) for other in OTHERS
    )


@pytest.mark.parametrize("name", TYPICAL)
def test_every_byte_deleted_doubled_or_the_last(pair_of, name):
    record = TYPICAL[name]
    positions = range(len(record))
    pair_of(name).compare(record[:at] + record[at + 1 :] for at in positions)
    pair_of(name).compare(record[: at + 1] + record[at:] for at in positions)
    pair_of(name).compare(record[:at] for at in positions)
    pair_of(name).compare(record[at:] for at in positions)


@pytest.mark.parametrize("name", TYPICAL)
def test_whitespace_at_every_place(pair_of, name):
    record = TYPICAL[name]
    pair_of(name).compare(
        record[:at] + space + record[at:] for at in range(len(record) + 1) for space in [b" ", b"\t", b"\n", b"\v"]
    )
