"""What is run over the records: compiled plugins, and how they are named."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Optional, Tuple, Union

from . import _core, plugins
from . import option_values as read
from .errors import ArgumentTypeError, OptionError, UnsupportedError

_DEFAULT_SYMBOL = "gm_plugin"
_DOTTED_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_INSTEAD = "use a compiled plugin, see gm.plugins.names() and gm.plugins.include_dir()"


@dataclass(frozen=True)
class Plugin:
    """A compiled plugin, with what it needs to know.

    ``path``: the shared object, ``"path.so:symbol"``, or a bundled plugin's bare name.
    ``symbol``: of its ``struct gm_plugin``, by default ``gm_plugin``.
    ``config``: text (or a path) handed to each worker's instance.
    """

    path: Union[str, "os.PathLike[str]"]
    symbol: Optional[str] = None
    config: Union[str, "os.PathLike[str]", None] = None


Payload = Union[str, "os.PathLike[str]", Plugin]


def resolve(payload: Payload, config: Optional[bytes]) -> _core.PluginSpec:
    """The plugin that ``payload`` names. ``config`` is the call's option of that name.

    Raises ArgumentTypeError, OptionError, UnsupportedError, or PluginLoadError for a bundled
    plugin that does not exist. Whether a file is a plugin is found out when it is loaded.
    """
    if not isinstance(payload, Plugin):
        payload = Plugin(payload)
    path, symbol = _split_symbol(_path_of(payload.path))
    if payload.symbol is not None:
        if symbol is not None:
            raise OptionError(f"symbol is given twice: {symbol!r} in {payload.path!r}, {payload.symbol!r}")
        symbol = payload.symbol
    if payload.config is not None:
        if config is not None:
            raise OptionError("config is given twice: by gm.Plugin(config=...) and by the option")
        config = read.text("config", payload.config)
    return _core.PluginSpec(
        read.path("payload", _located(path)),
        read.text("symbol", _DEFAULT_SYMBOL if symbol is None else symbol),
        config or b"",
    )


def _path_of(payload: object) -> str:
    if isinstance(payload, (str, os.PathLike)):
        if isinstance(payload, str) and _DOTTED_FUNCTION.fullmatch(payload) and ".so:" not in payload:
            raise UnsupportedError(
                f"{payload!r} names a Python function, which this version cannot run yet; {_INSTEAD}"
            )
        return os.fsdecode(payload)
    if callable(payload):
        raise UnsupportedError(f"Python functions cannot be run by this version yet; {_INSTEAD}")
    if isinstance(payload, (list, tuple)):
        raise UnsupportedError(f"commands cannot be run by this version yet; {_INSTEAD}")
    raise ArgumentTypeError(
        "payload takes a plugin: a bundled one's name ('light'), a path ('./mine.so'),"
        f" or gm.Plugin(...), not {type(payload).__name__}"
    )


def _split_symbol(path: str) -> Tuple[str, Optional[str]]:
    """``"path.so:symbol"`` as its two parts, unless a file has the whole as its name."""
    file, colon, symbol = path.rpartition(":")
    if colon and file.endswith(".so") and not os.path.lexists(os.path.expanduser(path)):
        return file, symbol
    return path, None


def _located(path: str) -> str:
    if path and "/" not in path and ".so" not in path:
        return plugins.path(path)
    return os.path.expanduser(path)
