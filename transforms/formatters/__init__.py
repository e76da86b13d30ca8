"""A repository's own formatters, run over the files of a move as its pre-commit hooks would.

Their versions come from the base's `.pre-commit-config.yaml` and must be in Repot's table. They run
cut off: nothing of the repository is executed, and only vetted settings reach them.
"""

from __future__ import annotations

from transforms.formatters.api import (
    Formatted,
    Formatters,
    no_formatters,
    repository_formatters,
)
from transforms.formatters.stage import Tool

__all__ = ["Formatted", "Formatters", "Tool", "no_formatters", "repository_formatters"]
