"""The reference stream of each record set in plain Python: its randomness is that of `random`."""

import random
from typing import Callable, Iterator

EVENT_TYPES = {"view": 40, "click": 25, "scroll": 15, "hover": 10, "purchase": 5, "skip": 5}
DEVICES = {"ios": 30, "android": 35, "web": 20, "desktop": 10, "tablet": 5}
TIERS = {"free": 60, "basic": 30, "premium": 10}
REVIEW_WORDS = """the quick brown fox jumps over lazy dog product quality excellent recommend purchase value shipping
fast service great good bad""".split()

COMMON_WORDS = """the of and to in is you that it he was for on are as with his they be at one have this from or had by
hot but some what there we can out other were all your when up use word how said an each she which do their time if will
way about many then them would write like so these her long make thing see him two has look""".split()
TERMS = """database kernel compiler network protocol algorithm buffer cluster latency throughput pipeline
scheduler""".split()
AFFIXES = "ing tion ness ment able ible ful less ly er est ed es s un re in dis en pre".split()
LONG_WORDS = ["internationalization", "electroencephalographically", "hippopotomonstrosesquippedaliophobia"]


def pick(rng: random.Random, weights: dict) -> str:
    """The first whose weight, added to those before it, is above the draw."""
    at, total = rng.random() * sum(weights.values()), 0
    for value, weight in weights.items():
        total += weight
        if at < total:
            return value
    raise AssertionError("a draw beyond the total weight")


def picks(rng: random.Random) -> tuple:
    return pick(rng, EVENT_TYPES), pick(rng, DEVICES), pick(rng, TIERS)


def light(rng: random.Random) -> str:
    event_type, device, _ = picks(rng)
    return (
        f'{{"eid":"evt_{rng.getrandbits(48):012x}","uid":{rng.randint(1, 1000000)},"iid":{rng.randint(1, 50000)}'
        f',"ts":{1700000000 + rng.randint(0, 31536000)},"et":"{event_type}","dev":"{device}"'
        f',"dur":{rng.randint(50, 120000)}}}'
    )


def medium(rng: random.Random) -> str:
    event_type, device, tier = picks(rng)
    top = (
        f'{{"event_id":"evt_{rng.getrandbits(48):012x}","user_id":"user_{rng.randint(1, 1000000):08d}"'
        f',"item_id":"item_{rng.randint(1, 50000):06d}","session_id":"sess_{rng.getrandbits(48):012x}"'
        f',"timestamp":{1700000000 + rng.randint(0, 31536000)},"event_type":"{event_type}","device":"{device}"'
        f',"duration_ms":{rng.randint(50, 120000)},"scroll_depth":{round(rng.uniform(0, 1), 3)}'
        f',"revenue_cents":{rng.randint(100, 9999) if event_type == "purchase" else 0}'
    )
    user = (
        f',"user_context":{{"num_prev_sessions":{rng.randint(1, 500)}'
        f',"avg_session_duration_s":{round(rng.uniform(30, 3600), 1)},"user_tier":"{tier}"'
        f',"days_since_signup":{rng.randint(1, 3650)}}}'
    )
    item = (
        f',"item_context":{{"category":"cat_{rng.randint(1, 200):03d}","price_cents":{rng.randint(99, 99999)}'
        f',"rating":{round(rng.uniform(1, 5), 1)},"num_reviews":{rng.randint(0, 10000)}}}'
    )
    return f'{top}{user}{item},"experiment_bucket":"exp_{rng.choice("ABCDE")}"}}'


def heavy(rng: random.Random) -> str:
    picks(rng)  # of the event that a medium record then draws anew
    event = medium(rng)
    review = " ".join([rng.choice(REVIEW_WORDS) for _ in range(rng.randint(50, 200))])
    query = " ".join([rng.choice(REVIEW_WORDS) for _ in range(rng.randint(3, 10))])
    return f'{event[:-1]},"review_text":"{review}","search_query":"{query}"}}'


def tokenize(rng: random.Random) -> str:
    """A document in the manner of the set, with fewer words to choose from."""
    text = " ".join([document_word(rng) for _ in range(rng.randint(10, 500))])
    source = rng.choice(["web", "books", "code", "news", "forum"])
    return (
        f'{{"doc_id":{rng.getrandbits(20)},"text":"{text}","source":"{source}","lang":"en"'
        f',"timestamp":{1700000000 + rng.randint(0, 31536000)}}}'
    )


def document_word(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.60:
        return rng.choice(COMMON_WORDS)
    if kind < 0.85:
        return rng.choice(TERMS)
    if kind < 0.92:
        return rng.choice(COMMON_WORDS[:20]) + rng.choice(AFFIXES)
    if kind < 0.95:
        return rng.choice(LONG_WORDS)
    return f"tok{rng.randint(1, 30000):05d}"


def vocabulary() -> bytes:
    """The lines of a vocabulary for the documents, some of whose words it does not have."""
    words = COMMON_WORDS + TERMS + AFFIXES[:-6] + LONG_WORDS + [f"tok{i:05d}" for i in range(148, 30000)]
    return "".join(f"{number}\t{word}\n" for number, word in enumerate(words, 1)).encode()


MAKERS: dict = {"light": light, "medium": medium, "heavy": heavy, "tokenize": tokenize}


def stream(name: str, malformed_pct: float = 0, seed: int = 42) -> Iterator[bytes]:
    rng = random.Random(seed)
    make = MAKERS[name]
    while True:
        if rng.random() * 100 < malformed_pct:
            yield spoilt(rng, make).encode()
        else:
            yield make(rng).encode()


def spoilt(rng: random.Random, make: Callable[[random.Random], str]) -> str:
    kind = rng.choice(["truncated", "missing_field", "wrong_type", "garbage", "empty"])
    record = make(rng)
    if kind == "truncated":
        return record[: rng.randint(10, len(record) - 1)]
    if kind == "missing_field":
        fields = list(top_fields(record))
        del fields[rng.randrange(len(fields))]
        return "{" + ",".join(fields) + "}"
    if kind == "wrong_type":
        fields = list(top_fields(record))
        names = [field.split(":")[0] for field in fields]
        at = names.index('"timestamp"') if '"timestamp"' in names else len(fields)
        fields[at : at + 1] = ['"timestamp":"not_a_number"']
        return "{" + ",".join(fields) + "}"
    return "{" + "x" * rng.randint(20, 200) if kind == "garbage" else ""


def top_fields(record: str) -> Iterator[str]:
    """The fields of a compact object without escapes."""
    begin, depth, quoted = 1, 0, False
    for at, char in enumerate(record):
        quoted ^= char == '"'
        if quoted:
            continue
        depth += (char in "{[") - (char in "}]")
        if (depth == 1 and char == ",") or depth == 0:
            yield record[begin:at]
            begin = at + 1
