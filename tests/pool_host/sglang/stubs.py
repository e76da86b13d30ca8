"""Lets SGLang be imported on a machine that has torch and none of its other packages.

Whatever a module of SGLang imports and is not here is made up: names of it are classes that can be
called, subclassed, subscripted and used as decorators, and do nothing. That is enough for modules
that are not run; kernels that are run get a body from whoever runs them.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn


class _AnyType(type):
    """The type of made-up names."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return made_up(name)

    def __call__(cls, *args: Any, **options: Any) -> Any:
        if not vars(cls).get("is_made_up"):
            return super().__call__(*args, **options)
        if len(args) == 1 and not options and callable(args[0]):  # as a decorator
            return args[0]
        return object.__new__(cls)  # type: ignore[arg-type]

    def __getitem__(cls, key: object) -> Any:
        return cls

    def __iter__(cls) -> Iterator[Any]:
        return iter(())

    def __or__(cls, other: object) -> Any:
        return cls

    __ror__ = __or__

    def __len__(cls) -> int:
        return 0

    def __setitem__(cls, key: object, value: object) -> None:
        pass

    def __contains__(cls, key: object) -> bool:
        return False

    def __lt__(cls, other: object) -> bool:
        return False

    __gt__ = __le__ = __ge__ = __lt__


class _Any(metaclass=_AnyType):
    """What a made-up name is, and what it gives when it is called."""

    def __init__(self, *args: Any, **options: Any) -> None:
        pass

    def __init_subclass__(cls, **options: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return made_up(name)

    def __call__(self, *args: Any, **options: Any) -> Any:
        return args[0] if len(args) == 1 and not options and callable(args[0]) else self

    def __getitem__(self, key: object) -> Any:
        return self

    def __setitem__(self, key: object, value: object) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def made_up(name: str) -> Any:
    """Give a class that does nothing."""
    return _AnyType(name, (_Any,), {"is_made_up": True})


class _Module(types.ModuleType):
    __version__ = "99.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = made_up(name)
        setattr(self, name, value)
        return value


# Modules of SGLang that change, or ask for the device of, packages which are not here.
_EMPTY = frozenset(
    {"sglang.srt.utils.hf_transformers_patches", "sglang.srt.layers.attention.fla.utils"}
)
# Made up wherever they are: they look into types, and some of those are made up.
_STRICT = frozenset({"pydantic", "pydantic_core", "starlette", "uvicorn"})
# What is looked at when it is imported.
_KNOWN: dict[str, dict[str, Any]] = {"dill": {"dumps": lambda *given: b""}}


class Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes up the packages that code below `root` imports and that are missing, or too strict.

    `never` names packages that must be seen to be missing; `missing` holds what was made up.
    """

    def __init__(self, root: str, never: Sequence[str]) -> None:
        self.root = root
        self.never = {"sglang", "torch", *never}
        self.missing: set[str] = set()

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname in _EMPTY:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        top = fullname.partition(".")[0]
        if top in self.never or top in sys.stdlib_module_names:
            return None
        if top not in self.missing and (
            not self._is_asked_for_by_sglang()
            or (top not in _STRICT and self._is_here(fullname, path))
        ):
            return None
        self.missing.add(top)
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = _Module(spec.name)
        vars(module).update(_KNOWN.get(spec.name, {}))
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        pass

    def _is_here(self, fullname: str, path: Any) -> bool:
        others = [finder for finder in sys.meta_path if finder is not self]
        return any(finder.find_spec(fullname, path) is not None for finder in others)

    def _is_asked_for_by_sglang(self) -> bool:
        frame: types.FrameType | None = sys._getframe(2)
        while frame is not None and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        return frame is not None and frame.f_code.co_filename.startswith(self.root)


# Where these are missing SGLang takes another way, and on a machine without their devices must.
_DEVICES = ("torch_npu", "torch_musa", "torch_xla", "libtpu", "numba", "mooncake", "mori", "mlx")


def make_up_what_is_missing(root: str, never: Sequence[str] = _DEVICES) -> Stubs:
    """Have SGLang below `root`, a folder that holds the package, import here."""
    import torch

    stubs = Stubs(root, never)
    sys.meta_path.insert(0, stubs)
    sys.path.insert(0, root)
    vars(torch)["compile"] = _uncompiled  # there may be no compiler
    return stubs


def _uncompiled(function: Any = None, **options: Any) -> Any:
    def same(function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    return same if function is None else function


def refuse(*args: Any, **options: Any) -> NoReturn:
    """Stand for a kernel that nobody gave a body."""
    raise NotImplementedError("this kernel has no body here")
