"""What a module's `__getattr__` gives, name by name, where its tables or itself changed."""

from __future__ import annotations

from collections.abc import Hashable

from verify.kernel.machine.calls import Returned
from verify.kernel.machine.state import Raised, TooMuchError
from verify.kernel.machine.values import Constant, Module, ModuleValue, Unknown, Value, key
from verify.kernel.pairs.asked import texts
from verify.kernel.pairs.both import Both
from verify.kernel.running.entries import name_of
from verify.kernel.running.runs import DONE, Runs
from verify.kernel.trees.tree import Tree
from verify.kernel.verdict import BREAKS, OPEN, Place

_NONE_HAS = "no_module_has_this_name"


def check(both: Both, runs: Runs) -> None:
    """Ask both sides for each name that their tables say, and for one that none does."""
    for path, names in both.asked.tables.items():
        sides = both.base.source(path), both.target.source(path)
        said = {text for name in names for side in sides for text in texts(side, name)}
        _dir(both, runs, path)
        for word in sorted({*said, _NONE_HAS}):
            _compare(both, runs, path, word)
    for path, names in both.asked.kept.items():
        for word in sorted(names):
            _compare(both, runs, path, word)


def _compare(both: Both, runs: Runs, path: str, word: str) -> None:
    one, two = (_asked(runs, tree, path, word) for tree in (both.base, both.target))
    title = f"{both.name(path)}.{word}"
    if isinstance(one[0], Unknown) or isinstance(two[0], Unknown):
        why = "nobody can tell what `__getattr__` gives for it"
        both.found.say(OPEN, title, why, Place(path, 1))
        return
    module = two[0].module if isinstance(two[0], ModuleValue) else None
    if module is not None and one[0] is None and module.path not in both.base.files:
        return  # one that is new
    if one[1] != two[1]:
        why = "whoever asks for it is given something else than before"
        both.found.say(BREAKS, title, why, Place(path, 1))


def _dir(both: Both, runs: Runs, path: str) -> None:
    one, two = (_asked(runs, tree, path, "") for tree in (both.base, both.target))
    if one[1] != two[1]:
        why = "it lists other names than before"
        both.found.say(BREAKS, f"{both.name(path)}.__dir__", why, Place(path, 1))


def _asked(runs: Runs, tree: Tree, path: str, word: str) -> tuple[Value | None, Hashable]:
    """Give what one side gives for a name, or lists, with all that it does."""
    run = runs.start(tree, path, name_of(tree, path), script=False)
    machine = run.machine
    module = machine.modules.get(name_of(tree, path))
    before = len(machine.trace)
    machine.at.append((path, 1))
    value: Value | None = None
    told: Hashable = "fails"
    try:
        if isinstance(module, Module) and run.ended == DONE:
            machine.site = "asked", path, word
            told = "nothing"
            hook = module.names.get("__getattr__" if word else "__dir__")
            if word in module.names:
                value = module.names[word]
            elif hook is not None:
                value = machine.call(hook, [Constant(word)] if word else [], {})
            told = key(value) if value is not None else told
    except Raised as error:
        told = "raises", error.error
    except (TooMuchError, Returned, RecursionError):
        value = Unknown(("too much",))
    finally:
        acts = tuple(event.what for event in machine.trace[before:] if event.acts)
        machine.at.pop()
        runs.end(run)
    return value, (told, acts)
