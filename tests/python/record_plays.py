"""Functions that travel to fresh workers: these import this module, so it imports little."""

import os
import time

import gristmill as gm

OUTCOMES = ["emit", "same", "empty", "long", "none", "raise", "bad", "exit", "die", "stop"]


def play(record):
    """Does what the record says: "number outcome"."""
    number, outcome = record.decode().split()
    if outcome == "emit":
        return f"result of {number}"
    if outcome == "same":
        return record
    if outcome == "empty":
        return b""
    if outcome == "long":
        return number.encode() * 3000
    if outcome == "none":
        return None
    if outcome == "raise":
        raise ValueError(number)
    if outcome == "bad":
        return int(number)
    if outcome == "exit":
        raise SystemExit(number)
    if outcome == "die":
        os.abort()
    time.sleep(1000)


def work(record):
    """Some 50 us, so that kills hit workers in the middle of things."""
    end = time.perf_counter() + 50e-6
    while time.perf_counter() < end:
        pass
    return record[::-1]


@gm.batch
def work_on_batch(batch):
    return [work(record) for record in bytes(batch.data).split()]
