"""The run of a plan's whole moves: every file that goes, every file that names what goes."""

from __future__ import annotations

import fnmatch
import posixpath
import re

from transforms.callers.candidates import PYTHON, any_word
from transforms.errors import Place, Refusal
from transforms.formatters import Formatters
from transforms.formatters.touched import format_touched
from transforms.imports.document import Document
from transforms.move.authored import apply_edits, authored_blobs
from transforms.move.intent import check_roots
from transforms.move.landing import package_table, refuse_without_init
from transforms.reading.accepts import Accepts
from transforms.reading.model import Package, Plan
from transforms.relocation.around import Around, collect_readings
from transforms.relocation.cycles import refuse_new_cycles
from transforms.relocation.left import imported, patched
from transforms.relocation.mentions import Mentions
from transforms.relocation.notes import loading_notes, own_place_notes, packaging_notes
from transforms.relocation.python import PythonFile
from transforms.relocation.shims import is_public, offer_of, shim
from transforms.relocation.strings import RelocatedStrings
from transforms.relocation.targets import Targets, Whole, find_targets
from transforms.relocation.texts import RelocatedTexts, relocated_texts
from transforms.result.changes import EXECUTABLE, REGULAR, Blob
from transforms.result.outcome import Edit, Note, Relocated
from transforms.syntax.parsing import parse
from transforms.tree import OverlayTree, Tree
from transforms.tree.names import Names

_SHEBANG = re.compile(rb"#!.*\bpython")


class Relocation:
    """One run. `after` holds each touched path's file, None for one that goes."""

    def __init__(self, plan: Plan, tree: Tree, formatters: Formatters, accepts: Accepts) -> None:
        self.plan, self.tree, self.formatters = plan, tree, formatters
        self.accepts = accepts
        self.names = Names(tree, plan.roots)
        self.sorter = any(tool.sorts for tool in formatters.tools)
        self.after: dict[str, Blob | None] = {}
        self.edits: dict[str, list[Edit]] = {}
        self.notes: list[Note] = []
        self.relocated: tuple[Relocated, ...] = ()
        self.authored: dict[str, Blob] = {}
        self._documents: dict[str, Document] = {}
        self._data: dict[str, bytes] = {}  # of files that are sure to be read, read together

    def move(self) -> None:
        """Move the files and rewrite what names them. Raises `Refusal`."""
        check_roots(self.plan, self.tree)
        self.targets = find_targets(self.plan, self.tree, self.names)
        self.around = Around(self.targets, self.names, self.open)
        self.mentions = Mentions(self.targets)
        self.relocated = tuple(map(_described, self.targets.wholes))
        left = OverlayTree(self.tree, dict.fromkeys(self.targets.paths))
        self.authored = authored_blobs(self.plan, self.names, left)
        python, texts = self._candidates()
        moving = {path for path, new in self.targets.paths.items() if path != new}
        self._data = self.tree.read_many(sorted(python | moving))
        self._read_names(python)
        for path in sorted(python):
            self._python(path)
        self._others(texts)
        for whole in self.targets.wholes:
            if whole.kept is not None:
                self._leave_shims(whole)
        self.after.update(self.authored)
        for package in self.plan.packages:
            self._make_package(package)
        self._check()

    def finish(self) -> dict[str, tuple[str, ...]]:
        """Format what is touched, and make the plan's own edits."""
        changed = format_touched(self.after, self.authored.keys(), self.tree, self.formatters)
        apply_edits(self.plan, self.names, self.tree, self.after)
        return changed

    def open(self, path: str) -> Document:
        """The document of a file of the tree; each is parsed once."""
        if path not in self._documents:
            package = self.names.package_of(path)
            data = self._read(path)
            self._documents[path] = Document(path, data, package, sorter=self.sorter)
        return self._documents[path]

    def _read(self, path: str) -> bytes:
        data = self._data.get(path)
        return self.tree.read(path) if data is None else data

    # Which files

    def _candidates(self) -> tuple[set[str], list[str]]:
        """Python files that move or may name what does, and other files that may."""
        replaced = set(self.targets.paths.values()) - self.targets.paths.keys()
        entries = self.tree.entries().items()
        regular = [p for p, m in entries if m in (REGULAR, EXECUTABLE) and p not in replaced]
        code = {path for path in regular if path.endswith(PYTHON)}
        scripts = {path for path in regular if "." not in posixpath.basename(path)}
        texts = set(relocated_texts(regular))
        found = self.tree.search(self._needle(), code | scripts | texts)
        data = self.tree.read_many(found)
        named = _import_pattern(self.targets)
        python = {path for path in found if path in code and named.search(data[path])}
        python |= code & self.targets.paths.keys()
        bare = {path for path in found if path in scripts - texts}
        python |= {path for path in bare if _SHEBANG.match(data[path])}
        texts |= {path for path in bare if data[path].startswith(b"#!")}
        return python, [path for path in found if path in texts and path not in python]

    def _needle(self) -> re.Pattern[bytes]:
        """Matches whatever may name what moves: the last part of its name, or of its path."""
        lasts = {whole.last for whole in self.targets.wholes}
        stems = {posixpath.basename(item.old_path).partition(".")[0] for item in self.relocated}
        words = sorted((lasts | stems) - {"__init__", ""})
        return re.compile(b"|".join(re.escape(word.encode()) for word in words))

    def _read_names(self, python: set[str]) -> None:
        """Which names are taken from which modules: asked only where a bound name may change."""
        changed = [
            old
            for old, new in self.targets.renames.items()
            if old.rpartition(".")[2] != new.rpartition(".")[2]
        ]
        if changed:
            texts = {path: self._data[path].decode("utf-8", "replace") for path in sorted(python)}
            self.around.read_names = collect_readings(texts)

    def _is_left(self, path: str) -> bool:
        return any(path == item or fnmatch.fnmatchcase(path, item) for item in self.plan.leave)

    # Python

    def _python(self, path: str) -> None:
        if self._is_left(path) and path not in self.targets.paths:
            self._note_left(path)
            return
        try:
            document = self.open(path)
        except Refusal:
            if path in self.targets.paths:
                raise
            self._note_unread(path)
            return
        dotted = self.names.dotted(path)
        file = PythonFile(
            self.around, document, dotted, self._package_after(path), is_foreign=self._foreign(path)
        )
        file.rewrite()
        RelocatedStrings(file, self.mentions).rewrite()
        self._put(path, document.finish())
        if file.edits:
            self.edits.setdefault(self.targets.paths.get(path, path), []).extend(file.edits)
        self.notes += file.notes
        if path in self.targets.paths:
            self.notes += own_place_notes(document, self.targets, path)

    def _package_after(self, path: str) -> str:
        """The package in which relative imports of a file start after the move."""
        dotted = self.names.dotted(path)
        new = self.targets.modules.get(dotted, dotted) if path in self.targets.paths else dotted
        at = self.targets.paths.get(path, path)
        is_init = posixpath.basename(at).startswith("__init__.")
        return new if is_init else new.rpartition(".")[0]

    def _foreign(self, path: str) -> bool:
        """Whether a file lies outside the root of what moves: dots mean something else there."""
        root = self.names.root or ""
        return bool(root) and not path.startswith(root + "/")

    def _put(self, path: str, data: bytes) -> None:
        mode = self.tree.entries()[path]
        new = self.targets.paths.get(path, path)
        if new != path:
            self.after.setdefault(path, None)
        if new != path or data != self._read(path):
            self.after[new] = Blob(data, mode)

    def _note_left(self, path: str) -> None:
        """What a file under `leave` names, and which of its patches do not reach the code."""
        text = self._read(path).decode("utf-8", "replace")
        rows = text.split("\n")
        told: set[int] = set()
        line, at = 1, 0
        for mention in self.mentions.find(text):
            line, at = line + text.count("\n", at, mention.start), mention.start
            if line in told:
                continue
            told.add(line)
            message = self._named(mention.old, mention.new)
            if "patch" in rows[line - 1] or "attr(" in rows[line - 1]:
                message = self._unreached(mention.old, mention.new)
            self.notes.append(Note("left alone", Place(path, line, None, rows[line - 1]), message))
        try:
            document = self.open(path)
        except Refusal:
            return
        package = self.names.package_of(path)
        dotted, foreign = self.names.dotted(path), self._foreign(path)
        file = PythonFile(self.around, document, dotted, package, is_foreign=foreign)
        found = [(line, self._unreached(old, self.targets.renames[old]))
                 for line, old in patched(file)]  # fmt: skip
        found += [(line, self._named(old, self.targets.renames[old]))
                  for line, old in imported(file)]  # fmt: skip
        for line, message in found:
            if line not in told:
                told.add(line)
                place = Place(path, line, None, rows[line - 1])
                self.notes.append(Note("left alone", place, message))

    @staticmethod
    def _named(old: str, new: str) -> str:
        return f"Names `{old}`, now `{new}`, and is under `leave`."

    @staticmethod
    def _unreached(old: str, new: str) -> str:
        return (
            f"A patch of `{old}` no longer reaches the code, which is now in `{new}`; the file is "
            "under `leave`."
        )

    def _note_unread(self, path: str) -> None:
        """A file that does not parse: a person looks where it names what moves."""
        text = self.tree.read(path).decode("utf-8", "replace")
        for mention in self.mentions.find(text):
            line = text.count("\n", 0, mention.start) + 1
            message = f"Does not parse, and names `{mention.old}`, now `{mention.new}`."
            self.notes.append(Note("left alone", Place(path, line), message))
            return

    # Other files

    def _others(self, texts: list[str]) -> None:
        rewriter = RelocatedTexts(self.around, self.mentions, newer=self.plan.newer)
        data = self.tree.read_many(texts)
        self._data.update(data)
        for path in sorted(texts):
            if self._is_left(path):
                continue
            result = rewriter.rewrite(path, data[path])
            if result.edits:
                self.edits.setdefault(self.targets.paths.get(path, path), []).extend(result.edits)
            self.notes += result.notes
            self._put(path, result.data)
        self.notes += packaging_notes(self.targets, self.tree)
        self.notes += loading_notes(self.targets, self.names, self.around.document_of)
        for path in self.targets.paths:
            if path not in self.after and self.targets.paths[path] not in self.after:
                self._move_untouched(path)

    def _move_untouched(self, path: str) -> None:
        """A file that goes as it is: data, a symbolic link."""
        new = self.targets.paths[path]
        if new == path:
            return
        blob = Blob(self._read(path), self.tree.entries()[path])
        if blob.mode not in (REGULAR, EXECUTABLE) and b"/" in blob.data:
            message = (
                "A symbolic link that goes along; where it leads from there must be looked at."
            )
            self.notes.append(Note("own module", Place(path), message))
        self.after[path], self.after[new] = None, blob

    def _leave_shims(self, whole: Whole) -> None:
        for path in whole.files:
            old = self.names.dotted(path)
            new = self.targets.modules.get(old, "")
            if not path.endswith(".py") or not is_public(old, whole.old) or old == new:
                continue
            if self.tree.entries()[path] not in (REGULAR, EXECUTABLE):
                continue  # a link: what it leads to is elsewhere
            at = self._shim_path(path)
            if self.after.get(at) is not None:
                raise Refusal(
                    "clash",
                    f"`{old}` is to stay importable, and another file comes to lie at `{at}`.",
                    next_step="Drop `old`, or choose another place for the other file.",
                    place=self.plan.place(whole.line),
                )
            offer = offer_of(self.open(path), old, self.around.document_of)
            text = shim(offer, new, old, whole.kept or "warn", self.targets.renamed)
            self.after[at] = Blob(text.encode(), REGULAR)

    def _shim_path(self, path: str) -> str:
        """Where an old module lies: in a folder of its name, if one comes to hold modules."""
        folder = path.removesuffix(".py")
        return f"{folder}/__init__.py" if folder in self.targets.filled else path

    def _make_package(self, package: Package) -> None:
        place = self.plan.place(package.line)
        located = self.names.locate_new(package.module, place, package=True)
        if package.exports:
            raise Refusal(
                "plan-schema",
                f"`{located.dotted}` is to export names, and the plan moves none by itself.",
                next_step="Write `exports = []` for an empty `__init__.py`, or author its text.",
                place=place,
            )
        is_there = located.path in self.tree.entries()
        if self.after.get(located.path) is None and not (
            is_there and located.path not in self.after
        ):
            self.after[located.path] = Blob(b"", REGULAR)

    # What must hold

    def _check(self) -> None:
        seen: set[str] = set()
        for whole in self.targets.wholes:
            for old, new in whole.files.items():
                folder = new.rpartition("/")[0]
                if new.endswith(".py") and old != new and folder not in seen:
                    seen.add(folder)
                    place = self.plan.place(whole.line)
                    root = _root_of(new, self.targets.modules.get(self.names.dotted(old), ""))
                    self._refuse_emptied(new, root, place)
                    self.notes += refuse_without_init(new, root, self.tree, self.after, place)
        parsed = {item.module.data: item.module.tree for item in self._documents.values()}
        for path, blob in sorted(self.after.items()):
            if blob is None or blob.mode not in (REGULAR, EXECUTABLE) or blob.data in parsed:
                continue
            if path.endswith(".py") and path not in self.authored:  # that stands as it is
                parsed[blob.data] = parse(blob.data, path)
        refuse_new_cycles(self.targets, self.tree, self.after, self.names, parsed, self.accepts)

    def _refuse_emptied(self, path: str, root: str, place: Place) -> None:
        """A package that gives its `__init__` away, and still is to hold modules."""
        folder = path.rpartition("/")[0]
        while folder and folder != root:
            init = f"{folder}/__init__.py"
            if init in self.targets.paths and self.after.get(init) is None:
                raise Refusal(
                    "no-init",
                    f"`{path}` would lie in `{folder}`, whose `__init__.py` goes elsewhere.",
                    next_step=f"Paste {package_table(folder, root)} for an empty one, or choose "
                    "another place.",
                    place=place,
                )
            folder = folder.rpartition("/")[0]


def _import_pattern(targets: Targets) -> re.Pattern[bytes]:
    """Matches Python files that may name what moves: in full, by dots, or through its package."""
    last = any_word({whole.last for whole in targets.wholes})
    packages = {whole.old.rpartition(".")[0] for whole in targets.wholes} - {""}
    parents = {package.rpartition(".")[2] for package in packages} or {"."}
    parent = any_word(parents)
    paths = {path for path, new in targets.paths.items() if path != new}
    folders = {whole.folders[0] for whole in targets.wholes if whole.folders is not None}
    outside = {path for path in paths if not any(path.startswith(f + "/") for f in folders)}
    return re.compile(
        any_word({whole.old for whole in targets.wholes})
        + rb"|" + any_word(outside | folders)
        + rb"|\bfrom[ \t]*\.+(?:[\w.]{0,200}\.)?(?:" + last + rb"|[ \t]*import\b)"
        + rb"|\bfrom[ \t]+[\w.\x80-\xff]{0,200}" + parent + rb"[ \t]+import\b"
        + rb"|\bimport[ \t][^\n]{0,400}?" + parent + rb"[ \t]+as\b"
        + rb"|\bimport_module\b[^\n]{0,200}?[\x22\x27]\."
    )  # fmt: skip


def _root_of(path: str, dotted: str) -> str:
    """The folder in which a module's dotted name starts."""
    stem = path.removesuffix("/__init__.py").removesuffix(".py")
    tail = dotted.replace(".", "/")
    return stem[: len(stem) - len(tail)].rstrip("/") if stem.endswith(tail) else ""


def _described(whole: Whole) -> Relocated:
    first = next(iter(whole.files.items()))
    old_path, new_path = first if whole.folders is None else whole.folders
    return Relocated(old_path, new_path, whole.old, whole.new, len(whole.files), whole.kept)


def relocate(plan: Plan, tree: Tree, formatters: Formatters, accepts: Accepts) -> Relocation:
    """Make the whole moves of a plan; formatters and authored edits come with `finish`."""
    run = Relocation(plan, tree, formatters, accepts)
    run.move()
    return run


def refuse_applied(plan: Plan, tree: Tree) -> None:
    """Refuse a plan whose whole moves were made already; any other fault is not told here."""
    try:
        find_targets(plan, tree, Names(tree, plan.roots))
    except Refusal as refusal:
        if refusal.kind == "already-applied":
            raise


__all__ = ["Relocation", "refuse_applied", "relocate"]
