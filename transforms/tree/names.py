"""What a dotted name means in a tree, and what a path is called: modules, packages and roots."""

from __future__ import annotations

import keyword
import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from transforms.errors import Place, Refusal, nearest
from transforms.paths import ModuleName, to_bytes
from transforms.tree import Tree

SUFFIXES = (".py", ".pyi")
# Of a dotted name in an import statement that is edited or written. LibCST nests one node in
# another for each and walks them recursively: 500 are too many for Python's stack, and 30,000 take
# the process down.
MOST_PARTS = 100


@dataclass(frozen=True, slots=True, order=True)
class Located:
    """A module in a tree: where it lies, what it is called, and whether it is there yet."""

    path: str
    dotted: str
    exists: bool

    @property
    def is_package(self) -> bool:
        """Whether the module is a package's `__init__`."""
        return posixpath.basename(self.path).startswith("__init__.")

    @property
    def package(self) -> str:
        """The package that relative imports in this module start from; "" at a root."""
        return self.dotted if self.is_package else self.dotted.rpartition(".")[0]

    @property
    def last(self) -> str:
        """The last part of the dotted name."""
        return self.dotted.rpartition(".")[2]


class Names:
    """Finds modules by name and names modules by path.

    A root is a directory in which dotted names start. Roots come from the plan, and where it gives
    none from the tree: the parent of the topmost directory that holds an `__init__.py`. `root` is
    that of the first module that was located: new modules lie below it.
    """

    def __init__(self, tree: Tree, roots: Sequence[str] = ()) -> None:
        self._tree = tree
        self._given = sorted(roots, key=lambda root: (-len(root), root))  # the innermost first
        self.root: str | None = None
        self._tops: dict[str, set[str]] = {}  # by root

    @cached_property
    def _paths(self) -> dict[str, int]:
        return {
            path: mode for path, mode in self._tree.entries().items() if path.endswith(SUFFIXES)
        }

    @cached_property
    def _packages(self) -> set[str]:
        return {
            posixpath.dirname(path)
            for path in self._paths
            if posixpath.basename(path).startswith("__init__.")
        }

    def locate(self, name: ModuleName, place: Place) -> Located:
        """The existing module that a plan names. Refuses an unknown or an ambiguous name."""
        path = name.text if name.is_path else self._find(name.text, place)
        if path is None or path not in self._tree.entries():
            raise self._unknown(name, place)
        if self.root is None:
            self.root = self._root_of(path, name)
        return Located(path, self.dotted(path), True)

    def locate_new(self, name: ModuleName, place: Place, *, package: bool = False) -> Located:
        """A module that may not be there yet; `package`: it is (or becomes) an `__init__`."""
        if name.is_path:
            path = name.text
            if self.root is None:
                self.root = self._root_of(path, name)
            return Located(path, self.dotted(path), path in self._tree.entries())
        existing = self._find(name.text, place)
        if existing is not None and not (package and not existing.endswith("__init__.py")):
            return Located(existing, name.text, True)
        if self.root is None:
            raise self._unknown(name, place)
        stem = posixpath.join(self.root, *name.text.split("."))
        path = f"{stem}/__init__.py" if package else f"{stem}.py"
        return Located(path, name.text, path in self._tree.entries())

    def dotted(self, path: str) -> str:
        """The dotted name of a path below a root; elsewhere the name below its own root."""
        roots = [*self._given, *([] if self.root is None else [self.root])]
        root = next((root for root in roots if _below(path, root)), None)
        if root is None:
            root = self._own_root(path, by_use=False)
        relative = path[len(root) + 1 :] if root else path
        stem = relative[: relative.rindex(".")] if "." in posixpath.basename(relative) else relative
        parts = stem.split("/")
        if parts[-1] == "__init__":
            parts.pop()
        return ".".join(parts)

    def package_of(self, path: str) -> str:
        """The package in which relative imports of the module at `path` start."""
        dotted = self.dotted(path)
        return (
            dotted
            if posixpath.basename(path).startswith("__init__.")
            else dotted.rpartition(".")[0]
        )

    def path_of(self, dotted: str) -> str | None:
        """The path of a module below a root, if the tree has it: the first module's root first."""
        if self.root is None or not dotted:
            return None
        for root in dict.fromkeys((self.root, *self._given)):
            stem = posixpath.join(root, *dotted.split("."))
            for path in (f"{stem}/__init__.py", f"{stem}.py"):
                if path in self._paths:
                    return path
        return None

    def _find(self, dotted: str, place: Place) -> str | None:
        found = self.path_of(dotted)
        if found:
            return found
        if self.root is not None and self.has_top(dotted.partition(".")[0]):
            return None  # its package is here: one of the same name elsewhere is another
        roots = self._given
        stem = dotted.replace(".", "/")
        candidates = [
            path
            for path in self._paths
            if path in (f"{stem}.py", f"{stem}/__init__.py")
            or path.endswith((f"/{stem}.py", f"/{stem}/__init__.py"))
        ]
        if roots:
            candidates = [path for path in candidates if self._named(path, dotted, roots)]
        elif len(candidates) > 1:
            own = [
                path for path in candidates if self._named(path, dotted, (self._own_root(path),))
            ]
            candidates = own or candidates
        if len(candidates) > 1:
            raise Refusal(
                "ambiguous-module",
                f"`{dotted}` could be {' or '.join(f'`{path}`' for path in candidates[:3])}.",
                next_step='Name it by path, or say where names start: `roots = ["src"]`.',
                place=place,
            )
        return candidates[0] if candidates else None

    def has_top(self, top: str) -> bool:
        """Whether a package or module of that name lies directly in the root."""
        root = self.root or ""
        if root not in self._tops:
            start = len(root) + 1 if root else 0
            below = (path[start:] for path in self._paths if _below(path, root))
            self._tops[root] = {path.partition("/")[0].partition(".")[0] for path in below}
        return top in self._tops[root]

    def _named(self, path: str, dotted: str, roots: Sequence[str]) -> bool:
        stem = dotted.replace(".", "/")
        valid = {
            posixpath.join(root, f"{stem}{end}")
            for root in roots
            for end in (".py", "/__init__.py")
        }
        return path in valid

    def _root_of(self, path: str, name: ModuleName) -> str:
        for root in self._given:
            if _below(path, root):
                return root
        if not name.is_path:
            stem = name.text.replace(".", "/")
            for end in (f"{stem}.py", f"{stem}/__init__.py"):
                if path == end:
                    return ""
                if path.endswith("/" + end):
                    return path[: -len(end) - 1]
        return self._own_root(path)

    def _own_root(self, path: str, *, by_use: bool = True) -> str:
        """The parent of the topmost package above `path`.

        Without one, what imports of it show (`by_use`, which searches the tree), or custom.
        """
        directory = posixpath.dirname(path)
        parts = directory.split("/") if directory else []
        for length in range(1, len(parts) + 1):
            if "/".join(parts[:length]) in self._packages:
                return "/".join(parts[: length - 1])
        for length in range(len(parts), 0, -1):
            if not parts[length - 1].isidentifier():
                return "/".join(parts[:length])  # no dotted name reaches over `my-tools`
        if not parts:
            return ""
        if by_use and len(parts) > 1:
            return self._root_by_use(path, parts)
        return _custom_root(parts)

    def _root_by_use(self, path: str, parts: list[str]) -> str:
        """Without any `__init__.py` above: the root under which most imports spell the module."""
        stem = [*parts, posixpath.basename(path).rpartition(".")[0]]
        if stem[-1] == "__init__":
            stem.pop()
        last = re.compile(rb"\b" + re.escape(to_bytes(stem[-1])) + rb"\b")
        mentions = self._tree.search(last, self._paths)
        texts = list(self._tree.read_many(mentions).values())
        best, most = _custom_root(parts), 0
        for cut in range(len(parts)):
            dotted = re.escape(to_bytes(".".join(stem[cut:])))
            spelled = re.compile(rb"(?m)^[ \t]*(?:from|import)[ \t]+" + dotted + rb"\b")
            uses = sum(len(spelled.findall(text)) for text in texts)
            if uses > most:
                best, most = "/".join(parts[:cut]), uses
        return best

    def _unknown(self, name: ModuleName, place: Place) -> Refusal:
        names = self._paths if name.is_path else {self.dotted(path) for path in self._paths}
        last = re.split(r"[./]", name.text.removesuffix(".py"))[-1]
        close = nearest(name.text, [item for item in names if last in item] or names)
        hint = f"Did you mean {' or '.join(f'`{item}`' for item in close)}? " if close else ""
        return Refusal(
            "unknown-module",
            f"There is no module `{name}` in the {self._tree.label}.",
            next_step=f"{hint}Name a module of the tree, by path or by dotted name.".strip(),
            place=place,
        )


def refuse_unimportable(dotted: str, place: Place | None) -> None:
    """Refuse a module that no import statement can name: a part is no identifier, or a keyword.

    So is one of more parts than are read.
    """
    if dotted.count(".") >= MOST_PARTS:
        raise Refusal(
            "not-importable",
            f"`{dotted[:60]}...` has more than {MOST_PARTS} parts, too many to be imported.",
            next_step="Choose a destination with a shorter name.",
            place=place,
        )
    for part in dotted.lstrip(".").split("."):
        if part and (not part.isidentifier() or keyword.iskeyword(part)):
            raise Refusal(
                "not-importable",
                f"`{dotted}` cannot stand in an import statement: `{part}` is no name.",
                next_step="Choose a destination that can be imported, or move what is used alone.",
                place=place,
            )


def resolve_import(package: str, level: int, module: str | None) -> str | None:
    """The absolute name that `from <level dots><module> import` means inside `package`.

    `None` when it climbs above the top. A plain import has level 0.
    """
    if level == 0:
        return module or ""
    parts = package.split(".") if package else []
    if level - 1 > len(parts):
        return None
    base = parts[: len(parts) - (level - 1)]
    return ".".join([*base, *([module] if module else [])])


def respelled_relative(here: str, there: str, level: int, module: str | None, target: str) -> str:
    """How a relative import of package `here` is spelled in package `there`.

    As it is where the package is the same, also if it climbs further than it must; else relative
    where the two share a package, else by the whole name.
    """
    if here == there:
        return "." * level + (module or "")
    return relative_name(there, target) or target


def relative_name(package: str, target: str) -> str | None:
    """`target` as a relative import inside `package` spells it; `None` if they share no package."""
    here = package.split(".") if package else []
    there = target.split(".")
    if not here or here[0] != there[0]:
        return None
    common = 0
    while common < min(len(here), len(there)) and here[common] == there[common]:
        common += 1
    return "." * (len(here) - common + 1) + ".".join(there[common:])


def _below(path: str, root: str) -> bool:
    return not root or path.startswith(root + "/")


def _custom_root(parts: list[str]) -> str:
    return parts[0] if parts[0] in {"src", "lib", "python"} else ""
