"""What a person should look at in modules that moved whole."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator

from transforms.callers.texts import place_in
from transforms.imports.document import Document
from transforms.move.remarks import looks_up_by_name
from transforms.relocation.targets import Targets
from transforms.result.outcome import Note
from transforms.tree import Tree
from transforms.tree.names import Names

_OWN_PLACE = frozenset({"__file__", "__path__", "__package__", "__spec__", "__loader__"})
_PACKAGES = re.compile(r"(?m)^[^#\n]*\b(?:packages|package_dir|package-dir|py_modules)\b")
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


def loading_notes(
    targets: Targets, names: Names, open_module: Callable[[str], Document | None]
) -> Iterator[Note]:
    """Packages that are loaded before a moved module now, and do more than import and define."""
    told: set[str] = set()
    for old, new in targets.renames.items():
        came = {targets.renamed(above) for above in _above(old)}
        for package in _above(new):
            path = names.path_of(package)
            if package in came or package in told or path is None or path in targets.paths:
                continue
            told.add(package)
            document = open_module(package)
            if document is None or not path.endswith("__init__.py"):
                continue
            acting = next((n for n in document.module.tree.body if _acts(n)), None)
            if acting is not None:
                message = f"Runs before `{new}` now, whose package is loaded first."
                yield Note("own module", document.module.place(acting.lineno), message)


def _above(dotted: str) -> Iterator[str]:
    while "." in dotted:
        dotted = dotted.rpartition(".")[0]
        yield dotted


def _acts(node: ast.stmt) -> bool:
    """Whether a statement of an `__init__` may do something that others see."""
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass, ast.Assign, ast.AnnAssign)):
        return False
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return False
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return False
    inside = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
    handled = [part for item in getattr(node, "handlers", ()) for part in item.body]
    return not (inside or handled) or any(map(_acts, [*inside, *handled]))


def packaging_notes(targets: Targets, tree: Tree) -> Iterator[Note]:
    """A list of packages that has the old ones and misses a new folder."""
    yield from _root_notes(targets, tree)
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


def _root_notes(targets: Targets, tree: Tree) -> Iterator[Note]:
    """Where packaging says in which folder names start, and they start in another now."""
    roots = {
        root
        for whole in targets.wholes
        for old, new in whole.files.items()
        if whole.old == whole.new and (root := _moved_root(old, new)) is not None
    }
    for path in ("pyproject.toml", "setup.cfg", "setup.py"):
        if not roots or path not in tree.entries():
            continue
        text = tree.read(path).decode("utf-8", "replace")
        found = _PACKAGES.search(text)
        if found is not None:
            line = text.count("\n", 0, found.start()) + 1
            message = (
                f"Names start in `{min(roots) or '.'}` now: where packages are found must say so."
            )
            yield Note("packaging", place_in(path, text, line, found.start()), message)


def _moved_root(old: str, new: str) -> str | None:
    """The new folder in which names start, where a path changed by that alone."""
    if old != new and new.endswith("/" + old):
        return new[: -len(old) - 1]
    return "" if old != new and old.endswith("/" + new) else None


def _is_there(dotted: str, paths: Iterable[str]) -> bool:
    stem = dotted.replace(".", "/")
    return any(f"{stem}/" in path for path in paths)
