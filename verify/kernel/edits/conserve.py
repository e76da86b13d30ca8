"""Statements are conserved one to one."""

from __future__ import annotations

import ast
import io
import tokenize

from verify.kernel.pairs.both import Both
from verify.kernel.pairs.pairing import At
from verify.kernel.running.entries import became
from verify.kernel.trees.effects import TOUCHING
from verify.kernel.trees.nodes import walk
from verify.kernel.trees.source import DEFINITIONS, is_docstring, stored
from verify.kernel.trees.tree import Tree
from verify.kernel.verdict import BREAKS, EXPLAINED, OBSERVED, TEXT, Moved


def check(both: Both) -> None:
    """Report statements that are new, gone or edited, and list those that moved."""
    for at in both.pairing.gone:
        if _exports(both, both.base, at) and became(at[0], both.target) is None:
            place = both.span(both.base, at)
            both.found.say(EXPLAINED, "__all__", "the module that it belonged to is gone", place)
        elif not _header(both, both.base, at):
            _say(both, both.base, at, "is gone")
    for at in both.pairing.new:
        kept = both.asked.kept.get(at[0])
        if kept and symbol(both.statement(both.target, at).node) == "__getattr__":
            why = f"it keeps {', '.join(sorted(kept)[:3])} for whoever asks this module"
            both.found.say(EXPLAINED, "__getattr__", why, both.span(both.target, at))
        elif not _header(both, both.target, at) and not _exports(both, both.target, at):
            _say(both, both.target, at, "is new")
    _docstrings(both)
    _listed(both)
    _twice(both)
    _met(both)
    if not both.target.blank:  # nobody asks of a part how it is spelled
        _spelled(both)
    for base, target in both.pairing.moved():
        both.found.moved.append(_moved(both, base, target))
        if isinstance(both.statement(both.target, target).node, DEFINITIONS):
            why = "`__module__` of what moved here names this module, and so do pickles of it"
            both.found.say(OBSERVED, both.name(target[0]), why, both.place(both.target, target))
    for target in sorted(both.pairing.copies):
        both.found.copies.append(_moved(both, both.pairing.base_of[target], target))


def _listed(both: Both) -> None:
    """Look at each `__all__`: at a new one, and at one that stays as it was."""
    listed: set[str] = set()
    for at in both.pairing.new:
        if _exports(both, both.target, at):
            if at[0] in listed:
                _say(both, both.target, at, "stands twice")
            listed.add(at[0])
            if not computed(both, at) and exported(both, at):
                why = "it lists what its module has"
                both.found.say(EXPLAINED, "__all__", why, both.span(both.target, at))
    for at in both.pairing.base_of:
        known = at in {edit.target for edit in both.pairing.edits} or computed(both, at)
        if _exports(both, both.target, at) and not known:
            exported(both, at)


def _header(both: Both, tree: Tree, at: At) -> bool:
    """Tell whether a statement is the docstring of a module that came or went."""
    other = both.base if tree is both.target else both.target
    node = both.statement(tree, at).node
    return at[1] == 0 and is_docstring(node) and at[0] not in other.files


def _docstrings(both: Both) -> None:
    """A module that moved whole keeps its docstring, but for names in it that follow what moved.

    It may get one or lose it, as any file may that is new or gone.
    """
    for old, new in both.relocated.items():
        sides = (both.base, old), (both.target, new)
        ours, theirs = (ast.get_docstring(t.source(p).tree, clean=False) for t, p in sides)
        if ours is None or theirs is None or both.renames.follow(ours, theirs):
            continue
        why = "this module moved whole, and its docstring is another"
        both.found.say(TEXT, both.name(new), why, *(both.span(t, (p, 0)) for t, p in sides))


def _exports(both: Both, tree: Tree, at: At) -> bool:
    node = both.statement(tree, at).node
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    return isinstance(target, ast.Name) and target.id == "__all__"


def computed(both: Both, at: At) -> bool:
    """Tell whether a statement is an `__all__` whose names are put together when it runs."""
    node = both.statement(both.target, at).node
    value = node.value if isinstance(node, ast.Assign) else None
    plain = isinstance(value, (ast.List, ast.Tuple))
    starred = any(isinstance(item, ast.Starred) for item in getattr(value, "elts", ()))
    return _exports(both, both.target, at) and (not plain or starred)


def exported(both: Both, at: At) -> bool:
    """Report names in an `__all__` that its module does not have. Tells whether all is well."""
    node = both.statement(both.target, at).node
    value = node.value if isinstance(node, ast.Assign) else None
    if not isinstance(value, (ast.List, ast.Tuple)):
        _say(both, both.target, at, "is new")
        return False
    source = both.target.source(at[0])
    bound = {name for statement in source.tree.body for name in stored(statement)}
    folder = at[0].removesuffix("/__init__.py")
    for item in value.elts:
        name = str(item.value) if isinstance(item, ast.Constant) else ""
        inner = (
            f"{folder}/{name}.py" in both.target.files or f"{folder}/{name}" in both.target.folders
        )
        defined = name in _had(both, at[0])
        known = at in both.pairing.base_of and at not in {e.target for e in both.pairing.edits}
        if name not in bound and "*" not in bound and (defined or not (inner or known)):
            place = both.place(both.target, at)
            both.found.say(TEXT, "__all__", f"it names {name}, which is not there", place)
            return False
    return True


def _had(both: Both, path: str) -> set[str]:
    """Give what a file bound before, or the module that its package was."""
    for old in (path, path.replace("/__init__.py", ".py")):
        if old in both.base.files:
            return {name for node in both.base.source(old).tree.body for name in stored(node)}
    return set()


def _twice(both: Both) -> None:
    """A statement may stand twice in two files, never in one."""
    seen = {
        (at[0], base) for at, base in both.pairing.base_of.items() if at not in both.pairing.copies
    }
    for at in sorted(both.pairing.copies):
        where = at[0], both.pairing.base_of[at]
        if where in seen or not _needed(both, at):
            _say(both, both.target, at, "stands twice")
        seen.add(where)


def _met(both: Both) -> None:
    """Definitions of one name that stood in different files may not meet in one."""
    seen: dict[tuple[str, str], tuple[At, At]] = {}
    for at, base in sorted(both.pairing.base_of.items()):
        node = both.statement(both.target, at).node
        if not isinstance(node, (*DEFINITIONS, ast.Assign, ast.AnnAssign)):
            continue
        for name in stored(node):
            other = seen.setdefault((at[0], name), (at, base))
            if other[1][0] != base[0]:
                place = both.place(both.target, at)
                both.found.say(BREAKS, name, "two definitions of this name meet here", place)


def _needed(both: Both, at: At) -> bool:
    """Tell whether code that came along uses what a copy binds."""
    names = set(stored(both.statement(both.target, at).node))
    if names == {"pytestmark"}:
        return True  # what it does to whom is compared test by test
    if sets_up(both, at):
        return True
    used: list[ast.AST] = [
        both.statement(both.target, target).node
        for target in both.pairing.base_of
        if target[0] == at[0] and target != at
    ]
    used += [
        inner.test
        for statement in both.target.source(at[0]).statements
        if statement.imports_only
        for inner in walk(statement.node)
        if isinstance(inner, ast.If)
    ]
    parts = (part for node in used for part in walk(node))
    return any(isinstance(part, ast.Name) and part.id in names for part in parts)


def sets_up(both: Both, at: At) -> bool:
    """Tell whether a statement gives a logger a level or handler that is made beside it, a copy."""
    node = both.statement(both.target, at).node
    call = node.value if isinstance(node, ast.Expr) else None
    function = call.func if isinstance(call, ast.Call) else None
    if not isinstance(function, ast.Attribute) or function.attr not in TOUCHING:
        return False
    owner = function.value.id if isinstance(function.value, ast.Name) else ""
    beside = (copy for copy in both.pairing.copies if copy[0] == at[0])
    return any(owner in stored(both.statement(both.target, copy).node) for copy in beside)


def _spelled(both: Both) -> None:
    """Numbers and texts keep their spelling, even where they mean the same."""
    edited = {edit.target for edit in both.pairing.edits}
    for at, base in both.pairing.base_of.items():
        one, two = both.statement(both.base, base), both.statement(both.target, at)
        if one.text == two.text or at in edited:
            continue
        both.found.relaid += 1
        whole = not any("import" in statement.text for statement in (one, two))
        if tokens(one.text, whole=whole) != tokens(two.text, whole=whole):
            _say(both, both.target, at, "is spelled otherwise")


def tokens(text: str, *, whole: bool) -> list[str]:
    """List the tokens of some source, or only the numbers and texts among them."""
    wanted = [tokenize.NUMBER, tokenize.STRING, *([tokenize.NAME, tokenize.OP] if whole else [])]
    try:
        every = [*tokenize.generate_tokens(io.StringIO(text).readline)]
    except (tokenize.TokenError, SyntaxError, IndexError):
        return [text]
    return [token.string for token in every if token.type in wanted]


def _say(both: Both, tree: Tree, at: At, what: str) -> None:
    title = symbol(both.statement(tree, at).node)
    both.found.say(TEXT, title, f"this statement {what}", both.span(tree, at))


def symbol(node: ast.stmt) -> str:
    """Name a statement by what it defines, or by its first words."""
    if isinstance(node, DEFINITIONS):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return ast.unparse(node).split("\n")[0][:50]


def _moved(both: Both, base: At, target: At) -> Moved:
    one, two = both.statement(both.base, base), both.statement(both.target, target)
    return Moved(symbol(one.node), base[0], one.first, target[0], two.first)
