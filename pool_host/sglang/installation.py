"""Putting our slot keeping into SGLang's host pools, and taking it out again."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import inspect
import re
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from pool_host.sglang.family import Family, differences, digest_of_modules, read_family, record_of
from pool_host.sglang.releases import RECORDS, REVISIONS, TESTED
from pool_host.sglang.slot_keeping import REPLACED, Keepers, make_attributes, make_method, stats

_CACHES = "sglang.srt.mem_cache"
_RELEASE = re.compile(r"\d+(\.\d+)*(\.post\d+)?")


class AdapterError(RuntimeError):
    """SGLang's pools were left as they are, and why."""


@dataclass
class _Installation:
    """What was put where, and what stood there."""

    keepers: Keepers = field(default_factory=Keepers)
    put: list[tuple[type, str, Any]] = field(default_factory=list)
    before: list[tuple[type, str, Any]] = field(default_factory=list)

    def plan(self, kind: type, name: str, value: Any) -> None:
        self.put.append((kind, name, value))
        self.before.append((kind, name, vars(kind).get(name, _ABSENT)))

    def apply(self) -> None:
        """Put all of it in place, or, if interrupted, none."""
        try:
            for kind, name, value in self.put:
                setattr(kind, name, value)
        except BaseException:
            self.take_out()
            raise

    def changed_since(self) -> str | None:
        """Name what is neither what was put in place nor what stood there."""
        for (kind, name, value), (_, _, old) in zip(self.put, self.before, strict=True):
            now = vars(kind).get(name, _ABSENT)
            if now is not value and now is not old:
                return f"{kind.__name__}.{name}"
        return None

    def take_out(self) -> None:
        """Put back what stood there; if interrupted, a second time does the rest."""
        for kind, name, value in self.before:
            if value is not _ABSENT:
                setattr(kind, name, value)
            elif name in vars(kind):
                delattr(kind, name)


_ABSENT = object()
_lock = threading.Lock()
_installed: _Installation | None = None


def install(*, untested: bool = False) -> None:
    """Make SGLang's host pools keep their slots as `pool_host` does, from the next one made on.

    It replaces methods of the classes of this process: call it before a pool is made, in every
    process that makes one. Pools made before keep their own way, and so does a class of yours that
    overrides one of these methods. A second call does nothing.

    Only releases in `TESTED` are taken. With `untested`, another is, too, if names, signatures and
    source of all that touches slots are those of one of them. Raises AdapterError otherwise, and
    ImportError where SGLang cannot be imported; then nothing is changed.
    """
    # On one line, as in `synchronized`: an interrupt leaves the lock free.
    # fmt: off
    with _lock: _install(untested)  # noqa: E701
    # fmt: on


def uninstall() -> None:
    """Give SGLang's classes their own methods back. Without `install` it does nothing.

    Raises AdapterError while a pool lives that was made in between: nothing else keeps its slots.
    """
    # fmt: off
    with _lock: _uninstall()  # noqa: E701
    # fmt: on


def _install(untested: bool) -> None:
    global _installed  # noqa: PLW0603  there is one SGLang in a process
    if _installed is None:
        installation = _prepare(untested)
        # fmt: off
        installation.apply(); _installed = installation  # noqa: E702  nothing between
        # fmt: on


def _uninstall() -> None:
    global _installed  # noqa: PLW0603
    if _installed is not None:
        living = _installed.keepers.living()
        if living:  # some may be garbage that waits to be collected
            del living
            gc.collect()
            living = _installed.keepers.living()
        if living:
            kinds = Counter(type(pool).__name__ for pool in living)
            words = ", ".join(f"{number} {name}" for name, number in sorted(kinds.items()))
            raise AdapterError(
                f"uninstall() would leave living pools without their slots: {words}. Drop them "
                "first, with whatever refers to them (controllers, caches, groups)"
            )
        changed = _installed.changed_since()
        if changed:
            raise AdapterError(f"{changed} has been replaced since install(): undo that first")
        # fmt: off
        _installed.take_out(); _installed = None  # noqa: E702  nothing between
        # fmt: on


def _prepare(untested: bool) -> _Installation:
    """Find SGLang's classes, hold them to what was tested, and plan what to replace."""
    family = _read()
    _check_release(_version(), family, untested)
    installation = _Installation()
    kinds: dict[str, type] = {}
    for qualified, function in family.items():
        kind_name, _, name = qualified.rpartition(".")
        if name not in REPLACED:
            continue
        module = importlib.import_module(function.module)
        kind = kinds.setdefault(kind_name, getattr(module, kind_name))
        original = vars(kind).get(name)
        if not _stands_at(original, module, function.line):
            raise AdapterError(
                f"{qualified} is not the one in {function.module}: something else has replaced it. "
                "Call install() before that, or undo it"
            )
        installation.plan(kind, name, make_method(kind_name, name, original, installation.keepers))
    for kind in kinds.values():
        if any(base in kinds.values() for base in kind.__mro__[1:]):
            continue  # has them from there
        if hasattr(kind, "stats"):
            raise AdapterError(f"{kind.__name__} has `stats` of its own, which would be hidden")
        for name, value in {**make_attributes(), "stats": stats}.items():
            installation.plan(kind, name, value)
    return installation


def _folder() -> Path:
    """Give the folder of SGLang's caches. Raises ImportError where there is no SGLang."""
    spec = importlib.util.find_spec(_CACHES)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"No module named {_CACHES!r}: SGLang is not here", name=_CACHES)
    return Path(spec.submodule_search_locations[0])


def _read() -> Family:
    return read_family(_CACHES, _folder())


def _version() -> str:
    """Give the number that SGLang says it has, or nothing."""
    version = getattr(importlib.import_module("sglang.version"), "__version__", "")
    return version if isinstance(version, str) else ""


def _check_release(version: str, family: Family, untested: bool) -> None:
    record = record_of(family)
    if version in RECORDS:
        nearest, found = version, differences(record, RECORDS[version])
    else:
        is_checkout = _RELEASE.fullmatch(version) is None
        if is_checkout and digest_of_modules(_CACHES, _folder()) in REVISIONS.values():
            return
        if not untested:
            raise AdapterError(
                f"SGLang {version or 'without a version'} was not tested with this. Tested are "
                f"{', '.join(TESTED)}. install(untested=True) takes another if all of its code "
                "that touches slots is the same"
            )
        compared = {name: differences(record, tested) for name, tested in RECORDS.items()}
        nearest = min(compared, key=lambda name: (len(compared[name]), name))
        found = compared[nearest]
    if found:
        listed = "\n".join(f"- {words}" for words in found)
        raise AdapterError(
            f"SGLang {version or 'without a version'} in {_folder()} does not keep slots as "
            f"{nearest} does, which was tested:\n{listed}"
        )


def _stands_at(original: Any, module: ModuleType, line: int) -> bool:
    """Whether a function is the one that its module has at a line."""
    code = getattr(inspect.unwrap(original), "__code__", None) if callable(original) else None
    return code is not None and (code.co_filename, code.co_firstlineno) == (module.__file__, line)
