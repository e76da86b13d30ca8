"""What a person should look at in modules that moved whole."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterable, Iterator

from transforms.document import Document
from transforms.outcome import Note
from transforms.relocation.targets import Targets
from transforms.remarks import looks_up_by_name
from transforms.texts import place_in
from transforms.tree import Tree

_OWN_PLACE = frozenset({"__file__", "__path__", "__package__", "__spec__", "__loader__"})
_LIST = re.compile(r"""(?ms)^[ \t]*packages[ \t]*=[ \t]*(?:\[|\n)(.*?)(?:\]|\n\S|\Z)""")


def own_place_notes(document: Document, targets: Targets, path: str) -> Iterator[Note]:
    """Code that asks where its module lies, or looks something up by its name.

    What a package finds in its own folder goes along; only what lies outside is another.
    """
    new = targets.paths[path]
    folder = next(
        (w.folders for w in targets.wholes if w.folders and path.startswith(w.folders[0] + "/")),
        None,
    )
    for reference in document.module.scopes.references:
        if reference.owner is not None:
            continue
        line = getattr(reference.node, "lineno", 1)
        if reference.name in _OWN_PLACE and _is_elsewhere(path, new, folder, reference.statement):
            message = f"`{reference.name}` is another one there."
            yield Note("own module", document.module.place(line), message)
        elif reference.name == "__name__" and looks_up_by_name(reference):
            message = "`__name__` is used to look something up, and is another one there."
            yield Note("own module", document.module.place(line), message)


def _is_elsewhere(path: str, new: str, folder: tuple[str, str] | None, statement: ast.stmt) -> bool:
    if posixpath.dirname(path) == posixpath.dirname(new):
        return False
    climbs = "parents" in (text := ast.unparse(statement)) or text.count(".parent") > 1
    return folder is None or (climbs and folder[0].count("/") != folder[1].count("/"))


def packaging_notes(targets: Targets, tree: Tree) -> Iterator[Note]:
    """A list of packages that has the old ones and misses a new folder."""
    entries = tree.entries()
    homes = {
        new.rpartition(".")[0]
        for old, new in targets.renames.items()
        if new.rpartition(".")[0] not in {*targets.modules.values()}
    }
    for path in ("pyproject.toml", "setup.cfg", "setup.py"):
        if path not in entries:
            continue
        text = tree.read(path).decode("utf-8", "replace")
        for listed in _LIST.finditer(text):
            names = set(re.findall(r"[\w.]+", listed[1]))
            for home in sorted(homes - names - {""}):
                parent = home.rpartition(".")[0]
                if parent in names and not _is_there(home, entries):
                    line = text.count("\n", 0, listed.start()) + 1
                    message = f"Lists packages, and not `{home}`, which is new: add it."
                    yield Note("packaging", place_in(path, text, line, listed.start()), message)


def _is_there(dotted: str, paths: Iterable[str]) -> bool:
    stem = dotted.replace(".", "/")
    return any(f"{stem}/" in path for path in paths)
