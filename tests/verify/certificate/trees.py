"""Small trees before and after a change, and their certificate."""

from __future__ import annotations

from collections.abc import Mapping

from verify.certificate import Certificate, Files, certify

Tree = Mapping[str, str]
REGULAR = 0o100644

F = "def f():\n    return 1\n"
X = "X = 1\n"
BOTH = f"{F}\n\n{X}"


def files(tree: Tree) -> Files:
    """Give a tree of texts as the kernel takes it; other modes are told by the path's end."""
    modes = {"!x": 0o100755, "!l": 0o120000, "!s": 0o160000}
    return {
        path.removesuffix(path[-2:] if path[-2:] in modes else ""): (
            text.encode("utf-8", "surrogateescape"),
            modes.get(path[-2:], REGULAR),
        )
        for path, text in tree.items()
    }


def judge(before: Tree, after: Tree) -> Certificate:
    """Certify a change between two small trees."""
    return certify(files(before), files(after))


def moved(source: str, there: str, here: str | None, **others: str) -> tuple[Tree, Tree]:
    """Move code from `m.py` to `n.py`; `others` are files of both trees, `_` standing for `.`.

    `here` is what is left of `m.py`, None if the file is gone.
    """
    rest = {name.replace("__", "/").replace("_", "."): text for name, text in others.items()}
    after = {"n.py": there, **rest}
    if here is not None:
        after["m.py"] = here
    return {"m.py": source, **rest}, after


def edited(tree: Tree, path: str, old: str, new: str) -> Tree:
    """Replace the first occurrence of a text in one file."""
    assert old in tree[path], old
    return {**tree, path: tree[path].replace(old, new, 1)}


def explain(found: Certificate) -> str:
    """Say what a certificate found, for a failing test."""
    lines = [found.verdict]
    lines += [f"{r.side} {r.path}:{r.line} {r.kind}: {r.why} | {r.text}" for r in found.residuals]
    lines += [f"unknown {u.path}:{u.line}: {u.why}" for u in found.unknowns]
    lines += [f"observed {o.path}:{o.line} {o.kind}: {o.what}" for o in found.observables]
    return "\n".join(lines)
