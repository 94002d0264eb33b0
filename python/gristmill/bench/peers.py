"""Other systems that the study measures: which there are, and what each can be given."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from ..errors import OptionError
from .inputs import SETS
from .task import FUNCTION


@dataclass(frozen=True)
class Peer:
    """A file in bench/peers, by its constants; it is not imported here, only in its own cells."""

    name: str
    file: str
    python: str
    payloads: Tuple[str, ...] = (FUNCTION,)
    sets: Tuple[str, ...] = SETS
    serial: bool = False
    absent: str = ""
    """Why it cannot be asked at all."""


def find(folder: Optional[Path], wanted: Optional[str], python: str) -> List[Peer]:
    """The peers in a folder, those that ``wanted`` names (by name or file,
    with commas). Raises OptionError."""
    if wanted == "none":
        return []
    if folder is None or not folder.is_dir():
        nowhere = "its file is not here: peers come with the source, in bench/peers; see --peers-folder"
        return [Peer("all peers", "", python, absent=nowhere)]
    found = [_read(path, python) for path in sorted(folder.glob("*.py"))]
    known = {peer.name: peer for peer in found if peer is not None}
    if wanted is None:
        return list(known.values())
    by_file = {Path(peer.file).stem: name for name, peer in known.items()}
    names = [by_file.get(name.strip(), name.strip()) for name in wanted.split(",")]
    if unknown := [name for name in names if name not in known]:
        raise OptionError(f"--peers: there is no {unknown[0]!r}; there are {', '.join(by_file)}")
    return [known[name] for name in names]


def _read(path: Path, python: str) -> Optional[Peer]:
    """None for a file that has no name: it serves others."""
    constants: Dict[str, Any] = {}
    for statement in ast.parse(path.read_text()).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            try:
                constants[statement.targets[0].id] = ast.literal_eval(statement.value)
            except ValueError:
                continue
    if "name" not in constants:
        return None
    kept = {key: constants[key] for key in ("name", "payloads", "sets", "serial") if key in constants}
    return Peer(file=str(path.resolve()), python=python, **kept)
