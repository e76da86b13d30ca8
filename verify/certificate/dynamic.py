"""Dynamic code: what reaches a name, or a module, that no one can tell."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from verify.certificate.names import NOW, Facts, words
from verify.certificate.resolve import Side
from verify.certificate.source import Module

_LOADERS = {"builtins.__import__", "importlib.import_module", "pkgutil.resolve_name"}
ATTRIBUTES = {"globals", "vars", "getattr", "setattr", "delattr"}
SUSPECT = {"exec", "eval", "__import__", "import_module", "resolve_name", *ATTRIBUTES}


def hidden(
    side: Side,
    module: Module,
    found: Facts,
    named: set[str] | None,
    told: bool,
    settled: set[str],
) -> Iterator[tuple[int, str]]:
    """List the dynamic code of a statement: all, or what has to do with the modules `named`.

    `told` says that the file's strings speak of what these modules lost, and `settled` are modules
    that have all their names, wherever they stand.
    """
    tails = {stem.rpartition("/")[2] for stem in named or ()}
    calls = {id(call.func): call for _, call, _ in found.calls}
    for ref in found.refs:
        dotted = ""
        for what, rest in side.resolve(module, ref).whats:
            if what[0] in {"builtin", "ext"}:
                dotted = "builtins." * (what[0] == "builtin") + ".".join((what[1], *rest))
        home, _, last = dotted.rpartition(".")
        call = calls.get(id(ref.node))
        if last not in SUSPECT:
            continue
        strings = (n.value for n in ast.walk(call or ref.node) if isinstance(n, ast.Constant))
        about = named is None or any(isinstance(s, str) and words(s) & tails for s in strings)
        plain = [isinstance(argument, ast.Constant) for argument in call.args] if call else []
        if dotted in {"builtins.exec", "builtins.eval"} and (about or told):
            yield ref.line, f"`{last}` runs code that no one can see"
        elif dotted in _LOADERS and plain[:1] != [True] and (about or told):
            yield ref.line, f"`{last}` loads a module that no one can name"
        elif home != "builtins":
            continue
        elif last in {"globals", "vars"} and not plain and named is None:
            if last == "globals" or (call and ref.when == NOW):
                yield ref.line, f"`{last}()` reaches any name of the module"
        elif last in {"getattr", "setattr", "delattr", "vars"} and plain[1:2] != [True] and call:
            refs = [r for r in found.refs if call.args and r.node is call.args[0]]
            stems = {stem for r in refs for stem in side.modules(module, r)}
            if stems - settled if named is None else (stems & named) - settled:
                yield ref.line, f"`{last}` reaches any name of a module"
