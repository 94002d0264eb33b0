"""Plugins that were built before, found again by the content of all that went into them.

An entry is a plugin (``KEY.so``) and a manifest (``KEY.json``) of the files that the compiler read for
it. KEY is made of what is known before compiling: source, flags, compiler. An entry counts if every file
of its manifest still has the same content. Files appear whole or not at all, so that several builds may
share the cache; a cache that cannot be written only costs time.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Dict, Optional, Sequence

_ENTRIES_MAX = 200


def folder() -> Path:
    """$XDG_CACHE_HOME/gristmill/plugins; as the XDG rules say, a relative setting does not count."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if os.path.isabs(base) else Path(os.path.expanduser("~")) / ".cache"
    return root / "gristmill" / "plugins"


def key(parts: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(list(parts)).encode("utf-8", "surrogateescape")).hexdigest()[:40]


def digest(path: "os.PathLike[str]") -> Optional[str]:
    """Of a file's content; None when it cannot be read."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def look_up(wanted: str) -> Optional[Dict[str, str]]:
    """{"plugin": its path, "warnings": what the compiler said}, or None."""
    plugin, manifest = _paths(wanted)
    try:
        entry = json.loads(manifest.read_text())
        inputs, made, warnings = entry["inputs"], entry["plugin"], entry["warnings"]
        current = digest(plugin) == made and all(digest(Path(file)) == was for file, was in inputs.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    if not current:
        return None
    try:
        os.utime(manifest)  # used: it stays longer
    except OSError:
        pass
    return {"plugin": os.fspath(plugin), "warnings": str(warnings)}


def store(wanted: str, built: Path, inputs: Dict[str, str], warnings: str) -> None:
    """Keeps a plugin. ``inputs``: what the compiler read, each with its digest."""
    plugin, manifest = _paths(wanted)
    entry = {"inputs": inputs, "plugin": digest(built), "warnings": warnings}
    try:
        folder().mkdir(parents=True, exist_ok=True)
        write_whole(plugin, built.read_bytes())
        write_whole(manifest, json.dumps(entry).encode())
        _forget_old()
    except OSError:
        pass  # no room or no right: next time it is compiled again


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file that appears under its name when it is complete."""
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        if path.suffix == ".so":
            os.chmod(temporary, 0o777 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _paths(wanted: str) -> "tuple[Path, Path]":
    return folder() / f"{wanted}.so", folder() / f"{wanted}.json"


def _forget_old() -> None:
    manifests = sorted(folder().glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)
    for manifest in manifests[_ENTRIES_MAX:]:
        manifest.unlink(missing_ok=True)
        manifest.with_suffix(".so").unlink(missing_ok=True)
