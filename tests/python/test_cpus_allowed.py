"""How many CPUs are used, and which: quotas, affinity masks, and containers that forbid placement."""

import ctypes
import os
import platform
import subprocess
import sys

import pytest

import gristmill as gm

CPUS = len(os.sched_getaffinity(0))
MANY_CPUS = pytest.mark.skipif(CPUS < 2, reason="this process may use one CPU only")


def last_line(command, timeout=50, **options) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, **options)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()[-1]


# --- A27: quotas ---------------------------------------------------------------------------------

# A view of control groups that holds one group of version 2, for this process and its children.
QUOTA = """
set -e
mount -t tmpfs none /sys/fs/cgroup
mkdir -p /sys/fs/cgroup/$(dirname "$1")
printf '%b' "$2" > "/sys/fs/cgroup/$1"
printf '0::%s\\n' "$3" > "$4"
mount --bind "$4" /proc/$$/cgroup
exec "$5" -c 'import gristmill as gm
print(len(gm.topology.plan().workers), gm.map("identity", "/proc/self/status").report.workers)'
"""


def may_mount() -> bool:
    tried = subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL, check=False)
    return tried.returncode == 0


@pytest.mark.parametrize(
    ("file", "content", "group", "workers"),
    [
        ("cpu.max", "", "/", CPUS),
        ("cpu.max", "max 100000\\n", "/", CPUS),
        ("cpu.max", "50000 100000\\n", "/", 1),
        ("cpu.max", "150000 100000\\n", "/", min(2, CPUS)),
        ("cpu.max", "garbage\\377\\n", "/", CPUS),
        ("outer/cpu.max", "50000 100000\\n", "/outer/inner", 1),
        ("elsewhere/cpu.max", "50000 100000\\n", "/outer/inner", CPUS),
    ],
)
def test_a_quota_counts(tmp_path, file, content, group, workers):
    """A27."""
    if not may_mount():
        pytest.skip("only root may mount a view of control groups")
    command = ["unshare", "-m", "sh", "-c", QUOTA, "sh", file, content, group, str(tmp_path / "group"), sys.executable]
    assert last_line(command) == f"{workers} {workers}"


# --- A28: placement is forbidden -----------------------------------------------------------------

# Numbers of mbind, get_mempolicy, set_mempolicy, migrate_pages, move_pages.
POLICY_CALLS = {
    "x86_64": (0xC000003E, [237, 239, 238, 256, 279]),
    "aarch64": (0xC00000B7, [235, 236, 237, 238, 239]),
}

FORBIDDEN = f"""
import ctypes, hashlib, os, struct, sys, threading
import gristmill as gm

architecture, calls = {POLICY_CALLS.get(platform.machine())!r}
libc = ctypes.CDLL(None, use_errno=True)


def forbid(errno):
    # load the call's number; for each of ours jump to the end but one: fail with errno; else allow
    steps = [(0x20, 0, 0, 0)]
    steps += [(0x15, len(calls) - at, 0, number) for at, number in enumerate(calls)]
    steps += [(0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x00050000 | errno)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code)))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0


def piped(path):
    read, write = os.pipe()
    def feed():
        with open(path, "rb") as file, os.fdopen(write, "wb") as pipe:
            pipe.write(file.read())
    threading.Thread(target=feed, daemon=True).start()
    return read


def shout(record):
    return record.upper()


if __name__ == "__main__":
    errno, path = int(sys.argv[1]), sys.argv[2]
    if errno:
        forbid(errno)
        for number in calls:
            assert libc.syscall(number, 0, 0, 0, 0, 0, 0) == -1 and ctypes.get_errno() == errno
    digest = hashlib.sha256()
    for nodes in (1, "@2", "@4"):
        for source in (lambda: path, lambda: piped(path)):
            digest.update(bytes(gm.map("upper", source(), workers=4, nodes=nodes)))
            digest.update(bytes(gm.map("upper", source(), workers=4, nodes=nodes, isolation="thread")))
            digest.update(bytes(gm.map(shout, source(), workers=4, nodes=nodes)))
            for record in gm.stream("upper", source(), workers=4, nodes=nodes):
                digest.update(record)
    print(digest.hexdigest())
"""


@pytest.mark.skipif(platform.machine() not in POLICY_CALLS, reason="the numbers of its system calls are not known")
def test_memory_policies_are_forbidden(tmp_path, file):
    """A28: EPERM as container profiles have it, ENOSYS as kernels without NUMA have it."""
    script = tmp_path / "forbidden.py"
    script.write_text(FORBIDDEN)
    path = file(b"".join(b"record %d\n" % n for n in range(100_000)))
    digests = {last_line([sys.executable, script, str(errno), path], timeout=170) for errno in (0, 1, 38)}
    assert len(digests) == 1


# --- A29: affinity -------------------------------------------------------------------------------

# As fixtures_A.py of the cases has them.
CARELESS = """
import os
def mask(record): return b",".join(b"%d" % cpu for cpu in sorted(os.sched_getaffinity(0)))
def arm(): os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
"""


def run_with(tmp_path, module: str, script: str) -> str:
    (tmp_path / "careless.py").write_text(module)
    return last_line([sys.executable, "-c", script], cwd=tmp_path)


@MANY_CPUS
def test_the_mask_is_read_when_a_run_starts(tmp_path, file):
    """A29: an import that narrowed the mask."""
    path = file(b"x\n" * 1000)
    script = f"""
import careless, gristmill as gm
careless.arm()
results = gm.map(careless.mask, {path!r})
print(len(gm.topology.plan().workers), results.report.workers, sorted(set(results)))"""
    first = b"%d" % min(os.sched_getaffinity(0))
    assert run_with(tmp_path, CARELESS, script) == f"1 1 {[first]}"


@MANY_CPUS
@pytest.mark.parametrize("start", ["fork", "fresh"])
def test_a_module_that_narrows_the_mask_in_the_worker(tmp_path, file, start):
    """A29: the caller's count stands, and no worker leaves the mask."""
    path = file(b"x\n" * 1000)
    script = f"""
import os, gristmill as gm
before = os.sched_getaffinity(0)
results = gm.map("careless:mask", {path!r}, start={start!r}, batch_records=10)
seen = {{int(cpu) for record in results for cpu in record.split(b",")}}
print(results.report.workers, len(results), seen <= before, os.sched_getaffinity(0) == before)"""
    assert run_with(tmp_path, CARELESS + "arm()\n", script) == f"{CPUS} 1000 True True"


@MANY_CPUS
@pytest.mark.parametrize("cpu", sorted(os.sched_getaffinity(0))[:2])
@pytest.mark.parametrize("nodes", ["auto", "@3"])
def test_workers_never_leave_the_mask(file, cpu, nodes):
    """A29: whatever is known of the machine beyond it."""
    path = file(b"x\n" * 1000)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        assert [each.os_index for each in gm.topology.discover().cpus] == [cpu]
        masks = gm.map(lambda _: repr(os.sched_getaffinity(0)), path, workers=3, nodes=nodes, batch_records=10)
        assert set(masks) == {repr({cpu}).encode()}
        with gm.Engine(workers=2, nodes=nodes) as engine:
            engine.run("identity", path, isolation="thread")
            threads = {int(name) for name in os.listdir("/proc/self/task")} - {os.getpid()}
            assert all(os.sched_getaffinity(thread) <= before for thread in threads)
            assert sum(os.sched_getaffinity(thread) == {cpu} for thread in threads) >= 2
        assert os.sched_getaffinity(0) == {cpu}
    finally:
        os.sched_setaffinity(0, before)
