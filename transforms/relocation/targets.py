"""Which files a plan's `[[move]]` tables take where, and what each module is called afterwards."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property

from transforms.errors import Place, Refusal
from transforms.paths import ModuleName, contained
from transforms.reading.model import Plan, Relocation
from transforms.relocation.shims import moved_to
from transforms.result.changes import EXECUTABLE, REGULAR
from transforms.tree import Tree
from transforms.tree.automatic import refuse_automatic
from transforms.tree.names import Names

_SUFFIXES = (".py", ".pyi")
_INIT = "__init__.py"


@dataclass(frozen=True, slots=True)
class Whole:
    """One module or package that moves. `files` maps each of its paths to the new one.

    `old` and `new` are dotted names; `folders` are those of a package, before and after, None for
    a module; `kept` says what stays at the old path, as the plan has it.
    """

    old: str
    new: str
    files: Mapping[str, str]
    folders: tuple[str, str] | None
    kept: str | None
    line: int

    @property
    def last(self) -> str:
        """The last part of the old name."""
        return self.old.rpartition(".")[2]


@dataclass
class Targets:
    """All that a plan moves whole.

    `paths` maps every file that moves to its new path, `modules` every module and package, those
    inside a moved package included, to its new dotted name. Both hold what keeps its name, too.
    """

    wholes: list[Whole]
    paths: dict[str, str] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)

    def moved_in(self, dotted: str) -> str | None:
        """The innermost moved module that a dotted name is, or lies in."""
        while dotted:
            if dotted in self.modules:
                return dotted
            dotted = dotted.rpartition(".")[0]
        return None

    def renamed(self, dotted: str) -> str:
        """What a dotted name is called after the move: a module, or something in one."""
        module = self.moved_in(dotted)
        return dotted if module is None else self.modules[module] + dotted[len(module) :]

    @cached_property
    def renames(self) -> dict[str, str]:
        """Modules whose dotted name changes; asked for once all are known."""
        return {old: new for old, new in self.modules.items() if old != new}

    @cached_property
    def above(self) -> set[str]:
        """The names of those modules, and of all packages above them."""
        return {
            ".".join(parts[:length])
            for old in self.renames
            for parts in [old.split(".")]
            for length in range(1, len(parts) + 1)
        }

    @cached_property
    def came_from(self) -> dict[str, list[str]]:
        """Old names by new name: what is renamed to it, and what keeps it."""
        found: dict[str, list[str]] = {}
        for old, new in self.modules.items():
            found.setdefault(new, []).append(old)
        return found

    @cached_property
    def filled(self) -> set[str]:
        """Folders in which something comes to lie."""
        return {
            new[:at] for new in self.paths.values() for at, sign in enumerate(new) if sign == "/"
        }


def find_targets(plan: Plan, tree: Tree, names: Names) -> Targets:
    """Resolve every `[[move]]` of a plan. Raises `Refusal`."""
    wholes = [whole for spec in plan.moves for whole in _Finder(plan, tree, names, spec).find()]
    targets = Targets(wholes)
    origins: dict[str, Whole] = {}
    for whole in sorted(wholes, key=lambda whole: whole.old.count(".")):  # the innermost wins
        place = plan.place(whole.line)
        for old, new in whole.files.items():
            if old in origins and not (origins[old].folders and origins[old].old != whole.old):
                raise _clash(f"`{old}` is moved twice", place)
            origins[old] = whole
            targets.paths[old] = new
            if old.endswith(_SUFFIXES):
                targets.modules[names.dotted(old)] = _name_in(whole, new)
        targets.modules[whole.old] = whole.new
        if whole.folders is not None:
            targets.modules.update(_folders(whole, whole.folders[0]))
    _refuse_rounds(targets, plan)
    _check(targets, plan, tree, names, {old: whole.line for old, whole in origins.items()})
    return targets


def _name_in(whole: Whole, new: str) -> str:
    """What a file of a moved module or package is called at its new path."""
    if whole.folders is None:
        return whole.new
    rest = new.removeprefix(whole.folders[1] + "/")
    parts = rest.rpartition(".")[0].split("/")
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join([whole.new, *parts])


def _folders(whole: Whole, folder: str) -> Iterator[tuple[str, str]]:
    """Folders of a moved package that are named like packages, whatever lies in them."""
    for path in whole.files:
        inside = path.removeprefix(folder + "/").split("/")[:-1]
        for length in range(1, len(inside) + 1):
            parts = inside[:length]
            if all(part.isidentifier() for part in parts):
                yield ".".join([whole.old, *parts]), ".".join([whole.new, *parts])


class _Finder:
    """Resolves one `[[move]]` table."""

    def __init__(self, plan: Plan, tree: Tree, names: Names, spec: Relocation) -> None:
        self.plan, self.tree, self.names, self.spec = plan, tree, names, spec
        self.place = plan.place(spec.line)

    def find(self) -> Iterator[Whole]:
        """One whole, or several where the table has a pattern."""
        if "*" not in self.spec.module.text:
            yield self._whole(self.spec.module, self.spec.to)
            return
        found = list(self._matching(self.spec.module))
        if not found and any(self._matching(self.spec.to)):
            raise _applied(f"nothing matches `{self.spec.module}`, and `{self.spec.to}` is there",
                           self.place)  # fmt: skip
        if not found:
            raise Refusal(
                "unknown-module",
                f"No module of the {self.tree.label} matches `{self.spec.module}`.",
                next_step="Check the pattern: its `*` stands for a part of one module's name.",
                place=self.place,
            )
        for path, part in found:
            to = ModuleName(self.spec.to.text.replace("*", part), self.spec.to.is_path)
            yield self._whole(ModuleName(path, is_path=True), to)

    def _matching(self, name: ModuleName) -> Iterator[tuple[str, str]]:
        """Modules that fit a pattern, by path, with what the star stands for."""
        text = name.text
        if not name.is_path:
            text = "/".join(text.split(".")) + ".py"
        before, after = (re.escape(side) for side in text.split("*"))
        start = "" if name.is_path else "(?:.*/)?"
        pattern = re.compile(rf"{start}{before}([^/.]+){after}")
        for path in self.tree.entries():
            found = pattern.fullmatch(path)
            if found and posixpath.basename(path) != _INIT:
                yield path, found[1]

    def _whole(self, module: ModuleName, to: ModuleName) -> Whole:
        path = self._path(module, to)
        self._refuse_shim(path if path in self.tree.entries() else f"{path}/{_INIT}", to)
        if path not in self.tree.entries():  # the folder of a package
            return self._package(path, to)
        if not module.is_path and posixpath.basename(path) == _INIT:
            return self._package(path.rpartition("/")[0], to)
        old = self.names.dotted(path)
        target, new = self._new_module(path, old, to)
        files = {path: target}
        stub = path.removesuffix(".py") + ".pyi"
        if path.endswith(".py") and stub in self.tree.entries():
            files[stub] = target.removesuffix(".py") + ".pyi"
        return Whole(old, new, files, None, self.spec.old, self.spec.line)

    def _path(self, module: ModuleName, to: ModuleName) -> str:
        """The file of a module, or the folder of a package."""
        if module.is_path and (module.text in self.tree.entries() or self._holds(module.text)):
            self._anchor(module.text)
            return module.text
        try:
            return self.names.locate(module, self.place).path
        except Refusal as refusal:
            if refusal.kind != "unknown-module":
                raise
            folder = None if module.is_path else self._bare_folder(module.text)
            if folder is not None:
                return folder
            if self._is_there(to):
                raise _applied(f"`{module}` is gone, and `{to}` is there", self.place) from None
            raise

    def _refuse_shim(self, path: str, to: ModuleName) -> None:
        """What an earlier run left at the old path is not the module that moves."""
        there = moved_to(self.tree.read(path)) if path in self.tree.entries() else None
        if there is not None and there == (self.names.dotted(to.text) if to.is_path else to.text):
            raise _applied(f"`{path}` stands for `{there}`", self.place)

    def _anchor(self, path: str) -> None:
        """Let the root be that of what moves, as for a module that is named by dots."""
        if self.names.root is None:
            inside = path if path.endswith(_SUFFIXES) else f"{path}/{_INIT}"
            self.names.locate_new(ModuleName(inside, is_path=True), self.place)

    def _holds(self, folder: str) -> bool:
        return any(path.startswith(folder + "/") for path in self.tree.entries())

    def _bare_folder(self, dotted: str) -> str | None:
        """The one folder of that name that holds Python, though nothing makes it a package."""
        stem = dotted.replace(".", "/")
        folders = {
            path[: found.end(1)]
            for path in self.tree.entries()
            if path.endswith(".py")
            and (found := re.match(rf"(?:|.*/)({re.escape(stem)})/", path)) is not None
        }
        if len(folders) != 1:
            return None
        (folder,) = folders
        if self.names.root is None:
            self.names.root = folder[: len(folder) - len(stem)].rstrip("/")
        return folder

    def _is_there(self, to: ModuleName) -> bool:
        entries = self.tree.entries()
        stem = to.text if to.is_path else to.text.replace(".", "/")
        ends = (stem, f"{stem}.py", f"{stem}/{_INIT}")
        return any(path in ends or path.endswith(tuple("/" + end for end in ends))
                   for path in entries)  # fmt: skip

    # Where it goes

    def _package(self, folder: str, to: ModuleName) -> Whole:
        old = self.names.dotted(f"{folder}/{_INIT}")
        inside = [path for path in self.tree.entries() if path.startswith(folder + "/")]
        if to.is_path and to.text.endswith(_SUFFIXES):
            raise Refusal(
                "plan-schema",
                f"`{old}` is a package, and `to` names one file.",
                next_step=f"Name a folder, or the one file that moves: `path = "
                f'"{folder}/{_INIT}"`.',
                place=self.place,
            )
        if to.is_path:
            target, new = to.text, self._dotted(f"{to.text}/{_INIT}", old)
        else:
            target, new = self._stem(folder, old, to.text), to.text
        files = {path: contained(target + path[len(folder) :]) for path in inside}
        return Whole(old, new, files, (folder, target), self.spec.old, self.spec.line)

    def _new_module(self, path: str, old: str, to: ModuleName) -> tuple[str, str]:
        if to.is_path:
            if not to.text.endswith(_SUFFIXES):
                raise Refusal(
                    "plan-schema",
                    f"`{old}` is one module, and `to` names a folder.",
                    next_step=f"Name the file: `{to.text}/{posixpath.basename(path)}`.",
                    place=self.place,
                )
            return to.text, self._dotted(to.text, old)
        stem = self._stem(_without_suffix(path), old, to.text)
        holds = any(p.startswith(stem + "/") and p.endswith(_SUFFIXES) for p in self.tree.entries())
        return (f"{stem}/{_INIT}" if holds else f"{stem}.py"), to.text

    def _stem(self, path: str, old: str, new: str) -> str:
        """The path of a dotted name in the root in which what moves lies, without a suffix."""
        root = path[: len(path) - len(old)].rstrip("/")
        return posixpath.join(root, *new.split("."))

    def _dotted(self, path: str, old: str) -> str:
        """The dotted name of a new path: another root is told by the old name below it."""
        stem = _without_suffix(path)
        tail = old.replace(".", "/")
        if stem == tail or stem.endswith("/" + tail):
            return old
        return self.names.dotted(path)


def _without_suffix(path: str) -> str:
    """The path that a dotted name spells: a module without its suffix, a package's folder."""
    if posixpath.basename(path) == _INIT:
        return path.rpartition("/")[0]
    return path[: path.rindex(".")] if path.endswith(_SUFFIXES) else path


def _check(
    targets: Targets, plan: Plan, tree: Tree, names: Names, lines: Mapping[str, int]
) -> None:
    """Refuse what cannot lie where it is sent: taken, hidden, or where machines run things."""
    taken: dict[str, str] = {}
    entries = tree.entries()
    after = {path for path in entries if path not in targets.paths} | set(targets.paths.values())
    holds = {path.rpartition("/")[0] for path in after if path.endswith(_SUFFIXES)}
    folded = {path.casefold(): path for path in entries if path not in targets.paths}
    for whole in targets.wholes:
        if whole.folders is None:
            _refuse_link(whole, tree, plan.place(whole.line))
    for old, new in targets.paths.items():
        place = plan.place(lines[old])
        refuse_automatic(old, place)  # what obeyed it would obey it no more
        refuse_automatic(new, place)
        contained(new)
        if new in taken:
            raise _clash(f"`{taken[new]}` and `{old}` would both become `{new}`", place)
        taken[new] = old
        if new in entries and new not in targets.paths and not _gives_way(new, old, tree, names):
            raise _clash(f"`{new}` is there already", place)
        twin = folded.get(new.casefold(), new)
        if twin != new:
            raise _clash(f"`{new}` differs from `{twin}` by case alone", place)
        if old != new:
            _check_beside(new, entries.keys(), after, holds, place)
    if all(old == new for old, new in targets.paths.items()):
        place = plan.place(min(lines.values(), default=1))
        raise _applied("every module of it lies where it goes", place)


def _refuse_rounds(targets: Targets, plan: Plan) -> None:
    """Modules that change places: nothing in the tree would tell whether they have done so."""
    for whole in targets.wholes:
        seen, at = [whole.old], whole.new
        while at in targets.renames and at not in seen:
            seen.append(at)
            at = targets.renames[at]
        if at == whole.old and len(seen) > 1:
            raise _clash(
                f"`{'` -> `'.join([*seen, at])}` change places, and applied again the plan would "
                "undo itself",
                plan.place(whole.line),
                "Move them in two plans, one after the other, by way of a third name.",
            )


def _refuse_link(whole: Whole, tree: Tree, place: Place) -> None:
    """One module that is a link or a submodule is not there to be moved."""
    for path in whole.files:
        if tree.entries()[path] not in (REGULAR, EXECUTABLE):
            raise Refusal(
                "symlink",
                f"`{path}` is a symbolic link or a submodule, not a file of this tree.",
                next_step="Name the file that it points to.",
                place=place,
            )


def _gives_way(path: str, old: str, tree: Tree, names: Names) -> bool:
    """An empty `__init__.py` makes room, and so does what an earlier move left there for `old`."""
    data = tree.read(path)
    return (posixpath.basename(path) == _INIT and not data.strip()) or (
        moved_to(data) == names.dotted(old)
    )


def _check_beside(
    new: str, before: Set[str], after: Set[str], holds: Set[str], place: Place
) -> None:
    """A module hides a folder of its name, a file keeps a folder from being made."""
    parent = new.rpartition("/")[0]
    while parent:
        blocker = next((path for path in (parent, f"{parent}.py") if path in after), None)
        if blocker == f"{parent}.py" and f"{parent}/{_INIT}" in before & after:
            blocker = None  # the package was found first all along: it hides the module
        if blocker is not None:
            raise _clash(f"`{new}` cannot be made: `{blocker}` has its folder's name", place)
        parent = parent.rpartition("/")[0]
    if posixpath.basename(new) != _INIT and new.removesuffix(".py") in holds:
        raise _clash(f"`{new}` would share its name with a folder of modules", place)


def _applied(cause: str, place: Place) -> Refusal:
    return Refusal(
        "already-applied",
        f"The plan was already applied: {cause}.",
        next_step="Nothing is left to do; to see what it did, name the commit before with `--at`.",
        place=place,
    )


def _clash(cause: str, place: Place, next_step: str = "") -> Refusal:
    return Refusal(
        "clash",
        f"{cause}.",
        next_step=next_step or "Choose another place, or move what is there in the same plan.",
        place=place,
    )
