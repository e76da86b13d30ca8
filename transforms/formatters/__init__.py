"""A repository's own formatters, run over the files of a move as its pre-commit hooks would.

Their versions come from the base's `.pre-commit-config.yaml` and must be in Repot's table. They run
cut off: nothing of the repository is executed, and only vetted settings reach them.

hooks       reads `.pre-commit-config.yaml`; `document` is the YAML beneath it
formatter   what there is to say of a formatter: the interface, and a tool made ready
registry    lists the formatters; `tool_*` and `whitespace` hold all there is to say of each
arguments   reads a hook's arguments against its formatter's options
settings    reads and writes configuration files
firstparty  which stubs let the tools tell first-party as in the real tree
versions    the table of versions and hashes, written by `refresh`
environments, store   what is kept in the user's cache folder: installed tools, results
running     the scratch tree and the processes; `drive` and `match_paths` are what runs in them
api         puts it together

locked        local hooks by `uv run`, at the version of `uv.lock`
others        hooks that rewrite code and are not run
refusals      how all of these refuse
tool_black    black
tool_isort    isort
tool_ruff     ruff
tool_usort    usort
touched       formatters on what a move touched
"""

from __future__ import annotations

from transforms.formatters.api import (
    Formatted,
    Formatters,
    no_formatters,
    repository_formatters,
)
from transforms.formatters.formatter import Tool

__all__ = ["Formatted", "Formatters", "Tool", "no_formatters", "repository_formatters"]
