"""Dynamic code: what reaches a name, or a module, that no one can tell."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from verify.certificate.names import NOW, Facts, words
from verify.certificate.resolve import Side
from verify.certificate.source import Module

_LOADERS = {"builtins.__import__", "importlib.import_module", "pkgutil.resolve_name"}
ATTRIBUTES = {"globals", "vars", "getattr", "setattr", "delattr"}
SUSPECT = {"exec", "eval", "__import__", "import_module", "resolve_name", *ATTRIBUTES}

_RUNS = re.compile(
    r"(?<![.\w])(?:exec|eval)\b|\b(?:__import__|import_module|run_module)\b|\bmodules\s*\["
)
_RUNNING = frozenset({"exec", "eval", "__import__", "import_module", "run_module", "modules"})
# Bytes that may spell a name otherwise: of letters that Python normalises, of a coding of its own.
_LETTERS = (
    "c2aa c2ba c4b2 c4b3 c5bf c787 c788 c789 c78a c78b c78c c7b1 c7b2 c7b3 cab0 cab2 cab3 cab7 "
    "cab8 cba1 cba2 cba3 e1b4 e1b5 e1b6 e281b1 e281bf e28290 e28291 e28292 e28293 e28295 "
    "e28296 e28297 e28298 e28299 e2829a e2829b e2829c e284 e285 e2b1bc e2b1bd ea9fb2 ea9fb3 "
    "ea9fb4 efac efb8b3 efb8b4 efb98d efb98e efb98f efbcbf f0909ea5 f09d f09faf"
)
SPELLED = re.compile(
    rb"(?=[\x80-\xff])(?:%s" % b"|".join(map(re.escape, map(bytes.fromhex, _LETTERS.split())))
    + rb"|\xef\xbc[\x90-\x99\xa1-\xba]|\xef\xbd[\x81-\x9a])"
)
CODINGS = (b"tf-7", b"tf_7", b"tf7", b"TF-7", b"unicode_escape", b"unicode-escape")


def runs_code(text: str, found: frozenset[str]) -> bool:
    """Tell whether a file may run a text or load a module by one; `found` are its words."""
    return not _RUNNING.isdisjoint(found) and _RUNS.search(text) is not None


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
