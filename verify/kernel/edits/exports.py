"""What `__all__` comes to where it is put together: what its module has, and had."""

from __future__ import annotations

from verify.kernel.edits.conserve import computed
from verify.kernel.machine.values import Collection, Constant, Module
from verify.kernel.pairs.both import Both
from verify.kernel.pairs.pairing import At
from verify.kernel.running.runs import Runs
from verify.kernel.trees.tree import Tree
from verify.kernel.verdict import EXPLAINED, TEXT


def check(both: Both, runs: Runs) -> None:
    """Report an `__all__` that names what its module has not, or no longer names what it has."""
    edited = {edit.target for edit in both.pairing.edits}
    known = both.pairing.base_of.keys() - edited
    statements = sorted({*both.pairing.new, *both.pairing.base_of})
    for at in statements:
        if not computed(both, at):
            continue
        place = both.span(both.target, at)
        why = _wrong(both, runs, at, same=at in known)
        if why:
            both.found.say(TEXT, "__all__", why, place)
        elif at not in known:
            both.found.say(EXPLAINED, "__all__", "it lists what its module has", place)


def _wrong(both: Both, runs: Runs, at: At, *, same: bool) -> str:
    """Say what is wrong with what an `__all__` lists, if anything is."""
    path = at[0]
    module, names = _listed(runs, both.target, path)
    if module is None or names is None:
        return "nobody can tell what it lists"
    inner = both.target.name(path)
    for name in names if "__getattr__" not in module.names else ():
        if name not in module.names and f"{inner}.{name}" not in both.target.named:
            return f"it names {name}, which is not there"
    before = _listed(runs, both.base, path)[1] if path in both.base.files else None
    if before is None:
        return ""
    gone = [name for name in before if name not in names and (name in module.names or same)]
    come = [name for name in names if name not in before]
    if gone or come:
        now = "no longer" if gone else "now also"
        return f"it {now} names {(gone or come)[0]}"
    return "" if not same or before == names else "it names the same in another order"


def _listed(runs: Runs, tree: Tree, path: str) -> tuple[Module | None, list[str] | None]:
    """Give a module as it is when it has run, and what its `__all__` lists, if that is known."""
    module = runs.module(tree, path)
    value = module.names.get("__all__") if module is not None else None
    items = value.items if isinstance(value, Collection) else ()
    plain = [str(item.value) for item in items if isinstance(item, Constant)]
    known = isinstance(value, Collection) and len(plain) == len(items)
    return module, plain if known else None
