"""A small stand-in for SGLang: its classes that keep slots, by name, with code of our own."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

CACHES = "sglang.srt.mem_cache"

BASE = '''\
"""The base of the stand-in's pools."""
import threading


class HostKVCache:
    dcp_size = 1

    def __init__(self, size, page_size, dcp_size=1):
        self.size = size
        self.page_size = page_size
        self.dcp_size = dcp_size
        self.layout = "layer_first"
        self.lock = threading.RLock()
        self.clear()

    @property
    def logical_size(self):
        return self.size * self.dcp_size

    @property
    def logical_page_size(self):
        return self.page_size * self.dcp_size

    def clear(self):
        self.free_slots = list(range(self.logical_size))
        self.release_slots = []

    def available_size(self):
        return len(self.free_slots) + len(self.release_slots)

    def alloc(self, need_size: int):
        self._merge_release_slots()
        return [self.free_slots.pop() for _ in range(need_size)]

    def free(self, indices) -> int:
        self.release_slots += [int(each) for each in indices]
        return len(indices)

    def _merge_release_slots(self):
        self.free_slots += self.release_slots
        self.release_slots = []

    def destroy(self):
        """Nothing that holds slots."""
'''

WHOLE = '''\
"""The other pools of the stand-in."""
import threading

from sglang.srt.mem_cache.pool_host.base import HostKVCache


class LogicalHostPool:
    def __init__(self, size, page_size):
        self.size = self.logical_size = size
        self.page_size = page_size
        self.layout = "layer_first"
        self.lock = threading.RLock()
        self.clear()

    def clear(self):
        self.free_slots = list(range(self.size))

    def available_size(self):
        return len(self.free_slots)

    def alloc(self, need_size: int):
        return [self.free_slots.pop(0) for _ in range(need_size)]

    def free(self, indices) -> int:
        self.free_slots += [int(each) for each in indices.flatten()]
        return len(indices)


class DeepSeekV4PagedHostPool(HostKVCache):
    def __init__(self, pages, slot_page_size):
        self.slot_page_size = self.page_size = slot_page_size
        self.size = pages * slot_page_size
        self.lock = threading.RLock()
        self.clear()

    def clear(self):
        self.free_slots = list(range(self.size))
        self.release_slots = []

    def alloc(self, need_size: int):
        while need_size % self.slot_page_size:
            need_size += 1
        return [self.free_slots.pop() for _ in range(need_size)]


class MambaPoolHost(HostKVCache):
    def clear(self):
        self.mem_state = [0] * self.size
        self.free_slots = list(range(self.size))
        self.release_slots = []


class RowsPool(HostKVCache):
    """Keeps no slots in a way of its own."""
'''


def write(folder: Path, version: str | None, base: str = BASE, whole: str = WHOLE) -> Path:
    """Write the stand-in below a folder; give where its modules of pools lie."""
    caches = folder / "sglang" / "srt" / "mem_cache"
    pools = caches / "pool_host"
    pools.mkdir(parents=True)
    for package in (folder / "sglang", folder / "sglang" / "srt", caches, pools):
        (package / "__init__.py").write_text("")
    said = "" if version is None else f"__version__ = {version!r}\n"
    (folder / "sglang" / "version.py").write_text(said)
    (pools / "base.py").write_text(base)
    (caches / "memory_pool_host.py").write_text(whole)
    return caches


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Have the stand-in, and no other, be what `sglang` is."""
    aside = {name: sys.modules.pop(name) for name in _names()}
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in _names():
            del sys.modules[name]
        sys.modules.update(aside)


def pools() -> ModuleType:
    """Give the module from which all pools of the stand-in can be taken."""
    return importlib.import_module(f"{CACHES}.memory_pool_host")


def _names() -> list[str]:
    return [name for name in sys.modules if name.partition(".")[0] == "sglang"]
