"""What is run over the records: compiled plugins, Python functions, commands."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any, Callable, Optional, Sequence, Tuple, Union

from . import _core, plugins
from . import option_values as read
from .errors import ArgumentTypeError, OptionError

_DEFAULT_SYMBOL = "gm_plugin"
_DOTTED_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


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


Payload = Union[str, "os.PathLike[str]", Plugin, Callable[..., Any], Sequence[str]]


@dataclass(frozen=True)
class Function:
    """A payload that the interpreter runs: a callable, or the name of one, "package.module:name"."""

    payload: Any

    @property
    def name(self) -> str:
        if isinstance(self.payload, str):
            return self.payload
        return getattr(self.payload, "__qualname__", None) or type(self.payload).__qualname__


Resolved = Union[_core.Work, Function]


def resolve(payload: Payload, config: Optional[bytes]) -> Resolved:
    """What ``payload`` names. ``config`` is the call's option of that name.

    Raises ArgumentTypeError, OptionError, or PluginLoadError for a bundled plugin that does not
    exist. Whether a file is a plugin is found out when it is loaded.
    """
    if isinstance(payload, str) and is_function_name(payload):
        return Function(_without(config, payload))
    if not isinstance(payload, (str, os.PathLike, Plugin)):
        if callable(payload):
            return Function(_without(config, payload))
        return _command(_without(config, payload))
    return _plugin(payload if isinstance(payload, Plugin) else Plugin(payload), config)


def is_function_name(payload: str) -> bool:
    """Is it like ``"package.module:function"``, and no plugin's file and symbol?"""
    return bool(_DOTTED_FUNCTION.fullmatch(payload)) and ".so:" not in payload


def _without(config: Optional[bytes], payload: Any) -> Any:
    if config is not None:
        raise OptionError("config belongs to plugins; a function has its arguments: functools.partial")
    return payload


def _command(payload: Any) -> _core.Work:
    if not isinstance(payload, (list, tuple)) or not payload:
        raise ArgumentTypeError(
            "payload takes a function, a plugin ('light', './mine.so', gm.Plugin(...)), or a command"
            f" as a list of str, not {type(payload).__name__}"
        )
    arguments = []
    for each in payload:
        if not isinstance(each, (str, bytes, os.PathLike)):
            raise ArgumentTypeError(
                f"a command is a list of str; it has {type(each).__name__} in it"
            )
        argument = os.fsencode(each)
        if b"\0" in argument:
            raise OptionError("a command's arguments must not have NUL characters in them")
        arguments.append(argument)
    return _core.Work.command(arguments)


def _plugin(plugin: Plugin, config: Optional[bytes]) -> _core.Work:
    if not isinstance(plugin.path, (str, os.PathLike)):
        raise ArgumentTypeError(f"gm.Plugin takes a path, not {type(plugin.path).__name__}")
    path, symbol = _split_symbol(os.fsdecode(plugin.path))
    if plugin.symbol is not None:
        if symbol is not None:
            raise OptionError(f"symbol is given twice: {symbol!r} in {plugin.path!r}, {plugin.symbol!r}")
        symbol = plugin.symbol
    if plugin.config is not None:
        if config is not None:
            raise OptionError("config is given twice: by gm.Plugin(config=...) and by the option")
        config = read.text("config", plugin.config)
    return _core.Work.plugin(
        read.path("payload", _located(path)),
        read.text("symbol", _DEFAULT_SYMBOL if symbol is None else symbol),
        config or b"",
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
