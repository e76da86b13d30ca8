"""The formatters of a repository over what a change touches."""

from __future__ import annotations

from collections.abc import Set

from transforms.formatters.api import Formatters
from transforms.result.changes import Blob
from transforms.tree import OverlayTree, Tree


def format_touched(
    after: dict[str, Blob | None], authored: Set[str], tree: Tree, formatters: Formatters
) -> dict[str, tuple[str, ...]]:
    """Format the files of `after` in place; gives by path which formatters changed it.

    Authored files stay as they are. Authored configuration does not count either: no plan chooses
    how its code is formatted.
    """
    files = {
        path: blob.data
        for path, blob in sorted(after.items())
        if blob is not None and path not in authored
    }
    if not formatters.tools or not files:
        return {}
    laid = {
        path: blob
        for path, blob in after.items()
        if path not in authored or path.endswith((".py", ".pyi"))
    }
    changed: dict[str, tuple[str, ...]] = {}
    for path, formatted in sorted(formatters.format(files, OverlayTree(tree, laid)).items()):
        blob = after[path]
        if blob is not None and formatted.data != blob.data:
            after[path] = Blob(formatted.data, blob.mode)
        if formatted.changed_by:
            changed[path] = formatted.changed_by
    return changed
