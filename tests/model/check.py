#!/usr/bin/env python3
"""Check the ring's protocol: the model must hold, and must fail once any one rule is taken away.

    check.py [-j JOBS] [--deep] [--list] [--trace] [PATTERN]

Every configuration is one exhaustive search by SPIN.  PATTERN (a regular expression) selects some of them;
--deep adds searches of larger sizes (some GB of memory, minutes); --trace prints the interleaving that led to a failure.  Exit status: 0 as expected, 1 not, 77 no spin or no gcc.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
MEMORY_MIB = 900
MEMORY_MIB_DEEP = 8000
DEPTH = 20000

# How a failure reads in pan's report.  Assertions appear there with every macro expanded.
FAILURES = {
    "deadlock": r"invalid end state",
    "wrong batch claimed": r"assertion violated \(lap\[\(pick",
    "entry not empty": r"assertion violated .*state\[\(published",
    "output overwritten": r"assertion violated \((overflowed\[.*\]\|\|\()?cell\[",
    "output over budget": r"assertion violated \((live|\(used)\[me\]",
    "input over budget": r"assertion violated \(\(.*in_size\[0\].*<=\d+\)\|\|",
    "error out of order": r"assertion violated ( ?\( ?!\(source_error|\(head==published)",
    "result of another worker": r"assertion violated \(\(out_of\[",
    "position taken twice": r"assertion violated \(\((out_)?at\[.*\]>=tail\[?",
    "count too low": r"assertion violated \(ready_count>=",
    "deaths without end": r"assertion violated \(poisoned<=",
    "touched by an earlier run": r"assertion violated \(seen==run_no\)",
    "stranded: head ready": r"assertion violated +!\(\(\(state\[\(head%\d\)\]==1\)",
    "stranded: entry ready": r"assertion violated (.*==0\)\|\| ?!.*(used|front)\[i_\]|\(\(\(state\[1\]!=1\))",
    "stranded: may publish": r"assertion violated +!\(.*idle_",
    "stranded: head done": r"assertion violated +!\(\(\(\(state\[\(head%\d\)\]==3\)",
}

WIDE = "IN_BUDGET=9 BIG_INPUT=1"            # input memory never the limit
TIGHT = "IN_BUDGET=2 BIG_INPUT=3"           # two small batches, or one that exceeds the budget
PAIRS = "IN_BUDGET=2 BIG_INPUT=1"           # two batches
LONE = "HOMES=2 WORKER_NODES=0"             # sequence 1 lives on a node that has no worker

# (name, file, defines, what must be found; None: nothing, "progress": nothing, and no endless loop either)
HOLDS = [
    ("no batches", "ring", f"N=2 B=0 {WIDE}", None),
    ("one worker", "ring", f"W=1 N=4 B=8 {WIDE}", None),
    ("two laps", "ring", f"N=2 B=4 {WIDE}", None),
    ("window of four", "ring", f"N=4 B=4 {WIDE}", None),
    ("window of four, second lap", "ring", f"N=4 B=5 LARGE_ONES=2 {WIDE}", None),
    ("tight input budget", "ring", f"N=4 B=4 {TIGHT}", None),
    ("input budget kept by a counter", "ring", f"N=4 B=4 INPUT_COUNTER LARGE_ONES=2 {TIGHT}", None),
    ("node without a worker", "ring", f"N=4 B=5 LOOKAHEAD=2 LARGE_ONES=12 {PAIRS} {LONE}", None),
    ("look-ahead of one", "ring", f"N=4 B=5 LOOKAHEAD=1 LARGE_ONES=3 {WIDE}", None),
    ("output ring of four", "ring", f"N=4 B=5 R=4 SMALL=2 LARGE=3 LARGE_ONES=10 {WIDE}", None),
    ("somebody waits for output", "ring", f"N=4 B=4 TARGET_HEAD LARGE_ONES=2 {WIDE}", None),
    ("three workers", "ring", f"W=3 N=2 B=3 LARGE_ONES=2 {WIDE}", None),
    ("order none", "ring", f"N=2 B=5 ORDER_NONE {WIDE}", None),
    ("order none, window of four", "ring", f"N=4 B=5 ORDER_NONE LARGE_ONES=5 {TIGHT}", None),
    ("source error", "ring", f"N=2 B=3 SOURCE_ERROR {WIDE}", None),
    ("source error, order none", "ring", f"N=2 B=3 SOURCE_ERROR ORDER_NONE {WIDE}", None),
    ("split roles, one worker", "ring", f"SPLIT W=1 N=4 B=6 LOOKAHEAD=2 {WIDE}", None),
    ("split roles", "ring", f"SPLIT N=2 B=3 LARGE_ONES=2 {TIGHT}", None),
    ("no endless loop", "ring", f"N=4 B=4 LARGE_ONES=2 LOOKAHEAD=1 {WIDE}", "progress"),
    ("no endless loop, split roles", "ring", f"SPLIT N=2 B=2 LARGE_ONES=1 {WIDE}", "progress"),
    ("death: one worker, two deaths", "crash", "W=1 N=4 B=4", None),
    ("death: two deaths", "crash", "B=2 MORTAL=1", None),
    ("death: second lap", "crash", "B=3 DEATHS=1 MORTAL=1", None),
    ("death: look-ahead of one", "crash", "B=3 DEATHS=1 MORTAL=1 LOOKAHEAD=1", None),
    ("death: window of four", "crash", "N=4 B=3 DEATHS=1 MORTAL=1", None),
    ("death: output ring of one, two deaths", "crash", "B=2 R=1 MORTAL=1", None),
    ("death: nobody put into the slot", "crash", "B=3 DEATHS=1 NO_RESPAWN", None),
    ("death: order none", "crash", "B=3 DEATHS=1 MORTAL=1 ORDER_NONE", None),
    ("death: supervisor of its own", "crash", "B=1 DEATHS=1 SUPERVISOR", None),
    ("death: a poison batch, one retry", "crash", "B=2 DEATHS=0 POISON=1 RETRIES=1", None),
    ("death: a poison batch and another death", "crash", "B=2 DEATHS=1 MORTAL=2 POISON=1", None),
    ("death: no endless loop", "crash", "B=1 DEATHS=1", "progress"),
    ("run given up, laggards killed", "crash", "RUNS=2 B=1 DEATHS=0", None),
    ("run given up, one death", "crash", "RUNS=2 B=1 DEATHS=1 MORTAL=1 NO_KILL", None),
    ("flip below the cursor", "cursor", "", None),
    ("positions after a death", "positions", "", None),
    # What holds although a rule was taken away: another one covers it.
    ("covered: slot reused before the flips", "crash", "WEAK_C2_SLOT_REUSED_FIRST B=2 DEATHS=1 MORTAL=1", None),
    ("covered: incarnation not compared", "crash", "WEAK_R1_NO_INCARNATION B=2 DEATHS=1 MORTAL=1", None),
    ("covered: done by a store", "crash", "WEAK_R1_DONE_BY_STORE B=2 DEATHS=1 MORTAL=1", None),
    ("covered: attempt not compared", "crash", "WEAK_R1_NO_ATTEMPT B=2 DEATHS=1 MORTAL=1", None),
    ("covered: cursor not lowered", "cursor", "WEAK_C6_CURSOR_KEPT", None),
    ("covered: slots filled before the run begins, one word", "crash",
     "WEAK_C9_FILLED_BEFORE_BEGIN ONE_WORD RUNS=2 B=1 DEATHS=1 MORTAL=1 NO_KILL", None),
    ("event count, one waiter", "event_count", "WAITERS=1", None),
    ("event count, two waiters", "event_count", "WAITERS=2", None),
]

FAILS = [
    ("R1 state word without lap", "ring", f"WEAK_R1_NO_LAP N=2 B=3 {WIDE}", "wrong batch claimed"),
    ("R1 claim by a store", "ring", f"WEAK_R1_CLAIM_BY_STORE N=2 B=3 {WIDE}", "wrong batch claimed"),
    ("R2 a claimed batch waits for room", "ring", f"WEAK_R2_WAIT_FOR_ROOM N=4 B=4 {WIDE}", "deadlock"),
    ("R2 claim without room", "ring", f"WEAK_R2_NO_ROOM_CHECK N=4 B=4 {WIDE}", "output over budget"),
    ("R2 overflow not counted against the ring", "ring", f"WEAK_R2_OVERFLOW_FREE W=1 N=4 B=6 {WIDE}", "output over budget"),
    ("R2 the head counted in the bound", "ring", f"STRICT_OUTPUT_BOUND N=4 B=4 {WIDE}", "output over budget"),
    ("R3 room asked for the head too", "ring", f"WEAK_R3_HEAD_NEEDS_ROOM ALLOW_STRANDED N=4 B=4 LARGE_ONES=12 {WIDE} {LONE}", "deadlock"),
    ("R3 head by its own node only", "ring", f"WEAK_R3_HEAD_OWN_NODE ALLOW_STRANDED N=4 B=4 {WIDE} {LONE}", "deadlock"),
    ("R3 own node first, room always", "ring", f"WEAK_R3_OWN_NODE_FIRST ALLOW_STRANDED N=4 B=4 {WIDE} {LONE}", "deadlock"),
    ("R4 tail by sequence", "ring", f"WEAK_R4_TAIL_BY_SEQUENCE N=4 B=5 LARGE_ONES=0 {WIDE}", "output overwritten"),
    ("R4 output memory back at done", "ring", f"WEAK_R4_OUTPUT_AT_DONE N=4 B=4 {WIDE}", "output overwritten"),
    ("R4 released before delivered", "ring", f"WEAK_R4_RELEASE_FIRST N=2 B=3 {WIDE}", "output overwritten"),
    ("R4 input memory back at claim", "ring", f"WEAK_R4_INPUT_AT_CLAIM N=4 B=4 {TIGHT}", "input over budget"),
    ("R6 window counts what is held", "ring", f"WEAK_R6_WINDOW_BY_COUNT ORDER_NONE N=2 B=4 {WIDE}", "entry not empty"),
    ("R6 source error retired anywhere", "ring", f"WEAK_R6_ERROR_ANYWHERE ORDER_NONE SOURCE_ERROR N=2 B=3 {WIDE}", "error out of order"),
    ("R7 source error beside the ring", "ring", f"WEAK_R7_OUT_OF_BAND SOURCE_ERROR N=2 B=3 {WIDE}", "error out of order"),
    ("W1/W5 no chain of wakes", "ring", f"WEAK_W5_NO_CHAIN N=2 B=3 {WIDE}", "stranded: entry ready"),
    ("W2 no second look", "ring", f"WEAK_W2_NO_SECOND_LOOK N=2 B=3 {WIDE}", "deadlock"),
    ("W2 bit left set by who found work", "ring", f"WEAK_W2_BIT_LEFT N=2 B=3 {WIDE}", "stranded: entry ready"),
    ("W3 starving silently", "ring", f"WEAK_W3_STARVES_SILENTLY ALLOW_STRANDED SPLIT W=1 R=1 N=4 B=4 LOOKAHEAD=1 LARGE_ONES=3 {WIDE}", "deadlock"),
    ("W4 idle silently", "ring", f"WEAK_W4_IDLE_SILENTLY N=4 B=4 LOOKAHEAD=2 {PAIRS} {LONE}", "stranded: may publish"),
    ("W4 idle silently, input counter", "ring", f"WEAK_W4_IDLE_SILENTLY INPUT_COUNTER ALLOW_STRANDED N=4 B=4 {TIGHT}", "deadlock"),
    ("W4 only workers with room tell", "ring", f"WEAK_W4_ONLY_WITH_ROOM SPLIT N=4 B=3 LARGE_ONES=2 {PAIRS}", "stranded: may publish"),
    ("W5 no low-water wake", "ring", f"WEAK_W5_NO_LOW_WATER N=4 B=4 LOOKAHEAD=1 {WIDE}", "stranded: may publish"),
    ("W6 starving workers woken for less than the head", "ring", f"WEAK_W6_WAKE_STARVING W=3 N=4 B=3 LOOKAHEAD=1 LARGE_ONES=2 {WIDE}", "stranded: entry ready"),
    ("W6 flag set after the bit", "ring", f"WEAK_W6_FLAG_AFTER_BIT W=3 N=4 B=3 LOOKAHEAD=1 LARGE_ONES=2 {WIDE}", "stranded: entry ready"),
    ("W7 target entry not looked at again", "ring", f"WEAK_W7_NO_RECHECK N=2 B=3 {WIDE}", "deadlock"),
    ("W7 target chosen before the bit", "ring", f"WEAK_W7_TARGET_BEFORE_BIT ALLOW_STRANDED N=4 B=4 LOOKAHEAD=1 LARGE_ONES=3 {WIDE}", "deadlock"),
    ("W8 no wake for a new head", "ring", f"WEAK_W8_NO_HEAD_WAKE N=4 B=4 LOOKAHEAD=2 LARGE_ONES=12 {PAIRS} {LONE}", "stranded: head ready"),
    ("W8 no wake for new room", "ring", f"WEAK_W8_NO_ROOM_WAKE N=4 B=4 LOOKAHEAD=1 {WIDE}", "stranded: entry ready"),
    ("W9 full window kept quiet", "ring", f"WEAK_W9_FULL_WINDOW_SILENT SPLIT W=1 N=4 B=6 LOOKAHEAD=2 {WIDE}", "stranded: head done"),
    ("W4+W9 nobody tells the publisher", "ring", f"WEAK_W9_NO_PUBLISHER_WAKE WEAK_W4_IDLE_SILENTLY ALLOW_STRANDED SPLIT N=2 B=3 LARGE_ONES=0 {WIDE}", "deadlock"),
    ("end of the run kept quiet", "ring", f"WEAK_END_SILENT N=2 B=3 {WIDE}", "deadlock"),
    ("C1 flip on silence", "crash", "WEAK_C1_FLIP_ON_SILENCE B=3 DEATHS=1", "result of another worker"),
    ("C2 slot reused first, incarnation not compared", "crash", "WEAK_C2_SLOT_REUSED_FIRST WEAK_R1_NO_INCARNATION B=3 DEATHS=1", "result of another worker"),
    ("C2 counted after the flip", "crash", "WEAK_C2_COUNTED_AFTER_FLIP B=3 DEATHS=1", "count too low"),
    ("C3 nobody notified", "crash", "WEAK_C3_NOBODY_NOTIFIED B=3 DEATHS=1", "stranded: head ready"),
    ("C3 nobody notified, deadlock", "crash", "WEAK_C3_NOBODY_NOTIFIED ALLOW_STRANDED NO_RESPAWN B=3 DEATHS=1", "deadlock"),
    ("C3 notified only if the bit is set", "crash", "WEAK_C3_ONLY_IF_BIT B=3 DEATHS=1", "stranded: head ready"),
    ("C3 report announced only if the bit is set", "crash", "WEAK_C3_REPORT_ONLY_IF_BIT B=3 DEATHS=1", "deadlock"),
    ("C3 notified before the flips", "crash", "WEAK_C3_NOTIFY_BEFORE_FLIP B=3 DEATHS=1", "stranded: head ready"),
    ("C3 only workers notified, supervisor of its own", "crash", "WEAK_C3_ONLY_WORKERS SUPERVISOR B=3 DEATHS=1", "deadlock"),
    ("C3 quiet while the run is over", "crash", "WEAK_C3_QUIET_WHEN_OVER RUNS=2 B=2 DEATHS=1 MORTAL=1 NO_KILL", "stranded: head ready"),
    ("C4 ring from zero", "positions", "WEAK_C4_FROM_ZERO", "output overwritten"),
    ("C4 ring from what is retired", "positions", "WEAK_C4_FROM_RETIRED", "output overwritten"),
    ("C4 ring from the released prefix and done entries", "positions", "WEAK_C4_DONE_ENTRIES_ONLY", "position taken twice"),
    ("C4 pieces forgotten", "positions", "WEAK_C4_PIECES_FORGOTTEN", "output overwritten"),
    ("C4 pieces forgotten, whole ring", "crash", "WEAK_C4_PIECES_FORGOTTEN N=4 B=3 DEATHS=1 POISON=2", "output overwritten"),
    ("C5 publisher trusts the counter", "crash", "WEAK_C5_COUNTER_TRUSTED ALLOW_STRANDED LOOKAHEAD=1 B=3 DEATHS=1", "deadlock"),
    ("C6 last look from the cursor", "cursor", "WEAK_C6_LAST_LOOK_FROM_CURSOR", "stranded: entry ready"),
    ("C7 reports not looked at again", "crash", "WEAK_C7_REPORTS_NOT_LOOKED_AT_AGAIN B=3 DEATHS=1", "deadlock"),
    ("C8 always whole", "crash", "WEAK_C8_ALWAYS_WHOLE B=2 DEATHS=0 POISON=1 RETRIES=1", "deaths without end"),
    ("C9 reset at once", "crash", "WEAK_C9_RESET_AT_ONCE RUNS=2 B=1 DEATHS=0", "touched by an earlier run"),
    ("C9 killed taken for dead", "crash", "WEAK_C9_KILLED_IS_DEAD RUNS=2 B=1 DEATHS=0", "touched by an earlier run"),
    ("C9 slots filled before the run begins", "crash", "WEAK_C9_FILLED_BEFORE_BEGIN RUNS=2 B=1 DEATHS=1 MORTAL=1 NO_KILL", "touched by an earlier run"),
    ("C9 put into a slot while over, acknowledgement inherited", "crash", "WEAK_C9_RESPAWN_WHEN_OVER WEAK_C9_ACKNOWLEDGEMENT_INHERITED RUNS=2 B=1 DEATHS=1 NO_KILL", "touched by an earlier run"),
    ("event count, no fence in the notifier", "event_count", "WEAK_NO_NOTIFIER_FENCE", "deadlock"),
    ("event count, no fence in the waiter", "event_count", "WEAK_NO_WAITER_FENCE", "deadlock"),
    ("event count, no second look", "event_count", "WEAK_NO_SECOND_LOOK", "deadlock"),
    ("event count, no epoch", "event_count", "WEAK_NO_EPOCH", "deadlock"),
]

# Larger, for --deep.
DEEP = [
    ("deep: two deaths, second lap", "crash", "B=3", None),
    ("deep: one death, window of four", "crash", "N=4 B=4 DEATHS=1", None),
    ("deep: spurious wakes", "crash", "B=3 DEATHS=1 SPURIOUS_WAKES", None),
    ("deep: three workers", "crash", "W=3 B=2 DEATHS=1 MORTAL=1", None),
    ("deep: supervisor of its own", "crash", "B=3 DEATHS=1 MORTAL=1 SUPERVISOR", None),
    ("deep: run given up, laggards killed, one death", "crash", "RUNS=2 B=1 DEATHS=1", None),
    ("deep: covered: slot reused before the flips", "crash", "WEAK_C2_SLOT_REUSED_FIRST B=2", None),
    ("deep: covered: incarnation not compared", "crash", "WEAK_R1_NO_INCARNATION B=2", None),
    ("deep: only a released prefix counted", "crash", "WEAK_C4_DONE_ENTRIES_ONLY B=3 POISON=2", "output overwritten"),
    ("deep: dead one not notified first, supervisor of its own", "crash",
     "WEAK_C3_DEAD_ONE_NOT_FIRST SUPERVISOR B=3 DEATHS=1", "stranded: head ready"),
]


def run(command, cwd):
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def search(configuration, trace):
    """Search one configuration; returns (as expected, one line of report)."""
    name, model, defines, expected = configuration
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gristmill-model-") as where:
        for part in HERE.glob("*.pml"):
            shutil.copy(part, where)
        shutil.copy(HERE / f"{model}.pml", pathlib.Path(where) / "model.pml")
        flags = [f"-D{d}" for d in defines.split()]
        kind = "-DNP" if expected == "progress" else "-DSAFETY"
        for command in (["spin", "-a", *flags, "model.pml"],
                        ["gcc", "-O1", "-w", kind, "-DCOLLAPSE", f"-DMEMLIM={MEMORY_MIB_DEEP if configuration in DEEP else MEMORY_MIB}", "-o", "pan", "pan.c"]):
            status, out = run(command, where)
            if status != 0 or "Error" in out:
                return False, f"{name}: {' '.join(command[:2])} failed\n{out}"
        mode = ["-l"] if expected == "progress" else []
        status, out = run(["nice", "./pan", f"-m{DEPTH}", *mode], where)
        steps = run(["./pan", "-r"], where)[1] if trace and (pathlib.Path(where) / "model.pml.trail").exists() else ""

    seconds = time.monotonic() - began
    states = re.search(r"^ *(\d+) states, stored", out, re.M)
    errors = re.search(r"errors: (\d+)", out)
    failure = re.search(r"^pan:\d*: ?(.*?)(?: \(at depth \d+\))?$", out, re.M)
    truncated = re.search(r"max search depth too small|MEMLIM|out of memory|hash table.*full|search depth was limited", out)
    if not states or not errors or status < 0:
        return False, f"{name}: the search broke off\n{out}"
    # A search that stopped at its first error is not complete and need not be.
    if errors.group(1) == "0":
        found = "truncated" if truncated else "no failure"
    else:
        message = failure.group(1) if failure else out
        found = next((kind for kind, text in FAILURES.items() if re.search(text, message)), message)
    wanted = "no failure" if expected in (None, "progress") else expected
    good = found == wanted
    line = f"{'ok  ' if good else 'FAIL'}  {name:<58} {int(states.group(1)):>9} states  {errors.group(1)} errors  {seconds:5.1f} s  {found}"
    return good, line + ("" if good else f"  (expected: {wanted})") + (f"\n{steps}" if steps else "")


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("-j", type=int, default=min(2, len(os.sched_getaffinity(0))), metavar="JOBS", dest="jobs")
    options.add_argument("--deep", action="store_true", help="add searches of larger sizes")
    options.add_argument("--list", action="store_true", help="print the configurations, run nothing")
    options.add_argument("--trace", action="store_true", help="print the steps that lead to each failure")
    options.add_argument("pattern", nargs="?", default="")
    chosen = options.parse_args()
    selected = [c for c in HOLDS + FAILS + (DEEP if chosen.deep else []) if re.search(chosen.pattern, c[0])]

    if chosen.list:
        for name, model, defines, expected in selected:
            print(f"{name:<58} {model}.pml {defines}  -> {expected or 'no failure'}")
        return 0
    for tool in ("spin", "gcc"):
        if not shutil.which(tool):
            print(f"model check skipped: {tool} is not installed (Debian and Ubuntu: apt-get install {tool})")
            return 77
    if not selected:
        print(f"no configuration matches {chosen.pattern!r}")
        return 1

    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(chosen.jobs) as pool:
        for good, line in pool.map(lambda c: search(c, chosen.trace), selected):
            print(line, flush=True)
            passed, failed = passed + good, failed + (not good)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
