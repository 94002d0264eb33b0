"""The plugins that come with gristmill, and what is needed to compile others.

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


def names() -> List[str]:
    """Names of the bundled plugins, sorted."""
    return sorted(file.stem for file in (_installed / "plugins").glob("*.so"))


def path(name: str) -> str:
    """Path of a bundled plugin. Raises PluginLoadError, which names those there are."""
    found = _installed / "plugins" / f"{name}.so"
    if name not in names():
        raise PluginLoadError(
            f"there is no bundled plugin {name!r}; bundled are {', '.join(names())}."
            f" A plugin of your own needs its path, such as './{name}.so'",
            os.fspath(found),
        )
    return os.fspath(found)


def include_dir() -> str:
    """The folder to give to the compiler as ``-I``, for ``<gristmill/plugin.h>`` and ``plugin.hpp``."""
    return os.fspath(_installed / "include")
