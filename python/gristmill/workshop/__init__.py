"""The plugin workshop, behind ``gristmill plugin``: to begin a plugin, to build it, to check it."""

from __future__ import annotations

from .building import Built, BuildFailed, build
from .places import checker
from .skeleton import create

__all__ = ["BuildFailed", "Built", "build", "checker", "create"]
