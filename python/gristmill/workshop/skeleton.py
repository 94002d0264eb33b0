"""A plugin to begin with: source, sample input, and the output it must give."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import List, Union

from ..errors import OptionError, OutputError
from .places import skeletons

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")


def create(name: str, language: str = "c", folder: Union[str, "os.PathLike[str]"] = ".") -> List[Path]:
    """Makes the folder ``name`` in ``folder``, with a plugin that works; returns its files.

    ``language`` is ``"c"`` or ``"cpp"``. The source comes first. Raises OptionError for a name that
    is none, OutputError when the folder exists or cannot be made.
    """
    if not _NAME.fullmatch(name):
        raise OptionError(
            f"{name!r} is no name for a plugin: it takes up to 63 letters, digits, '_' and '-',"
            " and begins with a letter, such as 'my_plugin'"
        )
    made = Path(folder) / name
    texts = {
        f"{name}.{language}": (skeletons() / f"skeleton.{language}").read_text().replace("skeleton", name),
        "sample.txt": (skeletons() / "sample.txt").read_text(),
        "expected.txt": (skeletons() / "expected.txt").read_text(),
    }
    try:
        made.mkdir()
        for file, text in texts.items():
            (made / file).write_text(text)
    except FileExistsError as error:
        raise OutputError(
            f"'{made}' exists already and is left as it is; choose another name, or --dir", str(made), error.errno
        ) from None
    except OSError as error:
        raise OutputError(f"'{made}' cannot be made: {error.strerror}", str(made), error.errno) from None
    return [made / file for file in texts]
