"""Imports and code that are put together, in files which no run reaches."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from verify.kernel.edits.needs import every
from verify.kernel.pairs.both import Both
from verify.kernel.pairs.flow import Flow, Within
from verify.kernel.reach.lookups import fits
from verify.kernel.running.entries import became
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.source import last
from verify.kernel.trees.tree import Tree
from verify.kernel.trees.words import raw, words
from verify.kernel.verdict import OPEN, Place

_IMPORTING = words("import_module __import__ find_spec locate resolve_name import_string")
_FINDERS = words("find_spec find_loader find_module get_loader")
# What looks at all of a module for its name.
_LOOKS_AT = words("render_doc writedoc safeimport loadTestsFromName loadTestsFromNames")
_LOOKING = re.compile(raw(rf"\b(?:{'|'.join(sorted(_LOOKS_AT))})\b"))
# What goes through all modules that are loaded, and what takes some out of there.
_ALL_LOADED = re.compile(
    rb"\b(?:in|list|sorted|tuple|set|dict|filter)\b[\s(]*(?:\w+\()?sys\.modules\b(?!\s*[\[:])"
    rb"|\bsys\.modules\s*\.\s*(?:keys|items|copy)\b"
)
_TAKES_OUT = re.compile(rb"\bdel\s+sys\.modules\s*\[|\bsys\.modules\s*\.\s*pop\b")
_SEEKING = re.compile(raw(rf"\b(?:{'|'.join(sorted(_FINDERS))}|sys\.modules)\b"))
# What lists the names of a module.
_LISTS = re.compile(rb"\bvars\(|\bdir\(|\bgetmembers\b|__dict__")
_FIELD = re.compile(r"\{([^}]*)\}")
MOST_DEPTH = 8  # of a text that is put together


def check(both: Both, near: set[str]) -> None:
    """Report imports with a literal part that fits a module which is gone.

    Or one that code left or came to, where the file lists the names of modules.
    """
    gone = {
        both.base.name(path)
        for path in both.changed
        if path.endswith(".py") and path in both.base.files and became(path, both.target) is None
    }
    met = {both.base.name(at[0]) for pair in both.pairing.moved() for at in pair[:1]}
    met |= {both.target.name(target[0]) for _, target in both.pairing.moved()}
    for path in sorted(both.base.files.keys() - near) if gone or met else ():
        data = both.base.files[path]
        if path.endswith(".py") and any(word.encode() in data for word in _IMPORTING):
            _file(both, path, gone | met if _LISTS.search(data) else gone)


def replaced(both: Both) -> None:
    """Report who puts something in place of a module from which code moved.

    Whoever imports it while it runs gets that; code that moved imports another one now.
    """
    left = {both.base.name(base[0]) for base, _ in both.pairing.moved()}
    for path, data in sorted(both.target.files.items()) if left else ():
        if not path.endswith(".py") or b"sys.modules" not in data:
            continue
        source = both.target.readable(path)
        for call in walk(source.tree) if source else ():
            if isinstance(call, ast.Call) and call.args and _is_loaded(call.args[0]):
                for node in call.args[1:]:
                    names = node.keys if isinstance(node, ast.Dict) else [node]
                    for name in names:
                        if isinstance(name, ast.Constant) and name.value in left:
                            why = "something is put in its place, and code that uses it has left"
                            both.found.say(OPEN, str(name.value), why, Place(path, call.lineno))


def sought(both: Both) -> None:
    """Report who asks whether there is a module that came or left."""
    ours, theirs = both.base.named.keys(), both.target.named.keys()
    apart = set(ours ^ theirs)
    for path, data in sorted(both.target.files.items()) if apart else ():
        if not path.endswith(".py") or _SEEKING.search(data) is None:
            continue
        source = both.target.readable(path)
        for node in walk(source.tree) if source and b"sys.modules" in data else ():
            named = _in_loaded(node)
            if named in apart - ours:
                why = "whether it is loaded is asked for here, and it is there now"
                both.found.say(OPEN, named, why, Place(path, getattr(node, "lineno", 1)))
        for call, within in Flow(source).calls if source else ():
            if last(call.func) in _FINDERS and call.args:
                wanted = Pattern(both.target, path).of(call.args[0], within)
                if wanted in apart:
                    now = "gone" if wanted in ours else "there now"
                    why = f"it is asked for here, and it is {now}"
                    both.found.say(OPEN, wanted, why, Place(path, call.lineno))


def _in_loaded(node: ast.AST) -> str:
    """Give the module of which an expression asks whether it is loaded."""
    left = None
    if isinstance(node, ast.Compare) and _is_loaded(node.comparators[0]):
        left = node.left
    elif isinstance(node, ast.Call) and last(node.func) == "get" and node.args:
        owner = node.func.value if isinstance(node.func, ast.Attribute) else node
        left = node.args[0] if _is_loaded(owner) else None
    return str(left.value) if isinstance(left, ast.Constant) else ""


def loaded(both: Both) -> None:
    """Report who goes through the names of all modules that are loaded, and picks some by a part.

    Who takes modules out of there minds only whether he picks the new place as he did the old one.
    """
    moved = {
        (both.base.name(base[0]), both.target.name(target[0]))
        for base, target in both.pairing.moved()
    }
    apart = {*(both.base.named.keys() ^ both.target.named.keys())}
    for path, data in sorted(both.target.files.items()) if moved or apart else ():
        source = both.target.readable(path) if _ALL_LOADED.search(data) else None
        if source is None or not path.endswith(".py"):
            continue
        pattern, takes = Pattern(both.target, path), _TAKES_OUT.search(data) is not None
        for call, within in Flow(source).calls:
            if last(call.func) not in ("startswith", "match", "fullmatch", "search", "fnmatch"):
                continue
            wanted = pattern.of(call.args[0], within) if call.args else "*"
            names = {one for one, two in moved if _begins(one, wanted) != _begins(two, wanted)}
            names |= set() if takes else {name for name in apart if _begins(name, wanted)}
            if wanted.strip("*.") and names:
                why = f"it goes through the modules that are loaded, and picks {min(names)} or not"
                both.found.say(OPEN, min(names), why, Place(path, call.lineno))


def _begins(name: str, wanted: str) -> bool:
    return fits(f"{wanted.strip('^$')}*", name)


def looked_at(both: Both, lost: Mapping[str, set[str]]) -> None:
    """Report who looks at all of a module that lost names, which it names by a text."""
    for path, data in sorted(both.target.files.items()) if lost else ():
        if not path.endswith(".py") or _LOOKING.search(data) is None:
            continue
        source = both.target.readable(path)
        flow = Flow(source) if source else None
        for call, within in flow.calls if flow else ():
            if flow is not None and last(call.func) in _LOOKS_AT:
                texts = {text for text, _ in flow.texts(*((arg, within) for arg in call.args))}
                for module in sorted(texts & lost.keys()):
                    why = "all that it has is looked at here, and it has less now"
                    both.found.say(OPEN, module, why, Place(path, call.lineno))


def _is_loaded(node: ast.AST) -> bool:
    """Tell whether a node is `sys.modules`, or its name."""
    if isinstance(node, ast.Constant):
        return bool(node.value == "sys.modules")
    return isinstance(node, ast.Attribute) and node.attr == "modules" and last(node.value) == "sys"


def evaluated(both: Both, lost: Mapping[str, set[str]]) -> None:
    """Report code put together at run time that asks a module which lost names."""
    stems = {raw(name.rpartition(".")[2]) for name in lost}
    for path in sorted(both.target.files) if lost else ():
        data = both.target.files[path]
        calls = b"eval(" in data or b"exec(" in data
        if not (path.endswith(".py") and calls and any(stem in data for stem in stems)):
            continue
        source = both.target.readable(path)
        if source is None:
            continue
        known: dict[str, set[str]] = {}
        for row in every(both.target, source):
            inner = f"{row.module}.{row.member}" if row.member else row.module
            known.setdefault(row.name, set()).update(name for name in (inner,) if name in lost)
        pattern = Pattern(both.target, path)
        for call, within in Flow(source).calls:
            if last(call.func) in ("eval", "exec") and call.args:
                text = pattern.text(call.args[0], within)
                for owner in re.findall(r"\b(\w+)\.\*", text):
                    for module in sorted(known.get(owner, ())):
                        why = f"it runs text as code, and can reach {module}"
                        both.found.say(OPEN, module, why, Place(path, call.lineno))


def _file(both: Both, path: str, gone: set[str]) -> None:
    source = both.base.readable(path)
    for call, within in Flow(source).calls if source else ():
        if last(call.func) in _IMPORTING and call.args:
            wanted = Pattern(both.base, path).of(call.args[0], within)
            if not wanted.strip("*."):
                continue
            for module in sorted(gone):
                if fits(wanted, module):
                    why = f"it imports a module whose name is put together, and can reach {module}"
                    both.found.say(OPEN, module, why, Place(path, call.lineno))


class Pattern:
    """Gives the literal parts of a module's name, `*` for the others."""

    def __init__(self, tree: Tree, path: str) -> None:
        self._module = tree.name(path)
        whole = path.endswith("/__init__.py")
        self._package = self._module if whole else self._module.rpartition(".")[0]

    def of(self, node: ast.AST, within: Within) -> str:
        """Give the pattern of the full name."""
        found = self._text(node, within, 0)
        if not found.startswith("."):
            return found
        level = len(found) - len(found.lstrip("."))
        parts = self._package.split(".")
        return ".".join([*parts[: len(parts) - level + 1], found.lstrip(".")])

    def text(self, node: ast.AST, within: Within) -> str:
        """Give the pattern of any text."""
        return self._text(node, within, 0)

    def _text(self, node: ast.AST, within: Within, depth: int) -> str:
        if depth > MOST_DEPTH:
            return "*"
        if isinstance(node, ast.Constant):
            return str(node.value)
        if isinstance(node, ast.JoinedStr):
            return "".join(self._text(part, within, depth + 1) for part in node.values)
        if isinstance(node, ast.FormattedValue):
            return self._text(node.value, within, depth + 1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            sides = node.left, node.right
            return "".join(self._text(side, within, depth + 1) for side in sides)
        return self._other(node, within, depth)

    def _other(self, node: ast.AST, within: Within, depth: int) -> str:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            text = self._text(node.left, within, depth + 1)
            several = isinstance(node.right, ast.Tuple)
            parts = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
            told = [self._text(part, within, depth + 1) for part in parts]
            if len(re.findall(r"%\w", text)) != len(told) or (not several and "*" in told[0]):
                return re.sub(r"%\w", "*", text)
            return re.sub(r"%\w", lambda _: told.pop(0), text)
        if isinstance(node, ast.Call) and last(node.func) == "format":
            text = self._text(getattr(node.func, "value", node), within, depth + 1)
            several = any(isinstance(arg, ast.Starred) for arg in node.args)
            filling = [self._text(arg, within, depth + 1) for arg in node.args if not several]
            return _FIELD.sub(lambda field: _filled(field[1], filling, text), text)
        if isinstance(node, ast.Name):
            if node.id in ("__name__", "__package__"):
                return self._module if node.id == "__name__" else self._package
            given = within.given.get(node.id, [])
            if len(given) == 1 and node.id not in within.takes:
                return self._text(given[0][0], given[0][1], depth + 1)
        return "*"


def _filled(field: str, given: list[str], text: str) -> str:
    """Give what stands in the place of a numbered field, if nothing but the number tells it."""
    plain = field.isascii() and field.isdigit() and "{{" not in text
    return given[int(field)] if plain and int(field) < len(given) else "*"
