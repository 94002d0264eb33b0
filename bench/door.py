"""How the scripts of this folder enter gristmill.bench, where they live, so that they come with the package."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import NoReturn

from gristmill.bench import environment
from gristmill.errors import GristmillError

HERE = Path(__file__).resolve().parent
_PEERS = HERE.parent / ".venv-peers"


def enter(name: str, *, beside_others: bool = False) -> NoReturn:
    """Runs gristmill.bench.NAME, whose results name the commit of this clone. ``beside_others``: what it compares
    with is in the environment of peers, so that it runs there, where there is one."""
    python = _PEERS / "bin" / "python"
    if beside_others and python.exists() and Path(sys.prefix).resolve() != _PEERS.resolve():
        os.execv(python, [str(python), *sys.argv])
    environment.repository = HERE
    try:
        sys.exit(importlib.import_module(f"gristmill.bench.{name}").main())
    except (GristmillError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        sys.exit(130)
