"""The plugins that come with gristmill, and what is needed to compile others.

    gristmill plugin build mine.c

does it; by hand it is

    cc -shared -fPIC -O2 -I"$(python -c 'import gristmill as gm; print(gm.plugins.include_dir())')" \\
        -o mine.so mine.c
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import List

from . import _core
from .errors import PluginLoadError

_installed = Path(_core.__file__).resolve().parent


def _first(*places: Path) -> Path:
    """The first that exists: a wheel or an editable install has all beside the compiled core, a build
    tree has it elsewhere."""
    return next((place for place in places if place.exists()), places[0])


_bundled = _first(_installed / "plugins", _installed.parent / "plugins")
_headers = _first(_installed / "include", Path(__file__).resolve().parents[2] / "engine" / "include")


def names() -> List[str]:
    """Names of the bundled plugins, sorted."""
    return sorted(file.stem for file in _bundled.glob("*.so"))


def path(name: str) -> str:
    """Path of a bundled plugin. Raises PluginLoadError, which names those there are."""
    found = _bundled / f"{name}.so"
    if os.sep in name or not found.is_file():
        raise PluginLoadError(
            f"there is no bundled plugin {name!r}; bundled are {', '.join(names())}."
            f" A plugin of your own needs its path, such as './{name}.so'",
            os.fspath(found),
        )
    return os.fspath(found)


def include_dir() -> str:
    """The folder to give to the compiler as ``-I``, for ``<gristmill/plugin.h>`` and ``plugin.hpp``."""
    return os.fspath(_headers)
