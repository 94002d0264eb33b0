"""Where the parts of the workshop are that are not Python.

A wheel and an editable install have them beside the compiled core; a build tree has what is compiled,
and the clone the rest.
"""

from __future__ import annotations

import os
from pathlib import Path

from .. import _core
from ..errors import UnsupportedError

_core_folder = Path(_core.__file__).resolve().parent
_clone = Path(__file__).resolve().parents[3]


def checker() -> str:
    """Path of the program ``plugin_check``. Raises UnsupportedError where there is none."""
    places = (_core_folder / "plugin_check", _core_folder.parent / "plugins" / "workshop" / "plugin_check")
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return os.fspath(place)
    raise UnsupportedError(
        f"the program plugin_check is missing from this installation ({places[0]});"
        " install gristmill again, or build the target plugin_check"
    )


def skeletons() -> Path:
    """The folder of the plugins to begin with."""
    installed = _core_folder / "skeletons"
    return installed if installed.is_dir() else _clone / "plugins" / "workshop" / "skeletons"
