"""What the machine is: recorded beside every result. See gristmill.bench.environment."""

from __future__ import annotations

from pathlib import Path

from gristmill.bench import environment


def describe() -> dict[str, object]:
    return environment.describe(Path(__file__).resolve().parent)
