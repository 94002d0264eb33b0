"""Python functions as payloads: what they may be, what they get, what they may return."""

import functools
import itertools
import os
import random
import subprocess
import sys
import textwrap
import threading

import pytest
from expected_records import split
from processes import descendants

import gristmill as gm

STARTS = ["fork", "fresh"]


class Suffix:
    """Its instances, and their bound methods, are functions of records."""

    def __init__(self, text=b"!"):
        self.text = text

    def __call__(self, record):
        return record + self.text

    def shout(self, record):
        return record.upper() + self.text

    @classmethod
    def of_class(cls, record):
        return record + cls.__name__.encode()

    @staticmethod
    def of_nobody(record):
        return record[::-1]


def append(record, text, *, end=b""):
    return record + text + end


def closure_over(text):
    return lambda record: record + text


CALLABLES = {
    "builtin": (bytes.upper, b"AB"),
    "lambda": (lambda record: record + b"?", b"ab?"),
    "closure": (closure_over(b"#"), b"ab#"),
    "partial": (functools.partial(append, text=b"1", end=b"2"), b"ab12"),
    "instance": (Suffix(b"*"), b"ab*"),
    "bound method": (Suffix(b"*").shout, b"AB*"),
    "method of a built-in": (b"x".join, None),
    "class method": (Suffix.of_class, b"abSuffix"),
    "static method": (Suffix.of_nobody, b"ba"),
    "class": (Suffix, b"ab!"),
    "named": ("gristmill.workloads:light", None),
    "named method": ("builtins:bytes.upper", b"AB"),
    "class of records": (bytes, b"ab"),
}


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left():
    before = sorted(os.listdir("/dev/shm"))
    yield
    assert descendants() == []
    assert sorted(os.listdir("/dev/shm")) == before


@pytest.mark.parametrize("name", CALLABLES)
def test_callables(file, name):
    function, wanted = CALLABLES[name]
    source = file(b"ab\n" * 5)
    runs = [list(gm.map(function, source, workers=2, on_error="skip", start=start)) for start in STARTS]
    runs.append(list(gm.map(function, source, workers=0, on_error="skip")))
    with gm.Engine(workers=1) as engine:
        runs.append(list(engine.map(function, source, on_error="skip")))
    assert wanted is None or runs[0] == [wanted] * 5
    assert runs == runs[:1] * 4


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("how", ["-c", "-", "exec", "file"])
def test_functions_of_main(tmp_path, file, start, how):
    script = textwrap.dedent(
        f"""
        import gristmill as gm
        SUFFIX = b"!"
        class Words(Exception): pass
        def helper(record): return record + SUFFIX
        def function(record):
            if record == b"bad": raise Words("no")
            return helper(record)
        results = gm.map(function, {file(b"a%sbad%sb" % (b"%c" % 10, b"%c" % 10))!r}, start={start!r}, on_error="collect")
        print(list(results), [(error.kind, error.reason) for error in results.errors])
        """
    )
    if how == "exec":
        script = f"exec({script!r})"
    (tmp_path / "main.py").write_text(script)
    arguments = {"-c": ["-c", script], "exec": ["-c", script], "-": ["-"], "file": [tmp_path / "main.py"]}[how]
    done = subprocess.run(
        [sys.executable, *arguments], input=script, capture_output=True, text=True, timeout=50
    )
    assert (done.stdout, done.stderr) == ("[b'a!', b'b!'] [('__main__.Words', 'Words: no')]\n", "")


def test_each_worker_makes_an_instance_and_closes_it(tmp_path, file):
    log = str(tmp_path / "log")

    def note(what):
        with open(log, "a") as out:
            out.write(f"{what} {os.getpid()}\n")

    class Counts:
        def __init__(self):
            note("made")
            self.calls = 0

        def __call__(self, record):
            self.calls += 1
            return b"%d" % self.calls

        def close(self):
            note(f"closed after {self.calls}")

    results = gm.map(Counts, file(b"x\n" * 100), workers=2, batch_records=10)
    lines = open(log).read().splitlines()
    made = [line.split()[-1] for line in lines if line.startswith("made")]
    closed = [line.split() for line in lines if line.startswith("closed")]
    assert 1 <= len(made) <= 2 and len(set(made)) == len(made)
    assert sorted(line[-1] for line in closed) == sorted(made)
    assert sum(int(line[2]) for line in closed) == 100
    assert len(results) == 100 and max(map(int, results)) == max(int(line[2]) for line in closed)


def test_a_slow_close_is_waited_for(tmp_path, file):
    class Commits:
        def __init__(self):
            self.records = []

        def __call__(self, record):
            self.records.append(record)
            return record

        def close(self):
            threading.Event().wait(0.4)
            (tmp_path / str(os.getpid())).write_bytes(b"".join(self.records))

    source = file(b"abc\n", "in")
    gm.run(Commits, source, workers=1)
    (committed,) = (path for path in tmp_path.iterdir() if path.name != "in")
    assert committed.read_bytes() == b"abc"


def test_functions_with_names_that_are_not_there(file):
    for name, said in [
        ("no_such_module:f", "no_such_module"),
        ("os:no_such_name", "no_such_name"),
        ("sys:maxsize", "not callable"),
    ]:
        with pytest.raises(gm.GristmillError, match=said):
            gm.map(name, file(b"a\n"), workers=1)


def test_a_class_whose_instances_cannot_be_called_is_a_function_that_makes_them(file):
    assert list(gm.map(bytearray, file(b"ab\n"), workers=1)) == [b"ab"]
    with pytest.raises(TypeError, match=r"int\(\) returned int"):
        gm.map(int, file(b"7\n"), workers=1)


UNPICKLABLE = threading.Lock()


def test_functions_that_cannot_travel(file):
    lock, source = UNPICKLABLE, file(b"a\n")

    def function(record):
        with lock:
            return record

    assert list(gm.map(function, source, start="fork")) == [b"a"]
    assert list(gm.map(function, source, workers=0)) == [b"a"]
    with gm.Engine(workers=1) as engine:
        for call in (functools.partial(gm.map, start="fresh"), engine.map):
            with pytest.raises(TypeError, match=r"function cannot be sent .*start='fork'") as caught:
                call(function, source)
            assert isinstance(caught.value, gm.OptionError) and caught.value.__cause__ is not None
        assert list(engine.map(bytes.upper, source)) == [b"A"]


def test_a_later_start_of_an_engine_is_refused(file):
    source = file(b"a\n")
    with gm.Engine(workers=1, start="fork") as engine:
        engine.run(bytes.upper, source)
        engine.run(bytes.upper, source)
        engine.run(bytes.upper, source, start="auto")
        with pytest.raises(gm.OptionError, match="start='fresh' comes too late"):
            engine.run(bytes.upper, source, start="fresh")


RETURNS = {
    "bytes": (b"by", b"by"),
    "empty": (b"", b""),
    "bytearray": (bytearray(b"ba"), b"ba"),
    "view": (memoryview(b"mv"), b"mv"),
    "view with steps": (memoryview(b"m-v-")[::2], b"mv"),
    "view of words": (memoryview(b"12345678").cast("I"), b"12345678"),
    "str": ("t\u00e9xt", "t\u00e9xt".encode()),
    "subclass": (type("Mine", (bytes,), {})(b"mine"), b"mine"),
    "none": (None, None),
}
BAD_RETURNS = {
    "int": 7, "float": 1.5, "bool": True, "list": [b"x"], "tuple": (b"x",), "dict": {b"k": 1}, "set": {1},
    "object": object(), "type": bytes, "generator": (i for i in b"12"), "iterator": iter([b"1"]),
}  # fmt: skip


def look_up_good(record):
    return RETURNS[record.decode()][0]


def look_up_bad(record):
    return BAD_RETURNS.get(record.decode(), record)


@pytest.mark.parametrize("workers, size", [(0, 100), (1, 1), (4, 100)])
def test_what_a_function_may_return(file, workers, size):
    source = file(b"".join(name.encode() + b"\n" for name in RETURNS))

    wanted = [wanted for _, wanted in RETURNS.values()]
    results = gm.map(look_up_good, source, workers=workers, batch_records=size)
    assert list(results) == [each for each in wanted if each is not None]
    assert (results.report.emitted, results.report.filtered) == (len(RETURNS) - 1, 1)
    results = gm.map(look_up_good, source, workers=workers, batch_records=size, filtered="blank")
    assert list(results) == [each or b"" for each in wanted]


@pytest.mark.parametrize("workers, size", [(0, 100), (1, 1), (4, 100)])
def test_what_a_function_must_not_return(file, workers, size):
    names = [*BAD_RETURNS, "last"]
    source = file(b"".join(name.encode() + b"\n" for name in names))

    results = gm.map(look_up_bad, source, workers=workers, batch_records=size, on_error="collect")
    assert list(results) == [b"last"]
    for index, (name, error) in enumerate(zip(names, results.errors)):
        assert isinstance(error, TypeError) and isinstance(error, gm.BadReturnError)
        assert (error.index, error.excerpt) == (index, name.encode())
        given = type(BAD_RETURNS[name]).__name__
        assert f"look_up_bad() returned {given};" in str(error) and "bytes, bytearray, memoryview or str" in str(error)
    with pytest.raises(TypeError, match=r"record 0 of .*look_up_bad\(\) returned int"):
        gm.map(look_up_bad, source, workers=workers, batch_records=size)


def test_a_str_without_utf8_fails_its_record(file):
    results = gm.map(lambda record: record.decode("latin-1") if record != b"b" else "\udc80", file(b"a\nb\n\xe9\n"),
                     on_error="collect")  # fmt: skip
    assert list(results) == [b"a", "\u00e9".encode()]
    assert results.errors[0].kind == "UnicodeEncodeError"


def test_results_are_what_the_calls_returned_delimiters_included(tmp_path, file):
    returned = [b"", b"\n", b"a\nb", b"\n\n\n", b"end\n", b"\r\n", b"\0"]
    source = file(b"".join(b"%d\n" % n for n in range(len(returned))))
    for options in ({}, {"batch_records": 1}, {"batch_records": 2, "workers": 2}, {"workers": 0}):
        results = gm.map(lambda record: returned[int(record)], source, **options)
        assert list(results) == returned and [results[i] for i in range(-7, 0)] == returned
        assert len(results) == results.report.output_records == 7
        joined = b"".join(each + b"\n" for each in returned)
        assert bytes(results) == b"".join(results.batches()) == joined
        results.write(tmp_path / "out")
        assert (tmp_path / "out").read_bytes() == joined
        gm.run(lambda record: returned[int(record)], source, output=tmp_path / "out", **options)
        assert (tmp_path / "out").read_bytes() == joined


def framed(records, framing, delimiter):
    if framing == "u32le":
        return b"".join(len(record).to_bytes(4, "little") + record for record in records)
    return b"".join(record + (delimiter if framing == "delimiter" else b"") for record in records)


@pytest.mark.parametrize(
    "framing, delimiter", [("u32le", b""), (5, b"")] + [("delimiter", d) for d in (b"\n", b"\r\n", b"aab", b"$$$$", b"\0")]
)
def test_framings(file, framing, delimiter):
    rng = random.Random(str((framing, delimiter)))
    alphabet = b"xyz\r" if delimiter else b"ab\n\0"
    records = [bytes(rng.choices(alphabet, k=5 if framing == 5 else rng.randrange(9))) for _ in range(500)]
    data = framed(records, framing, delimiter)
    options = {"framing": framing} if not delimiter else {"delimiter": delimiter}

    def function(record):
        return None if len(record) == 3 else record * 2 + delimiter if b"z" in record else record[:2]

    returned = [each for each in map(function, records) if each is not None]
    source = file(data)
    for more in ({"batch_records": 1, "workers": 2}, {"batch_records": 100}, {"workers": 0}, {"batch_bytes": 99}):
        results = gm.map(function, source, **options, **more)
        assert list(results) == returned
        assert bytes(results) == framed(returned, framing, delimiter)
    blank = [each or b"" for each in map(function, records)]
    assert list(gm.map(function, source, filtered="blank", **options)) == blank


@pytest.mark.parametrize("last", ["kept", "dropped", "empty", "missing"])
def test_the_last_delimiter(tmp_path, file, last):
    source = file(b"a\nb" + (b"" if last != "missing" else b"\n"))
    result = {"kept": b"B", "dropped": None, "empty": b"", "missing": b"B"}[last]

    def function(record):
        return b"A" if record == b"a" else result

    wanted = {"kept": b"A\nB", "dropped": b"A\n", "empty": b"A\n\n", "missing": b"A\nB\n"}[last]
    for options in ({}, {"batch_records": 1}, {"workers": 0}):
        assert bytes(gm.map(function, source, **options)) == wanted
        gm.run(function, source, output=tmp_path / "out", **options)
        assert (tmp_path / "out").read_bytes() == wanted


def test_several_sources(file):
    sources = [file(b"a\nb"), file(b""), file(b"c\n"), file(b"\n")]
    assert list(gm.map(lambda record: record + b".", sources, batch_records=1)) == [b"a.", b"b.", b"c.", b"."]
    assert list(gm.map(bytes.upper, [])) == list(gm.map(bytes.upper, file(b""))) == []


@pytest.mark.parametrize("options", [
    {"workers": workers, "batch_records": size, "nodes": nodes}
    for workers, size, nodes in itertools.product([1, 2, 7], [1, 7, 1000], ["auto", "@4"]) if (workers == 7) or nodes == "auto"
])  # fmt: skip
def test_uneven_work_stays_in_order(file, options):
    source = file(b"".join(b"%d\n" % n for n in range(1000)))

    def uneven(record):
        number = int(record)
        if number % 170 == 0:
            threading.Event().wait(0.01)
        return None if number % 3 == 0 else record

    results = gm.map(uneven, source, batches_per_worker=20, **options)
    assert list(results) == [b"%d" % n for n in range(1000) if n % 3]
    assert results.report.filtered == 334
    blank = gm.map(uneven, source, filtered="blank", **options)
    assert list(blank) == [b"%d" % n if n % 3 else b"" for n in range(1000)]
    assert sorted(gm.map(uneven, source, order="none", **options)) == sorted(results)


def test_failed_records_are_blank_too(file):
    results = gm.map(lambda record: {b"0": record, b"1": None}[record], file(b"0\n1\n2\n0\n" + b"0" * 9 + b"\n0"),
                     filtered="blank", on_error="collect", max_record=8)  # fmt: skip
    assert list(results) == [b"0", b"", b"", b"0", b"", b"0"]
    report = results.report
    assert (report.read, report.emitted, report.filtered, report.failed) == (6, 3, 1, 2)


@pytest.mark.parametrize("start", STARTS)
def test_records_may_be_kept(file, start):
    kept = []

    def keep(record):
        kept.append((record, memoryview(record)[1:], bytearray(record)))
        if record == b"last":
            return str(all(bytes(a) == bytes(c) and bytes(b) == bytes(c)[1:] for a, b, c in kept))
        return b""

    source = file(b"".join(b"record %d\n" % n for n in range(20_000)) + b"last\n")
    assert gm.map(keep, source, workers=1, start=start)[-1] == b"True"


@pytest.mark.parametrize("start", STARTS)
def test_random_numbers_differ_between_workers_and_runs(file, start):
    source = file(b"x\n" * 400)

    def draw(record):
        return repr(random.random())

    random.seed(1)
    with gm.Engine(workers=4, batch_records=10, start=start) as engine:
        drawn = [*engine.map(draw, source), *engine.map(draw, source, batches_per_worker=2)]
    random.seed(1)
    drawn += gm.map(draw, source, workers=4, start=start)
    assert len(set(drawn)) == 1200


def test_numpy_is_seeded_in_each_worker(file, monkeypatch):
    class Numpy:
        seeded_in = 0

        def seed(self):
            self.seeded_in = os.getpid()

    numpy = Numpy()
    monkeypatch.setitem(sys.modules, "numpy.random", numpy)
    seeded = gm.map(lambda record: str(numpy.seeded_in == os.getpid()), file(b"x\n" * 50), start="fork", batch_records=1)
    assert set(seeded) == {b"True"}


@pytest.mark.parametrize("workers, records, size", [(1, 60, 200_000), (4, 60, 200_000), (2, 2, 50_000_000)])
def test_large_results(file, workers, records, size):
    source = file(b"".join(b"%d\n" % (n % 10) for n in range(records)))
    results = gm.map(lambda record: record * size, source, workers=workers, batch_records=1)
    for number, result in enumerate(results):
        assert len(result) == size and result[:1] == result[-1:] == b"%d" % (number % 10)
    report = gm.run(lambda record: record * size, source, workers=workers)
    assert report.output_bytes == records * (size + 1)


def test_the_report_of_a_run(file):
    report = gm.run(lambda record: record, file(b"x\n" * 1000), workers=2, batch_records=100, batches_per_worker=1)
    assert (report.read, report.batches, report.workers) == (1000, 10, 2)
    assert (report.worker_deaths, report.retries) == (0, 0)
    assert report.cpu_seconds > 0 and sum(node.records for node in report.nodes) == 1000


def test_workers_are_asked_to_leave_after_their_batches(file):
    source = file(b"x\n" * 100)
    pids = gm.map(lambda record: b"%d" % os.getpid(), source, workers=2, batch_records=10, batches_per_worker=2)
    assert len(set(pids)) == 5
    assert all(list(pids).count(pid) == 20 for pid in set(pids))


def test_a_hint_where_the_call_costs_more_than_the_work(tmp_path):
    path = tmp_path / "many.txt"
    path.write_bytes(b"record\n" * 100_000)
    report = gm.run(bytes.upper, path, workers=1)
    assert "gristmill.batch" in report.hint
    assert report.hint in str(report) and "gristmill.batch" in report._repr_html_()
    assert not gm.run(gm.batch(bytes_of), path, workers=1).hint
    assert not gm.run(reluctant, path, workers=1).hint
    few = tmp_path / "few.txt"
    few.write_bytes(b"record\n" * 1000)
    assert not gm.run(bytes.upper, few, workers=1).hint


def bytes_of(batch):
    return bytes(batch.data)


def reluctant(record):
    for _ in range(100):
        record = record.upper()
    return record
