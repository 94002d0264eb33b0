"""What the machine is: recorded beside every result. See gristmill.bench.environment."""

from __future__ import annotations

from pathlib import Path

from gristmill.bench import environment


def describe() -> dict[str, object]:
    environment.repository = Path(__file__).resolve().parent
    return environment.describe()
