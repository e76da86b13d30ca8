"""Host-memory pools of a tiered KV cache.

A device pool holds the cache rows that attention reads. A host pool holds more of them in ordinary
memory: rows are backed up to it, loaded from it layer by layer, and its pages are what a storage
back end reads and writes. Each family of caches has a pool here; names, signatures and shapes are
those of SGLang 0.5.18.

Words used throughout:

- slot: the place of one token (or of one request's state), an int64 index from 0.
- page: `page_size` consecutive slots; page p holds the slots p * page_size and up. Slots are given
  out, released and stored by whole pages.
- layer: local to the pool, from 0; `start_layer` says which layer of the model that is.
- row: what one layer keeps for one slot.
- layout: in which order a host buffer holds layers, pages and rows; see `BufferLayout`.
- io backend: how rows are copied. `kernel` gathers and scatters rows by index; `direct` copies
  stretches in which host and device slots both step by one, and takes whole pages only.

Copies to and from a CUDA device are queued on the current stream where host memory is pinned. Until
that stream has come past them, slots that take part in a transfer must not be released, and host
pages not be read by another thread.
"""

from __future__ import annotations

import ctypes
import functools
import logging
import math
import mmap
import os
import sys
import tempfile
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, Protocol, TypeVar

import numpy as np
import psutil
import torch

if TYPE_CHECKING:
    from numpy.typing import NDArray

logger = logging.getLogger(__name__)

_is_cuda = torch.cuda.is_available() and torch.version.cuda is not None
_is_hip = torch.cuda.is_available() and torch.version.hip is not None

if _is_cuda or _is_hip:
    from torch.cuda import cudart, current_stream

_Pool = TypeVar("_Pool", bound="HostSlotPool")
_Params = ParamSpec("_Params")
_Result = TypeVar("_Result")

# Left for the operating system and for whatever else runs on the machine.
HICACHE_HOST_MEMORY_RESERVE_BYTES = 10 * 1024**3

# Words of this size are what copy kernels move, so a row must be made of whole ones.
_KERNEL_WORD_BYTES = 8


class SlotError(ValueError, AssertionError):
    """Slots that cannot be given out or released as asked.

    Also an `AssertionError`, since that is what callers of SGLang's pools expect.
    """


def synchronized(
    func: Callable[Concatenate[_Pool, _Params], _Result],
) -> Callable[Concatenate[_Pool, _Params], _Result]:
    """Run a method while its object's `lock` is held."""

    @functools.wraps(func)
    def wrapper(self: _Pool, /, *args: _Params.args, **kwargs: _Params.kwargs) -> _Result:
        with self.lock:
            return func(self, *args, **kwargs)

    return wrapper


def check_int(name: str, value: object, minimum: int) -> int:
    """Give `value` if it is an integer of at least `minimum`; `name` is the argument it came as."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, not {value}")
    return int(value)


def check_amount(name: str, value: object) -> None:
    """Refuse what is not a finite number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}")
    if not 0 <= value < math.inf:
        raise ValueError(f"{name} must be at least 0 and finite, not {value}")


def check_choice(name: str, value: object, choices: Sequence[str]) -> str:
    """Give `value` if it is one of `choices`."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, not {type(value).__name__}")
    if value not in choices:
        raise ValueError(f"Unsupported {name}: {value}; expected one of {', '.join(choices)}")
    return value


def check_tensor(
    name: str, value: object, dtypes: Sequence[torch.dtype], dims: int
) -> torch.Tensor:
    """Give `value` if it is a tensor of one of `dtypes`, of `dims` dimensions, with data."""
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{name} must be a tensor, not {type(value).__name__}")
    if value.dtype not in dtypes:
        raise TypeError(f"{name} must be of {dtypes[0]}, not {value.dtype}")
    if value.dim() != dims:
        raise ValueError(f"{name} must have {dims} dimensions, not the shape {tuple(value.shape)}")
    if value.is_meta:
        raise ValueError(f"{name} must be on a device that holds data, not on meta")
    return value


def check_slots(name: str, indices: object, limit: int) -> NDArray[np.int64]:
    """Give a copy of slots in host memory.

    `indices` is a one-dimensional int64 or int32 tensor on any device. Raises TypeError for another
    type, ValueError for another shape, for slots outside 0..limit-1, and for a slot given twice.
    """
    tensor = check_tensor(name, indices, (torch.int64, torch.int32), 1)
    slots = tensor.detach().cpu().numpy().astype(np.int64)
    if slots.size == 0:
        return slots
    outside = slots[(slots < 0) | (slots >= limit)]
    if outside.size:
        raise ValueError(f"{name} must lie in 0..{limit - 1}; it holds {shown_slots(outside)}")
    if np.any(slots[1:] <= slots[:-1]):  # in ascending order nothing can occur twice
        values, counts = np.unique(slots, return_counts=True)
        if values.size < slots.size:
            raise SlotError(
                f"{name} must not repeat a slot; it repeats {shown_slots(values[counts > 1])}"
            )
    return slots


def check_pages(name: str, slots: NDArray[np.int64], page_size: int) -> NDArray[np.int64]:
    """Give the pages of checked slots, which must be whole pages, each with its slots in order."""
    if slots.size % page_size:
        raise SlotError(f"{name} must be whole pages of {page_size} slots, not {slots.size} slots")
    grouped = slots.reshape(-1, page_size)
    starts = grouped[:, 0]
    wrong = (starts % page_size != 0) | np.any(
        grouped != starts[:, None] + np.arange(page_size), axis=1
    )
    if np.any(wrong):
        raise SlotError(
            f"{name} must be whole pages of {page_size} slots in ascending order; "
            f"{shown_slots(grouped[wrong][0])} is none"
        )
    return starts // page_size


def whole_pages(name: str, indices: object, limit: int, page_size: int) -> NDArray[np.int64]:
    """Give a copy of slots that make whole pages: in their order if they do so, else ascending."""
    slots = check_slots(name, indices, limit)
    try:
        check_pages(name, slots, page_size)
    except SlotError:
        slots.sort()
        check_pages(name, slots, page_size)
    return slots


def check_page_start(name: str, index: int | torch.Tensor, limit: int, page_size: int) -> int:
    """Give the page that starts at a slot below `limit`: an integer, or a tensor that holds one."""
    if isinstance(index, torch.Tensor):
        index = int(check_tensor(name, index, (torch.int64, torch.int32), 0))
    index = check_int(name, index, 0)
    if index >= limit or index % page_size:
        raise ValueError(
            f"{name} must be the first slot of a page of {page_size}, below {limit}, not {index}"
        )
    return index // page_size


def shown_slots(slots: NDArray[np.int64]) -> str:
    """Name slots in a message, a few of them."""
    more = f" and {slots.size - 8} more" if slots.size > 8 else ""
    return f"{slots[:8].tolist()}{more}"


def round_up(value: int, unit: int) -> int:
    """Give the least multiple of `unit` that is not below `value`."""
    return -(-value // unit) * unit


_HUGE_PAGE_BYTES = {"2MB": 2 * 1024**2, "1GB": 1024**3}
# From Linux's mman.h: take huge pages, whose size stands as a power of two above this bit.
_MAP_HUGETLB = 0x40000
_MAP_HUGE_SHIFT = 26
_is_linux = sys.platform == "linux"
_MAP_POPULATE: int = getattr(mmap, "MAP_POPULATE", 0)  # Linux alone has it


def huge_page_bytes() -> int:
    """Give the size of the huge pages that SGLANG_HUGEPAGE_SIZE asks for, or 0.

    The variable is empty, `2MB` or `1GB`; anything else is logged and taken for empty.
    """
    wanted = os.environ.get("SGLANG_HUGEPAGE_SIZE", "")
    if wanted and wanted not in _HUGE_PAGE_BYTES:
        logger.warning("SGLANG_HUGEPAGE_SIZE must be 2MB or 1GB, not %r: using none", wanted)
    return _HUGE_PAGE_BYTES.get(wanted, 0)


def free_huge_page_bytes(root: Path = Path("/")) -> int:
    """Give the bytes in unused huge pages of the wanted size; the system counts them as taken."""
    size = huge_page_bytes()
    folder = root / f"sys/kernel/mm/hugepages/hugepages-{size // 1024}kB"
    if not size or not folder.is_dir():
        return 0
    free, reserved = (int((folder / f"{kind}_hugepages").read_text()) for kind in ("free", "resv"))
    return max(0, free - reserved) * size


class HostTensorAllocator:
    """Gives tensors over anonymous shared memory, populated when mapped.

    Populated and shared, so that pinning finds every page in place and no page is copied on write.
    A tensor owns its mapping. `dims` and `dtype` are those of the last allocation.
    """

    def __init__(self) -> None:
        self.dims: tuple[int, ...] | None = None
        self.dtype: torch.dtype | None = None

    def allocate(
        self, dims: Sequence[int], dtype: torch.dtype, device: str | torch.device = "cpu"
    ) -> torch.Tensor:
        """Give a zeroed tensor of the shape `dims`, which starts where a memory page does."""
        if not isinstance(dtype, torch.dtype):
            raise TypeError(f"dtype must be a torch.dtype, not {type(dtype).__name__}")
        if torch.device(device).type != "cpu":
            raise ValueError(f"device must be cpu, not {device}: host pools lie in host memory")
        shape = tuple(check_int("dims", dim, 0) for dim in dims)
        self.dims, self.dtype = shape, dtype
        count = math.prod(shape)
        if count == 0:  # nothing can be mapped
            return torch.empty(shape, dtype=dtype)
        memory = self._map(count * dtype.itemsize)
        return torch.frombuffer(memory, dtype=dtype, count=count).view(shape)

    def _map(self, size: int) -> Any:
        """Give a writable buffer of at least `size` bytes."""
        flags = mmap.MAP_SHARED | mmap.MAP_ANONYMOUS | _MAP_POPULATE
        huge = huge_page_bytes()
        if huge:
            kind = _MAP_HUGETLB | (huge.bit_length() - 1) << _MAP_HUGE_SHIFT
            try:
                return mmap.mmap(-1, round_up(size, huge), flags=flags | kind)
            except OSError as error:
                logger.error("No huge pages for %d bytes (%s): using plain ones", size, error)
        return mmap.mmap(-1, size, flags=flags)


class ShmHostTensorAllocator(HostTensorAllocator):
    """Gives tensors over memory that other processes can map, by file descriptor.

    `fds` and `mms` list the descriptors and mappings in the order of allocation.
    """

    def __init__(self) -> None:
        super().__init__()
        self.fds: list[int] = []
        self.mms: list[mmap.mmap] = []

    @property
    def fd(self) -> int | None:
        """The descriptor of the first allocation."""
        return self.fds[0] if self.fds else None

    @property
    def mm(self) -> mmap.mmap | None:
        """The mapping of the first allocation."""
        return self.mms[0] if self.mms else None

    def close(self) -> None:
        """Close the descriptors; tensors keep their memory."""
        while self.fds:
            os.close(self.fds.pop())
        self.mms.clear()

    def _map(self, size: int) -> mmap.mmap:
        if _is_linux:
            fd = os.memfd_create("host_pool")
        else:
            with tempfile.TemporaryFile() as file:
                fd = os.dup(file.fileno())
        try:
            os.ftruncate(fd, size)
            memory = mmap.mmap(fd, size, flags=mmap.MAP_SHARED | _MAP_POPULATE)
        except OSError:
            os.close(fd)
            raise
        self.fds.append(fd)
        self.mms.append(memory)
        return memory


class MooncakeHostTensorAllocator(HostTensorAllocator):
    """Gives tensors over memory of Mooncake, which its store can transfer without a copy.

    `memory` has `alloc(size) -> address`, 0 when it has none left, and `free(address)`.
    """

    def __init__(self, memory: Any) -> None:
        super().__init__()
        self.memory = memory

    def _map(self, size: int) -> Any:
        address = self.memory.alloc(size)
        if not address:
            raise MemoryError(f"Mooncake has no {size} bytes of host memory left")
        buffer = (ctypes.c_ubyte * size).from_address(address)
        weakref.finalize(buffer, self.memory.free, address)
        return buffer


# These read and write pages in ordinary memory.
_STORAGE_ON_PLAIN_MEMORY = ("default", "file", "hf3fs", "nixl", "aibrix", "eic", "simm")


def get_allocator_from_storage(allocator_type: str) -> HostTensorAllocator:
    """Give the allocator whose memory a storage back end can use best.

    `allocator_type` is `default` or the back end's name, `mooncake`, or `shm` for memory to share.
    Where Mooncake is not installed, ordinary memory is used, with a warning.
    """
    check_choice("allocator_type", allocator_type, (*_STORAGE_ON_PLAIN_MEMORY, "mooncake", "shm"))
    if allocator_type == "shm":
        return ShmHostTensorAllocator()
    if allocator_type == "mooncake":
        try:
            from mooncake.store import MooncakeHostMemAllocator
        except ImportError:
            logger.warning("Mooncake is not installed: its pages are copied from ordinary memory")
        else:
            return MooncakeHostTensorAllocator(MooncakeHostMemAllocator())
    return HostTensorAllocator()


def alloc_with_host_register(
    dims: Sequence[int],
    dtype: torch.dtype,
    device: str,
    pin_memory: bool,
    allocator: HostTensorAllocator,
) -> torch.Tensor:
    """Give a tensor of `allocator`, pinned in place if `pin_memory` and there is a CUDA device.

    Raises RuntimeError if it cannot be pinned: copies would go on and might carry stale data.
    `unregister_host_memory` undoes the pinning.
    """
    tensor = allocator.allocate(dims, dtype, device)
    if pin_memory and (_is_cuda or _is_hip) and tensor.numel():
        runtime = cudart()  # type: ignore[no-untyped-call]
        code = int(runtime.cudaHostRegister(tensor.data_ptr(), tensor.nbytes, 0))
        if code:
            raise RuntimeError(
                f"cudaHostRegister returned {code} for {tensor.nbytes} bytes at "
                f"{tensor.data_ptr():#x}: the memory is not pinned, and transfers might silently "
                "carry stale data"
            )
    return tensor


def unregister_host_memory(tensor: torch.Tensor) -> None:
    """Undo the pinning of a tensor of `alloc_with_host_register`; a failure is logged."""
    if (_is_cuda or _is_hip) and tensor.numel():
        runtime = cudart()  # type: ignore[no-untyped-call]
        code = int(runtime.cudaHostUnregister(tensor.data_ptr()))
        if code:
            logger.error("cudaHostUnregister returned %d for %#x", code, tensor.data_ptr())


def alloc_with_pin_memory(
    dims: Sequence[int],
    dtype: torch.dtype,
    device: str,
    pin_memory: bool,
    allocator: HostTensorAllocator,
) -> torch.Tensor:
    """Give a tensor that torch itself allocates and pins; `allocator` is not used."""
    return torch.zeros(tuple(dims), dtype=dtype, device=device, pin_memory=pin_memory)


class _ByDeviceType(Mapping[str, Callable[..., torch.Tensor]]):
    """Looks up by device type, however the device is spelled: `cuda`, `cuda:0`, a torch.device."""

    def __init__(
        self,
        functions: Mapping[str, Callable[..., torch.Tensor]],
        default: Callable[..., torch.Tensor],
    ) -> None:
        self._functions = dict(functions)
        self._default = default

    def __getitem__(self, device: str | torch.device) -> Callable[..., torch.Tensor]:
        kind = device.type if isinstance(device, torch.device) else device.partition(":")[0]
        return self._functions.get(kind, self._default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)


# How memory is allocated for a pool whose rows go to and come from this type of device.
ALLOC_MEMORY_FUNCS = _ByDeviceType(
    {"npu": alloc_with_pin_memory, "musa": alloc_with_pin_memory},
    default=alloc_with_host_register,
)


def _unregister_all(tensors: list[torch.Tensor]) -> None:
    while tensors:
        unregister_host_memory(tensors.pop())


class HostMemory:
    """The memory of one pool: allocated for transfers with a type of device, and pinned or not.

    Raises ValueError unless there are `requested` bytes, with `reserve` bytes beside them.
    """

    def __init__(
        self,
        requested: int,
        reserve: int,
        device_type: str | torch.device,
        allocator_type: str,
        device: str,
        pin_memory: bool,
    ) -> None:
        self.allocator = get_allocator_from_storage(allocator_type)
        check_host_memory(requested, reserve)
        self._function = ALLOC_MEMORY_FUNCS[device_type]
        self._device = device
        self._pin_memory = pin_memory
        self._registered: list[torch.Tensor] = []
        # Also when a pool is dropped, and at exit: what stays pinned delays the end of the process.
        self._unpin = weakref.finalize(self, _unregister_all, self._registered)

    def allocate(self, dims: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        """Give a zeroed tensor."""
        tensor = self._function(
            dims,
            dtype=dtype,
            device=self._device,
            pin_memory=self._pin_memory,
            allocator=self.allocator,
        )
        if self._pin_memory and self._function is alloc_with_host_register:
            self._registered.append(tensor)
        return tensor

    def release(self) -> None:
        """Unpin all tensors, once their copies are through; a second call does nothing."""
        if _is_cuda or _is_hip:
            current_stream().synchronize()
        self._unpin()
        if isinstance(self.allocator, ShmHostTensorAllocator):
            self.allocator.close()


@dataclass(frozen=True)
class _CgroupFiles:
    """What the memory files of a control group are called."""

    limit: str
    usage: str
    cache: str  # the field of memory.stat that counts what can be reclaimed at once


_CGROUP_V1 = _CgroupFiles("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_CGROUP_V2 = _CgroupFiles("memory.max", "memory.current", "inactive_file")
# Version 1 says "no limit" with the largest number of whole memory pages.
_NO_LIMIT_BYTES = 2**62


def container_memory_headroom(root: Path = Path("/")) -> int | None:
    """Give the bytes that this process's control groups still allow it, or None for no limit.

    Every group from the process's own up to the mounted one counts. `root` is where `proc` and
    `sys` lie. Raises RuntimeError where a limit is set and what is used of it cannot be read.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except FileNotFoundError:
        return None
    rooms = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        files = _CGROUP_V1 if controllers else _CGROUP_V2
        top = root / "sys/fs/cgroup" / ("memory" if controllers else "")
        # Inside a container the path may be the host's, and only the mounted group be there.
        own = top / path.lstrip("/")
        folders = [own, *(folder for folder in own.parents if folder.is_relative_to(top))]
        rooms += [_group_headroom(folder, files) for folder in folders if folder.is_dir()]
    return min((room for room in rooms if room is not None), default=None)


def _group_headroom(folder: Path, files: _CgroupFiles) -> int | None:
    limit = _read_bytes(folder / files.limit)
    if limit is None or limit >= _NO_LIMIT_BYTES:
        return None
    used = _read_bytes(folder / files.usage)
    if used is None:
        raise RuntimeError(
            f"{folder / files.usage} is missing: how much is left of {limit} bytes cannot be told"
        )
    # Page cache counts as used and gives way, unless a child group is promised to keep it.
    stat = folder / "memory.stat"
    fields = dict(line.split() for line in stat.read_text().splitlines()) if stat.exists() else {}
    cache = int(fields.get(files.cache, 0))
    kept = 0
    for child in folder.glob("*/memory.min"):
        promise = _read_bytes(child)
        kept += cache if promise is None else promise
    return max(0, limit - used + max(0, cache - kept))


def _read_bytes(path: Path) -> int | None:
    """Read a number from a file of a control group; None where there is no file, or no limit."""
    try:
        text = path.read_text().strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RuntimeError(f"{path} cannot be read: {error}") from error
    if text == "max":
        return None
    if not text.isdigit():
        raise RuntimeError(f"{path} must hold a number of bytes, not {text!r}")
    return int(text)


def ranks_per_host() -> int:
    """Give how many processes share this host's memory: LOCAL_WORLD_SIZE, as torchrun sets it.

    Without it, all ranks of a distributed run are taken to be here.
    """
    local = os.environ.get("LOCAL_WORLD_SIZE", "")
    if local.isdigit() and int(local) > 0:
        return int(local)
    if local:
        raise ValueError(f"LOCAL_WORLD_SIZE must be a positive number, not {local!r}")
    distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
    return int(torch.distributed.get_world_size()) if distributed else 1


def available_host_bytes(reserve: int) -> int:
    """Give the bytes that one rank's pools may take of this host, of which `reserve` stay free."""
    available = int(psutil.virtual_memory().available)
    headroom = container_memory_headroom()
    if headroom is not None:
        available = min(available, headroom)
    return max(0, available + free_huge_page_bytes() - reserve) // ranks_per_host()


def check_host_memory(requested: int, reserve: int) -> None:
    """Raise ValueError unless this rank may take `requested` bytes beside the reserve."""
    available = available_host_bytes(reserve)
    if requested > available:
        raise ValueError(
            f"Not enough host memory available. Requesting {requested / 1e9:.2f} GB but only have "
            f"{available / 1e9:.2f} GB free beside the reserve. Reduce the size or the ratio of "
            "the host pool."
        )
    logger.info("Allocating %.2f GB of host memory for a KV cache", requested / 1e9)


@dataclass(frozen=True)
class BufferLayout:
    """Where a host buffer keeps the rows of `layers` x `pages` x `page_size` slots.

    L layers, P pages of ps slots, S = P * ps slots in all, rows of the shape R:

    - layer_first: (L, S, *R)
    - page_first: (S, L, *R)
    - page_first_direct: (P, L, ps, *R)
    - page_head: (P, H, ps, L, D), for rows (H, D)
    """

    name: str
    layers: int
    pages: int
    page_size: int
    row: tuple[int, ...]
    dtype: torch.dtype

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return math.prod(self.row) * self.dtype.itemsize

    @property
    def page_bytes(self) -> int:
        """Bytes of one page, all layers."""
        return self.row_bytes * self.page_size * self.layers

    def dims(self) -> tuple[int, ...]:
        """Give the shape of the buffer."""
        slots = self.pages * self.page_size
        if self.name == "layer_first":
            return (self.layers, slots, *self.row)
        if self.name == "page_first":
            return (slots, self.layers, *self.row)
        if self.name == "page_first_direct":
            return (self.pages, self.layers, self.page_size, *self.row)
        if self.name == "page_head":
            heads, dim = self.row
            return (self.pages, heads, self.page_size, self.layers, dim)
        raise ValueError(f"Unsupported layout: {self.name}")

    def layer_pages(self, buffer: torch.Tensor, layer: int) -> torch.Tensor:
        """View one layer of the buffer as (P, ps, *R)."""
        if self.name == "layer_first":
            return buffer[layer].view(self.pages, self.page_size, *self.row)
        if self.name == "page_first":
            return buffer[:, layer].view(self.pages, self.page_size, *self.row)
        if self.name == "page_first_direct":
            return buffer[:, layer]
        return buffer[:, :, :, layer].transpose(1, 2)

    def page(self, buffer: torch.Tensor, page: int) -> torch.Tensor:
        """View one page of the buffer, all layers, in the order in which it is stored."""
        if self.name in {"page_first_direct", "page_head"}:
            return buffer[page : page + 1]
        first = page * self.page_size
        if self.name == "page_first":
            return buffer[first : first + self.page_size]
        return buffer[:, first : first + self.page_size]

    def page_meta(self, buffer: torch.Tensor, page: int) -> list[tuple[int, int]]:
        """Give address and size in bytes of each stretch of memory that holds a page."""
        if self.name != "layer_first":
            return [(buffer.data_ptr() + page * self.page_bytes, self.page_bytes)]
        part = self.row_bytes * self.page_size
        first = buffer.data_ptr() + page * part
        return [(first + layer * part * self.pages, part) for layer in range(self.layers)]


class HostBuffers:
    """The buffers of a pool with their layouts, in the order in which a flat page holds them."""

    def __init__(self, *parts: tuple[BufferLayout, torch.Tensor]) -> None:
        self.parts = parts

    @property
    def page_num(self) -> int:
        """Pages of every buffer."""
        return self.parts[0][0].pages

    @property
    def page_bytes(self) -> int:
        """Bytes of one page, all layers of all buffers."""
        return sum(layout.page_bytes for layout, _ in self.parts)

    def describe(self) -> str:
        """Say in one word what the rows are made of."""
        words = (f"{layout.dtype}{list(layout.row)}" for layout, _ in self.parts)
        return "+".join(word.removeprefix("torch.").replace(" ", "") for word in words)

    def layer_views(self, part: int) -> list[torch.Tensor]:
        """View each layer of a buffer as (P, ps, *R)."""
        layout, buffer = self.parts[part]
        return [layout.layer_pages(buffer, layer) for layer in range(layout.layers)]

    def layer_addresses(self, part: int, device: str | torch.device) -> torch.Tensor:
        """Give the addresses of a buffer's layers, uint64 on a device, for a caller's kernels."""
        addresses = [view.data_ptr() for view in self.layer_views(part)]
        return torch.from_numpy(np.array(addresses, dtype=np.uint64)).to(device)

    def lanes(
        self, layer: int, device: Sequence[torch.Tensor], by_word: bool
    ) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Pair host pages and device rows of a layer, for each buffer that has something to copy.

        `device` holds the device's rows, one tensor a buffer; `by_word` says that rows are copied
        by whole words.
        """
        found = []
        for (layout, buffer), rows in zip(self.parts, device, strict=True):
            if rows.dtype != layout.dtype or tuple(rows.shape[1:]) != layout.row:
                raise ValueError(
                    f"device_pool must have rows of {layout.row} {layout.dtype}, as this pool, "
                    f"not of {tuple(rows.shape[1:])} {rows.dtype}"
                )
            if by_word and layout.row_bytes % _KERNEL_WORD_BYTES:
                raise ValueError(
                    f"io_backend kernel moves words of {_KERNEL_WORD_BYTES} bytes, and a row has "
                    f"{layout.row_bytes}: use direct"
                )
            if layout.row_bytes:
                found.append((layout.layer_pages(buffer, layer), rows))
        return found

    def read_page(
        self, index: int | torch.Tensor, page_size: int, dtype: torch.dtype, flat: bool
    ) -> torch.Tensor:
        """Copy the page that starts at slot `index`, for pages of `page_size` slots.

        In one dimension of `dtype`, or if not `flat` the stacked buffers.
        """
        page = check_page_start("index", index, self.page_num * page_size, page_size)
        parts = [layout.page(buffer, page) for layout, buffer in self.parts]
        if flat:
            return torch.cat([part.flatten().view(dtype) for part in parts])
        if len(parts) == 1:
            return parts[0].clone()
        if len({(part.shape, part.dtype) for part in parts}) > 1:
            raise ValueError("flat must be True: the buffers of this pool differ in shape")
        return torch.stack(parts)

    def write_page(
        self, index: int | torch.Tensor, page_size: int, dtype: torch.dtype, data_page: torch.Tensor
    ) -> None:
        """Write a flat page of `dtype` to the page that starts at slot `index`."""
        page = check_page_start("index", index, self.page_num * page_size, page_size)
        data = check_tensor("data_page", data_page, (dtype,), 1)
        wanted = self.page_bytes // dtype.itemsize
        if data.numel() != wanted:
            raise ValueError(f"data_page must have {wanted} elements, not {data.numel()}")
        start = 0
        for layout, buffer in self.parts:
            stop = start + layout.page_bytes // data.dtype.itemsize
            target = layout.page(buffer, page)
            # The copy starts where any dtype may: a part need not, after parts of another.
            target.copy_(data[start:stop].clone().view(layout.dtype).view(target.shape))
            start = stop

    def page_meta(self, indices: torch.Tensor, page_size: int) -> tuple[list[int], list[int]]:
        """Give address and size in bytes of each stretch of memory that holds pages of slots.

        Page by page; within a page layer by layer where the layout parts them, and buffer by
        buffer.
        """
        slots = check_slots("indices", indices, self.page_num * page_size)
        pages = check_pages("indices", slots, page_size).tolist()
        addresses: list[int] = []
        sizes: list[int] = []
        for page in pages:
            metas = [layout.page_meta(buffer, page) for layout, buffer in self.parts]
            for turn in zip(*metas, strict=True):
                addresses += [address for address, _ in turn]
                sizes += [size for _, size in turn]
        return addresses, sizes

    def aligned(self, unit: int) -> bool:
        """Say whether every page, where it lies in one stretch, starts at a multiple of `unit`."""
        return all(
            buffer.data_ptr() % unit == 0 and layout.page_bytes % unit == 0
            for layout, buffer in self.parts
        )


def _as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """View a tensor's last dimension as bytes; indexing does not know every dtype."""
    return tensor.view(torch.uint8)


class SlotTransfer:
    """Which host slot is copied to or from which device row: checked once, for all layers."""

    def __init__(
        self,
        host: NDArray[np.int64],
        device: NDArray[np.int64],
        page_size: int,
        by_run: bool,
        pinned: bool,
    ) -> None:
        self.page_size = page_size
        # A copy to or from pageable memory must be waited for.
        self._non_blocking = pinned
        self.runs = list(_matched_runs(host, device, page_size)) if by_run else None
        self._host_page = torch.from_numpy(host // page_size)
        self._host_offset = torch.from_numpy(host % page_size)
        self._device_row = torch.from_numpy(device)

    @classmethod
    def checked(
        cls,
        label: str,
        host_side: tuple[torch.Tensor, int],
        device_side: tuple[torch.Tensor, int],
        page_size: int,
        *,
        by_run: bool,
        by_page: bool,
        pinned: bool,
    ) -> SlotTransfer:
        """Make a transfer of the pool `label`; a side is its indices and how many slots it has.

        With `by_page` a row is a page's, so both sides are whole pages. With `by_run` the host's
        are, and rows are copied in stretches. `pinned` says that the host's memory is.
        """
        host = check_slots("host_indices", *host_side)
        device = check_slots("device_indices", *device_side)
        if host.size != device.size:
            raise ValueError(
                f"{label} transfer index size mismatch: host_indices and device_indices must have "
                f"one length, not {host.size} and {device.size}"
            )
        if by_page or by_run:
            host_pages = check_pages("host_indices", host, page_size)
        if by_page:
            device = check_pages("device_indices", device, page_size)
            return cls(host_pages, device, 1, by_run, pinned)
        return cls(host, device, page_size, by_run, pinned)

    def load(self, pages: torch.Tensor, rows: torch.Tensor) -> None:
        """Copy from host `pages` (P, ps, *R) to device `rows` (N, *R)."""
        pages, rows = _as_bytes(pages), _as_bytes(rows)
        if self.runs is None:
            gathered = pages[self._host_page, self._host_offset]
            rows[self._device_row.to(rows.device)] = gathered.to(rows.device)
            return
        for host, device in self._matched_views(pages, rows, self.runs):
            device.copy_(host, non_blocking=self._non_blocking)

    def store(self, pages: torch.Tensor, rows: torch.Tensor) -> None:
        """Copy from device `rows` (N, *R) to host `pages` (P, ps, *R)."""
        pages, rows = _as_bytes(pages), _as_bytes(rows)
        if self.runs is None:
            gathered = rows[self._device_row.to(rows.device)]
            pages[self._host_page, self._host_offset] = gathered.to(pages.device)
            return
        for host, device in self._matched_views(pages, rows, self.runs):
            host.copy_(device, non_blocking=self._non_blocking)

    def _matched_views(
        self, pages: torch.Tensor, rows: torch.Tensor, runs: list[tuple[int, int, int]]
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Give what is copied to or from what: memory in one stretch on both sides.

        Anything else would go through a temporary tensor, which a copy does not wait for.
        """
        size = self.page_size
        for host, device, count in runs:
            page, offset = divmod(host, size)
            stretch = rows[device : device + count]
            if count % size:
                yield pages[page, offset : offset + count], stretch
                continue
            whole = pages[page : page + count // size]
            parts = stretch.view(whole.shape)
            if whole.is_contiguous():
                yield whole, parts
            else:
                yield from zip(whole, parts, strict=True)


def _matched_runs(
    host: NDArray[np.int64], device: NDArray[np.int64], page_size: int
) -> Iterator[tuple[int, int, int]]:
    """Give (host slot, device row, count) of each stretch in which both step by one.

    A stretch is of whole host pages, or lies within one.
    """
    if not host.size:
        return
    breaks = np.flatnonzero((np.diff(host) != 1) | (np.diff(device) != 1)) + 1
    for start, stop in pairwise([0, *breaks.tolist(), host.size]):
        first, row, count = int(host[start]), int(device[start]), stop - start
        while count:
            within = page_size - first % page_size
            whole = within == page_size and count >= page_size
            step = count - count % page_size if whole else min(within, count)
            yield first, row, step
            first, row, count = first + step, row + step, count - step


class DevicePool(Protocol):
    """What every host pool reads of the device pool that it extends.

    `size` counts slots; buffers may have more rows, for a page that pads. `store_dtype` is what the
    buffers hold, which for fp8 may be uint8. Buffers are lists with one tensor a local layer, whose
    first dimension is the slot.
    """

    size: int
    store_dtype: torch.dtype
    start_layer: int
    end_layer: int
    device: Any  # a torch.device, or the name of one


def device_rows(device_pool: object, attribute: str, layer: int) -> torch.Tensor:
    """Give one layer's buffer of a device pool; errors name the attribute that is wrong.

    Refused are rows that mean nothing without scales in a buffer of their own.
    """
    scales = attribute.replace("_buffer", "_scale_buffer")
    if getattr(device_pool, scales, None) is not None:
        raise ValueError(f"device_pool has {scales}, which this host pool would not carry")
    buffers = getattr(device_pool, attribute, None)
    if buffers is None:
        kind = type(device_pool).__name__
        raise TypeError(f"device_pool must have {attribute}, a tensor a layer; {kind} has none")
    if layer >= len(buffers) or not isinstance(buffers[layer], torch.Tensor):
        raise ValueError(f"device_pool.{attribute} must hold a tensor for layer {layer}")
    rows: torch.Tensor = buffers[layer]
    return rows


class HostSlotPool:
    """The slots of a pool, and which of them are free.

    `alloc`, `free`, `clear` and `available_size` may be called from any thread; they take `lock`.
    What they give belongs to the caller, and what they are given they copy.

    `free_slots` is a tensor of slots in the order in which they will be given out, and what was
    released since waits in `release_slots` until it is needed: a release costs what it releases.
    """

    # A group asks any of its pools for these.
    kv_buffer: Any = None
    dtype: torch.dtype = torch.uint8
    size_per_token: int = 0
    layer_num: int = 0
    start_layer: int = 0
    end_layer: int = 0
    device: str = "cpu"
    pin_memory: bool = False
    can_use_write_back_jit: bool = False

    def __init__(self, size: int, page_size: int, layout: str) -> None:
        self.page_size = check_int("page_size", page_size, 1)
        self.size = check_int("size", size, 1)
        if self.size % self.page_size:
            raise ValueError(f"size must be a multiple of page_size {page_size}, not {size}")
        self.page_num = self.size // self.page_size
        self.layout = layout
        self.lock = threading.RLock()
        self.destroyed = False
        self.clear()

    @synchronized
    def clear(self) -> None:
        """Take every slot back."""
        size = 0 if self.destroyed else self.size
        self.free_slots = torch.arange(size, dtype=torch.int64)
        self.release_slots: list[torch.Tensor] = []
        self.num_release_slots = 0
        self.slot_used = torch.zeros(size, dtype=torch.bool)

    @synchronized
    def available_size(self) -> int:
        """Give the number of slots that can be allocated."""
        return len(self.free_slots) + self.num_release_slots

    @synchronized
    def alloc(self, need_size: int) -> torch.Tensor | None:
        """Give `need_size` slots, int64, by whole pages; None if there are not so many.

        Raises SlotError unless `need_size` is a multiple of the page size.
        """
        self._check_alive()
        need_size = check_int("need_size", need_size, 0)
        if need_size % self.page_size:
            raise SlotError(
                "The requested size should be a multiple of the page size. need_size is "
                f"{need_size}, the page size {self.page_size}"
            )
        if need_size > self.available_size():
            return None
        if need_size > len(self.free_slots):
            self.free_slots = torch.cat([self.free_slots, *self.release_slots])
            self.release_slots, self.num_release_slots = [], 0
        selected = self.free_slots[:need_size].clone()
        used = selected[self.slot_used[selected]].numpy()
        if used.size:
            raise SlotError(f"Double-alloc detected: slots already allocated: {shown_slots(used)}")
        self.slot_used[selected] = True
        self.free_slots = self.free_slots[need_size:]
        return selected

    @synchronized
    def free(self, indices: torch.Tensor) -> int:
        """Release slots, whole pages of them; give how many.

        `indices` is a one-dimensional int64 or int32 tensor on any device. The pages of a call may
        come in any order, and so may the slots among them. Raises SlotError for slots that are not
        allocated, or for part of a page; then nothing is released.
        """
        self._check_alive()
        slots = whole_pages("indices", indices, self.size, self.page_size)
        if slots.size == 0:
            return 0
        released = torch.from_numpy(slots)
        unused = slots[~self.slot_used[released].numpy()]
        if unused.size:
            raise SlotError(
                f"Double-free detected: slots not currently allocated: {shown_slots(unused)}"
            )
        self.slot_used[released] = False
        self.release_slots.append(released)
        self.num_release_slots += len(released)
        return len(released)

    def destroy(self) -> None:
        """Give up all slots for good; a second call does nothing."""
        with self.lock:
            self.destroyed = True
            self.clear()

    def _check_alive(self) -> None:
        if self.destroyed:
            raise RuntimeError(f"This {type(self).__name__} was destroyed")


class HostBufferPool(HostSlotPool, ABC):
    """A pool that keeps rows in host buffers: transfers to and from the device, and page access.

    Subclasses make `buffers`, and `_device_rows` gives the device's buffers in the same order.
    """

    layouts: ClassVar[tuple[str, ...]] = ("layer_first", "page_first", "page_first_direct")
    # For each io backend the layouts that it can copy.
    io_layouts: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "kernel": ("layer_first", "page_first"),
        "direct": ("layer_first", "page_first_direct"),
    }
    # A row is a page's, not a slot's: transfers then take whole pages on both sides.
    rows_are_pages: ClassVar[bool] = False
    pool_label: str = "kv"
    device_pool: Any = None
    buffers: HostBuffers

    def __init__(
        self,
        size: int,
        page_size: int,
        requested: int,
        device_type: str | torch.device,
        allocator_type: str,
    ) -> None:
        """Make `size` slots, and buffers of `requested` bytes if the host has them; or neither."""
        options = (device_type, allocator_type, self.device, self.pin_memory)
        self.memory = HostMemory(requested, HICACHE_HOST_MEMORY_RESERVE_BYTES, *options)
        super().__init__(size, page_size, self.layout)
        self.allocator = self.memory.allocator
        try:
            self.kv_buffer = self.init_kv_buffer()
            for layer in range(self.layer_num):
                self.buffers.lanes(layer, self._device_rows(self.device_pool, layer), False)
        except BaseException:
            self.memory.release()
            raise

    @staticmethod
    @contextmanager
    def _reading(name: str) -> Iterator[None]:
        """Name the argument `name` where it lacks what is read of it."""
        try:
            yield
        except AttributeError as error:
            raise TypeError(f"{name} must have what is read of it: {error}") from error

    def _set_options(self, layout: str, pin_memory: bool, device: str) -> None:
        self.layout = check_choice("layout", layout, self.layouts)
        if not isinstance(pin_memory, bool):
            raise TypeError(f"pin_memory must be True or False, not {pin_memory!r}")
        self.pin_memory = pin_memory
        self.device = check_choice("device", device, ("cpu",))

    def destroy(self) -> None:
        """Unpin and drop the buffers and give up all slots; a second call does nothing."""
        with self.lock:
            if not self.destroyed:
                super().destroy()
                self.buffers = HostBuffers()
                self.kv_buffer = None
                self.memory.release()

    @abstractmethod
    def init_kv_buffer(self) -> Any:
        """Allocate `buffers`, and give what `kv_buffer` is to be."""

    @abstractmethod
    def _device_rows(self, device_pool: Any, layer: int) -> list[torch.Tensor]:
        """Give the device's rows of a local layer, a tensor for each of `buffers`."""

    def load_to_device_per_layer(
        self,
        device_pool: Any,
        host_indices: torch.Tensor,
        device_indices: torch.Tensor,
        layer_id: int,
        io_backend: str,
        *,
        is_draft: bool = False,
    ) -> None:
        """Copy one layer's rows of the host slots to the device slots at the same positions.

        `layer_id` is local. Both index tensors are int64 and one-dimensional, without repetition.
        """
        for copy in self.plan_load(
            device_pool, host_indices, device_indices, layer_id, io_backend, is_draft=is_draft
        ):
            copy()

    def backup_from_device_all_layer(
        self,
        device_pool: Any,
        host_indices: torch.Tensor,
        device_indices: torch.Tensor,
        io_backend: str,
    ) -> None:
        """Copy all layers' rows of the device slots to the host slots at the same positions."""
        for copy in self.plan_backup(device_pool, host_indices, device_indices, io_backend):
            copy()

    def plan_load(
        self,
        device_pool: Any,
        host_indices: torch.Tensor,
        device_indices: torch.Tensor,
        layer_id: int,
        io_backend: str,
        *,
        is_draft: bool = False,
    ) -> list[Callable[[], None]]:
        """Check a load and give its copies, for a caller who has others to check first."""
        if is_draft:
            raise ValueError("is_draft must be False: this pool holds no layers of a draft model")
        layer_id = check_int("layer_id", layer_id, 0)
        if layer_id >= self.layer_num:
            raise ValueError(f"layer_id must lie in 0..{self.layer_num - 1}, not {layer_id}")
        lanes = self._lanes(device_pool, layer_id, io_backend)
        transfer = self._transfer(host_indices, device_indices, io_backend, lanes)
        return [functools.partial(transfer.load, pages, rows) for pages, rows in lanes]

    def plan_backup(
        self,
        device_pool: Any,
        host_indices: torch.Tensor,
        device_indices: torch.Tensor,
        io_backend: str,
    ) -> list[Callable[[], None]]:
        """Check a backup and give its copies, for a caller who has others to check first."""
        lanes = []
        for layer in range(self.layer_num):
            lanes += self._lanes(device_pool, layer, io_backend)
        transfer = self._transfer(host_indices, device_indices, io_backend, lanes)
        return [functools.partial(transfer.store, pages, rows) for pages, rows in lanes]

    def _lanes(
        self, device_pool: Any, layer: int, io_backend: str
    ) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Pair the host pages of a layer with the device rows that they are copied to or from."""
        self._check_alive()
        supported = self.io_layouts[check_choice("IO backend", io_backend, tuple(self.io_layouts))]
        check_choice(f"layout of io_backend {io_backend}", self.layout, supported)
        by_word = io_backend == "kernel"
        return self.buffers.lanes(layer, self._device_rows(device_pool, layer), by_word)

    def _transfer(
        self,
        host_indices: torch.Tensor,
        device_indices: torch.Tensor,
        io_backend: str,
        lanes: list[tuple[torch.Tensor, torch.Tensor]],
    ) -> SlotTransfer:
        unit = self.page_size if self.rows_are_pages else 1
        return SlotTransfer.checked(
            self.pool_label,
            (host_indices, self.size),
            (device_indices, min((rows.shape[0] for _, rows in lanes), default=0) * unit),
            self.page_size,
            by_run=io_backend == "direct",
            by_page=self.rows_are_pages,
            pinned=self.pin_memory and (_is_cuda or _is_hip),
        )

    @property
    def page_dtype(self) -> torch.dtype:
        """What a flat page is a tensor of."""
        return self.dtype

    @property
    def page_numel(self) -> int:
        """Elements of a flat page."""
        return self.buffers.page_bytes // self.page_dtype.itemsize

    @property
    def storage_format_tag(self) -> str:
        """Say in one word how a page's bytes are to be read; another tag is another format."""
        layers = f"{self.start_layer}:{self.start_layer + self.layer_num}"
        rows = self.buffers.describe()
        kind = f"{type(self).__name__}-{self.pool_label}"
        return f"{kind}-{self.layout}-{self.page_size}-{layers}-{rows}"

    def get_data_page(self, index: int | torch.Tensor, flat: bool = True) -> torch.Tensor:
        """Copy the page that starts at slot `index`, all layers, in the order of the layout.

        Flat pages have one dimension and hold one buffer's page after the other. Otherwise buffers
        of one shape are stacked.
        """
        self._check_alive()
        if _is_cuda or _is_hip:
            current_stream().synchronize()  # a backup may still be writing
        return self.buffers.read_page(index, self.page_size, self.page_dtype, flat)

    def get_dummy_flat_data_page(self) -> torch.Tensor:
        """Give a flat page of zeros to read into, pinned if the pool is."""
        self._check_alive()
        pinned = self.pin_memory and (_is_cuda or _is_hip)
        return torch.zeros(self.page_numel, dtype=self.page_dtype, pin_memory=pinned)

    def set_from_flat_data_page(
        self,
        index: int | torch.Tensor,
        data_page: torch.Tensor,
        format_tag: str | None = None,
    ) -> None:
        """Write a flat page of this pool's format to the page that starts at slot `index`.

        `format_tag` is the `storage_format_tag` of the pool that the page came from; elements alone
        do not tell one layout from another.
        """
        self._check_alive()
        if format_tag is not None and format_tag != self.storage_format_tag:
            raise ValueError(f"format_tag must be {self.storage_format_tag}, not {format_tag}")
        self.buffers.write_page(index, self.page_size, self.page_dtype, data_page)

    def get_page_buffer_meta(self, indices: torch.Tensor) -> tuple[list[int], list[int]]:
        """Give address and size in bytes of each stretch of memory that holds the pages.

        Page by page in the order of `indices`, which are whole pages; within a page layer by layer
        where the layout parts them, and buffer by buffer.
        """
        self._check_alive()
        return self.buffers.page_meta(indices, self.page_size)

    def get_hybrid_pool_buffer(self) -> list[torch.Tensor]:
        """Give every host buffer, for a storage back end to register."""
        return [buffer for _, buffer in self.buffers.parts]

    def is_stride_page_aligned(self, page_size_bytes: int = 4096) -> bool:
        """Say whether every page starts at a multiple of `page_size_bytes`, as direct I/O needs."""
        unit = check_int("page_size_bytes", page_size_bytes, 1)
        return self.layout != "layer_first" and self.buffers.aligned(unit)


def sync_fixed_hicache_size(
    size: int, host_size: float, group: torch.distributed.ProcessGroup | None = None
) -> int:
    """Give the number of slots that every pipeline stage in `group` can hold.

    A size in GB gives stages with more layers fewer slots; all must agree on the smallest.
    """
    if group is None or host_size <= 0:
        return size
    smallest = torch.tensor(size, dtype=torch.int64)
    torch.distributed.all_reduce(smallest, op=torch.distributed.ReduceOp.MIN, group=group)
    return int(smallest)


class HostKVCache(HostBufferPool):
    """A host pool that extends a device pool and gives out slots of its own.

    `host_size` is in GB (10**9 bytes) for this rank; 0 makes the pool `host_to_device_ratio` times
    as large as the device pool. Both are rounded up to whole pages. With a `pipeline_group`,
    a size in GB becomes the smallest number of slots among its stages.

    Raises ValueError where the host has too little memory left.
    """

    def __init__(
        self,
        device_pool: Any,
        host_to_device_ratio: float,
        host_size: float,
        page_size: int,
        layout: str,
        pin_memory: bool = True,
        device: str = "cpu",
        allocator_type: str = "default",
        *,
        pipeline_group: torch.distributed.ProcessGroup | None = None,
    ) -> None:
        check_int("page_size", page_size, 1)
        self._set_options(layout, pin_memory, device)
        self.device_pool = device_pool
        with self._reading("device_pool"):
            self._set_device_traits()
            self.size_per_token = self.get_size_per_token()
            device_size, device_type = device_pool.size, device_pool.device
        wanted = self._wanted_slots(host_to_device_ratio, host_size)
        wanted = sync_fixed_hicache_size(wanted, host_size, pipeline_group)
        size = -(-wanted // page_size) * page_size
        requested = size * self.size_per_token
        super().__init__(size, page_size, requested, device_type, allocator_type)
        if size < device_size:
            text = "The host pool has %d slots, fewer than the device pool's %d"
            logger.warning(text, size, device_size)

    def _set_device_traits(self) -> None:
        self.dtype = self.device_pool.store_dtype
        self.start_layer = self.device_pool.start_layer
        self.end_layer = self.device_pool.end_layer

    @abstractmethod
    def get_size_per_token(self) -> int:
        """Take the geometry from the device pool; give the bytes that one slot needs."""

    def _wanted_slots(self, ratio: float, host_size: float) -> int:
        check_amount("host_to_device_ratio", ratio)
        check_amount("host_size", host_size)
        if host_size:
            wanted = round(host_size * 1e9) // self.size_per_token
        else:
            wanted = int(self.device_pool.size * ratio)
        if wanted < 1:
            raise ValueError(
                f"host_size {host_size} and host_to_device_ratio {ratio} leave room for no slot of "
                f"{self.size_per_token} bytes"
            )
        return wanted


class SharedSlotPool(HostBufferPool):
    """A pool whose slots are another's, which alone gives them out and takes them back."""

    def available_size(self) -> int:
        """Refuse: the other pool knows."""
        raise NotImplementedError(self._not_here())

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """Refuse: the other pool gives out slots."""
        raise NotImplementedError(self._not_here())

    def free(self, indices: torch.Tensor) -> int:
        """Refuse: the other pool takes slots back."""
        raise NotImplementedError(self._not_here())

    def clear(self) -> None:
        """Do nothing: there are no slots of its own."""

    def _not_here(self) -> str:
        return f"The slots of a {type(self).__name__} are another pool's: ask that one"


class MHADevicePool(DevicePool, Protocol):
    """A device pool of keys and values: rows (head_num, head_dim), in one buffer a layer each."""

    layer_num: int
    head_num: int
    head_dim: int
    k_buffer: list[torch.Tensor]
    v_buffer: list[torch.Tensor]


# These keep a page in one stretch of memory.
_PAGE_MAJOR_LAYOUTS = ("page_first", "page_first_direct")


class MHATokenToKVPoolHost(HostKVCache):
    """Keys and values of multi-head attention, of one head size.

    `kv_buffer` is one tensor whose first dimension parts keys from values; `k_buffer` and
    `v_buffer` are its halves. With L layers, S slots, P pages of ps slots, H heads of D elements:

    - layer_first: (2, L, S, H, D), token t of layer l at [:, l, t]
    - page_first: (2, S, L, H, D), at [:, t, l]
    - page_first_direct: (2, P, L, ps, H, D), at [:, t // ps, l, t % ps]
    - page_head: (2, P, H, ps, L, D), at [:, t // ps, :, t % ps, l]

    `k_data_refs` and `v_data_refs` view each layer as (P, ps, H, D). Where a GPU can reach host
    memory, `k_data_ptrs` and `v_data_ptrs` are the layers' addresses, on the device.

    A flat page has 2 * L * ps * H * D elements, keys before values. `size_per_token` and
    `layout_dim` are bytes of all layers, `token_stride_size` bytes of one; the latter two count
    keys alone.
    """

    layouts = ("layer_first", "page_first", "page_first_direct", "page_head")
    io_layouts: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "kernel": ("layer_first", "page_first", "page_head"),
        "direct": ("layer_first", "page_first_direct"),
    }
    device_pool: MHADevicePool
    k_data_ptrs: torch.Tensor | None = None
    v_data_ptrs: torch.Tensor | None = None

    def get_size_per_token(self) -> int:
        """Take the geometry from the device pool; give the bytes that one slot needs."""
        pool = self.device_pool
        self.head_num, self.head_dim = pool.head_num, pool.head_dim
        if getattr(pool, "v_head_dim", self.head_dim) != self.head_dim:
            raise ValueError(
                "device_pool has another v_head_dim than head_dim: take "
                "AsymmetricMHATokenToKVPoolHost"
            )
        self.layer_num = pool.layer_num
        self.token_stride_size = self.head_num * self.head_dim * self.dtype.itemsize
        self.layout_dim = self.token_stride_size * self.layer_num
        return self.layout_dim * 2

    def get_ksize_per_token(self) -> int:
        """Give the bytes that the keys of one slot need."""
        return self.get_size_per_token() // 2

    def init_kv_buffer(self) -> torch.Tensor:
        """Allocate keys and values in one tensor."""
        row = (self.head_num, self.head_dim)
        layout = BufferLayout(
            self.layout, self.layer_num, self.page_num, self.page_size, row, self.dtype
        )
        kv_buffer = self.memory.allocate((2, *layout.dims()), self.dtype)
        self.k_buffer, self.v_buffer = kv_buffer.unbind(0)
        self.buffers = HostBuffers((layout, self.k_buffer), (layout, self.v_buffer))
        self.k_data_refs = self.buffers.layer_views(0)
        self.v_data_refs = self.buffers.layer_views(1)
        if _is_cuda or _is_hip:
            self.k_data_ptrs = self.buffers.layer_addresses(0, self.device_pool.device)
            self.v_data_ptrs = self.buffers.layer_addresses(1, self.device_pool.device)
        logger.info("Keys and values of %d layers: %s", self.layer_num, self.buffers.describe())
        return kv_buffer

    def _device_rows(self, device_pool: Any, layer: int) -> list[torch.Tensor]:
        return [device_rows(device_pool, name, layer) for name in ("k_buffer", "v_buffer")]

    def get_split_heads_page_buffer_meta(
        self, indices: torch.Tensor, split_factor: int
    ) -> tuple[list[int], list[int]]:
        """Give address and size of the pages' heads in `split_factor` groups.

        Page by page and group by group, keys then values. Only the layout page_head keeps the heads
        of a page together.
        """
        check_choice("layout for split heads", self.layout, ("page_head",))
        split_factor = check_int("split_factor", split_factor, 1)
        if self.head_num % split_factor:
            raise ValueError(f"split_factor must divide {self.head_num} heads, not {split_factor}")
        pages, sizes = self.get_page_buffer_meta(indices)
        addresses = [
            address + group * (sizes[0] // split_factor)
            for pair in zip(pages[::2], pages[1::2], strict=True)
            for group in range(split_factor)
            for address in pair
        ]
        return addresses, [size // split_factor for size in sizes for _ in range(split_factor)]


class HiSparseHostPoolMixin:
    """Host slots for requests of sparse attention, which keep their whole context on the host.

    A table has a row of host slots a request, -1 where there is none yet. A request's slots are
    allocated by whole pages, in the order of its tokens.
    """

    page_size: int

    if TYPE_CHECKING:

        def alloc(self, need_size: int) -> torch.Tensor | None:
            """Give slots, as `HostSlotPool` does."""

    def _round_up_to_page_size(self, size: int) -> int:
        return round_up(size, self.page_size)

    def alloc_page(self, num_pages: int) -> torch.Tensor | None:
        """Give the slots of `num_pages` pages, or None if there are not so many."""
        return self.alloc(check_int("num_pages", num_pages, 0) * self.page_size)

    def alloc_paged_token_slots(
        self,
        req_to_host_pool: torch.Tensor,
        req_to_host_pool_allocated_len: torch.Tensor,
        req_pool_idx: int,
        start_pos: int,
        num_tokens: int,
    ) -> torch.Tensor:
        """Give the host slots of the tokens from `start_pos` on, int64, on the table's device.

        `req_to_host_pool` is the table, int64 (requests, positions), and
        `req_to_host_pool_allocated_len` how many positions of each row are filled, a multiple of
        the page size. Pages that are missing are allocated and noted in both. Raises RuntimeError
        if there are too few; then nothing is noted.
        """
        table, lengths = req_to_host_pool, req_to_host_pool_allocated_len
        row = _check_table(table, lengths, req_pool_idx)
        if check_int("num_tokens", num_tokens, -sys.maxsize) <= 0:
            return torch.empty(0, dtype=torch.int64, device=table.device)
        start_pos = check_int("start_pos", start_pos, 0)
        allocated = int(lengths[row])
        if start_pos > allocated:
            raise ValueError(f"start_pos must be at most {allocated}, what is allocated so far")
        stop = start_pos + num_tokens
        needed = self._round_up_to_page_size(stop)
        if needed > table.shape[1]:
            raise ValueError(
                f"req_to_host_pool must have {needed} positions for whole pages, not "
                f"{table.shape[1]}"
            )
        if needed > allocated:
            num_pages = (needed - allocated) // self.page_size
            slots = self.alloc_page(num_pages)
            if slots is None:
                message = f"HiSparse host mem pool alloc failed for {num_pages} pages"
                logger.error(message)
                raise RuntimeError(message)
            table[row, allocated:needed] = slots.to(table.device)
            lengths[row] = needed
        return table[row, start_pos:stop].clone()

    def allocated_host_indices(
        self, req_to_host_pool: torch.Tensor, req_pool_idx: int, allocated_len: int
    ) -> torch.Tensor:
        """Give the slots of the pages that hold a request's first `allocated_len` tokens."""
        row = _check_table(req_to_host_pool, None, req_pool_idx)
        allocated_len = check_int("allocated_len", allocated_len, 0)
        slots = req_to_host_pool[row, : self._round_up_to_page_size(allocated_len)]
        return slots[slots >= 0]


def _check_table(table: torch.Tensor, lengths: torch.Tensor | None, req_pool_idx: int) -> int:
    check_tensor("req_to_host_pool", table, (torch.int64,), 2)
    if lengths is not None:
        name = "req_to_host_pool_allocated_len"
        check_tensor(name, lengths, (torch.int64, torch.int32), 1)
        if len(lengths) != len(table):
            raise ValueError(f"{name} must have a length for each of {len(table)} requests")
    row = check_int("req_pool_idx", req_pool_idx, 0)
    if row >= len(table):
        raise ValueError(f"req_pool_idx must be below {len(table)}, not {row}")
    return row


class MLADevicePool(DevicePool, Protocol):
    """A device pool of latent attention: rows (1, kv_cache_dim), keys and values in one."""

    layer_num: int
    kv_lora_rank: int
    qk_rope_head_dim: int
    kv_buffer: list[torch.Tensor]


class MLATokenToKVPoolHost(HiSparseHostPoolMixin, HostKVCache):
    """Latent rows of multi-head latent attention, keys and values in one.

    A row has C = kv_lora_rank + qk_rope_head_dim elements, or `override_kv_cache_dim` where the
    device packs something else into it, such as fp8 values with their scales and positions. With L
    layers, S slots and P pages of ps slots, `kv_buffer` is

    - layer_first: (L, S, 1, C), token t of layer l at [l, t]
    - page_first: (S, L, 1, C), at [t, l]
    - page_first_direct: (P, L, ps, 1, C), at [t // ps, l, t % ps]

    `data_refs` views each layer as (P, ps, 1, C). Where a GPU can reach host memory, `data_ptrs`
    are the layers' addresses, on the device.

    A flat page has L * ps * C elements. `size_per_token` and `layout_dim` are bytes of all layers,
    `token_stride_size` bytes of one.
    """

    device_pool: MLADevicePool
    data_ptrs: torch.Tensor | None = None

    def __init__(
        self,
        device_pool: MLADevicePool,
        host_to_device_ratio: float,
        host_size: float,
        page_size: int,
        layout: str,
        pin_memory: bool = True,
        device: str = "cpu",
        allocator_type: str = "default",
        override_kv_cache_dim: int | None = None,
        *,
        pipeline_group: torch.distributed.ProcessGroup | None = None,
    ) -> None:
        if override_kv_cache_dim is not None:
            check_int("override_kv_cache_dim", override_kv_cache_dim, 1)
        self.override_kv_cache_dim = override_kv_cache_dim
        super().__init__(
            device_pool,
            host_to_device_ratio,
            host_size,
            page_size,
            layout,
            pin_memory,
            device,
            allocator_type,
            pipeline_group=pipeline_group,
        )

    def get_size_per_token(self) -> int:
        """Take the geometry from the device pool; give the bytes that one slot needs."""
        pool = self.device_pool
        self.kv_lora_rank = pool.kv_lora_rank
        self.qk_rope_head_dim = pool.qk_rope_head_dim
        self.layer_num = pool.layer_num
        self.kv_cache_dim = self.override_kv_cache_dim or self.kv_lora_rank + self.qk_rope_head_dim
        for layer in range(self.layer_num):
            width = device_rows(pool, "kv_buffer", layer).shape[-1]
            if width != self.kv_cache_dim:
                raise ValueError(
                    f"override_kv_cache_dim must be {width}, the width of device_pool's rows: "
                    f"{self.kv_cache_dim} would cut or pad them"
                )
        self.token_stride_size = self.kv_cache_dim * self.dtype.itemsize
        self.layout_dim = self.token_stride_size * self.layer_num
        return self.layout_dim

    def get_ksize_per_token(self) -> int:
        """Give the bytes that one slot needs, for keys and values are one."""
        return self.get_size_per_token()

    def init_kv_buffer(self) -> torch.Tensor:
        """Allocate the one buffer."""
        row = (1, self.kv_cache_dim)
        layout = BufferLayout(
            self.layout, self.layer_num, self.page_num, self.page_size, row, self.dtype
        )
        kv_buffer = self.memory.allocate(layout.dims(), self.dtype)
        self.buffers = HostBuffers((layout, kv_buffer))
        self.data_refs = self.buffers.layer_views(0)
        if _is_cuda or _is_hip:
            self.data_ptrs = self.buffers.layer_addresses(0, self.device_pool.device)
        logger.info("Latent rows of %d layers: %s", self.layer_num, self.buffers.describe())
        return kv_buffer

    def _device_rows(self, device_pool: Any, layer: int) -> list[torch.Tensor]:
        return [device_rows(device_pool, "kv_buffer", layer)]

    def get_contiguous_buf_infos(self) -> tuple[list[int], list[int], list[int]]:
        """Give for each layer its address, its bytes, and the bytes of one page of it.

        Only the layout layer_first keeps a layer in one stretch.
        """
        self._check_alive()
        check_choice("layout for contiguous layers", self.layout, ("layer_first",))
        layers = range(self.layer_num)
        return (
            [self.kv_buffer[layer].data_ptr() for layer in layers],
            [self.kv_buffer[layer].nbytes for layer in layers],
            [self.token_stride_size * self.page_size for _ in layers],
        )


class MambaCache(Protocol):
    """The states that a Mamba device pool keeps: tensors (layers, slots, *shape)."""

    conv: list[torch.Tensor]
    temporal: torch.Tensor


class MambaDevicePool(Protocol):
    """A device pool of recurrent states: a slot holds what a request has come to."""

    size: int
    device: Any  # a torch.device, or the name of one
    num_mamba_layers: int

    @property
    def mamba_cache(self) -> MambaCache:
        """The states of all layers."""


class MambaPoolHost(HostKVCache):
    """States of recurrent layers: a slot is a request's state, and a page is one slot.

    Each layer has one temporal state and any number of convolution states, whose dtypes may differ;
    a model without temporal states has some of no element. `kv_buffer` lists `temporal_buffer` and
    all of `conv_buffer`. With L layers, S slots and states of the shape R, each of them is

    - layer_first: (L, S, *R), the state of slot t in layer l at [l, t]
    - page_first and page_first_direct: (S, L, 1, *R), at [t, l, 0]

    A flat page is uint8, `size_per_token` bytes: the temporal state of all layers, then each
    convolution of all layers.
    """

    pool_label = "mamba"
    device_pool: MambaDevicePool
    page_dtype = torch.uint8

    def __init__(
        self,
        device_pool: MambaDevicePool,
        host_to_device_ratio: float,
        host_size: float,
        pin_memory: bool = True,
        device: str = "cpu",
        allocator_type: str = "default",
        layout: str = "layer_first",
        *,
        pipeline_group: torch.distributed.ProcessGroup | None = None,
    ) -> None:
        super().__init__(
            device_pool,
            host_to_device_ratio,
            host_size,
            1,
            layout,
            pin_memory,
            device,
            allocator_type,
            pipeline_group=pipeline_group,
        )

    def _set_device_traits(self) -> None:
        pool = self.device_pool
        self.layer_num = check_int("device_pool.num_mamba_layers", pool.num_mamba_layers, 1)
        self.dtype = pool.mamba_cache.conv[0].dtype
        self.temporal_dtype = pool.mamba_cache.temporal.dtype
        self.start_layer = getattr(pool, "start_layer", 0)
        self.end_layer = self.start_layer + self.layer_num

    def get_size_per_token(self) -> int:
        """Give the bytes of one request's states, all layers."""
        states = self._states(self.device_pool)
        return sum(math.prod(state.shape[2:]) * state.itemsize for state in states) * self.layer_num

    def init_kv_buffer(self) -> list[torch.Tensor]:
        """Allocate a buffer for the temporal states and one for each convolution."""
        name = "layer_first" if self.layout == "layer_first" else "page_first_direct"
        parts = []
        for state in self._states(self.device_pool):
            row = tuple(state.shape[2:])
            layout = BufferLayout(name, self.layer_num, self.page_num, 1, row, state.dtype)
            parts.append((layout, self.memory.allocate(layout.dims(), state.dtype)))
        self.buffers = HostBuffers(*parts)
        logger.info("States of %d layers: %s", self.layer_num, self.buffers.describe())
        self.temporal_buffer, *self.conv_buffer = (buffer for _, buffer in parts)
        return [self.temporal_buffer, *self.conv_buffer]

    @staticmethod
    def _states(device_pool: Any) -> list[torch.Tensor]:
        cache = device_pool.mamba_cache
        return [cache.temporal, *cache.conv]

    def _device_rows(self, device_pool: Any, layer: int) -> list[torch.Tensor]:
        return [state[layer] for state in self._states(device_pool)]

    def get_page_buffer_meta(self, indices: torch.Tensor) -> tuple[list[int], list[int]]:
        """Give address and size of each slot's temporal state, then its convolutions.

        The layout layer_first does not keep a slot's states together.
        """
        check_choice("layout for page buffers", self.layout, _PAGE_MAJOR_LAYOUTS)
        return super().get_page_buffer_meta(indices)


class MHATokenToKOnlyPoolHost(SharedSlotPool):
    """Keys alone, such as those by which sparse attention chooses tokens, beside an anchor pool.

    `anchor_host` gives slots, pages and their number. With L layers, S slots, P pages of ps slots,
    H heads of D elements, `kv_buffer`, also `k_buffer`, is

    - layer_first: (L, S, H, D), token t of layer l at [l, t]
    - page_first: (S, L, H, D), at [t, l]
    - page_first_direct: (P, L, ps, H, D), at [t // ps, l, t % ps]

    A flat page has L * ps * H * D elements.
    """

    pool_label = "k_only"
    k_data_ptrs: torch.Tensor | None = None

    def __init__(
        self,
        device_pool: MHADevicePool,
        anchor_host: HostSlotPool,
        layout: str,
        pin_memory: bool = True,
        device: str = "cpu",
        allocator_type: str = "default",
    ) -> None:
        self._set_options(layout, pin_memory, device)
        self.device_pool = device_pool
        with self._reading("device_pool"):
            self.dtype, device_type = device_pool.store_dtype, device_pool.device
            self.start_layer, self.end_layer = device_pool.start_layer, device_pool.end_layer
            self.layer_num = device_pool.layer_num
            self.head_num, self.head_dim = device_pool.head_num, device_pool.head_dim
        self.size_per_token = self.get_ksize_per_token()
        with self._reading("anchor_host"):
            size, page_size = anchor_host.size, anchor_host.page_size
        requested = size * self.size_per_token
        super().__init__(size, page_size, requested, device_type, allocator_type)

    def get_ksize_per_token(self) -> int:
        """Give the bytes that the keys of one slot need."""
        self.token_stride_size = self.head_num * self.head_dim * self.dtype.itemsize
        return self.token_stride_size * self.layer_num

    def init_kv_buffer(self) -> torch.Tensor:
        """Allocate the keys."""
        row = (self.head_num, self.head_dim)
        layout = BufferLayout(
            self.layout, self.layer_num, self.page_num, self.page_size, row, self.dtype
        )
        self.k_buffer = self.memory.allocate(layout.dims(), self.dtype)
        self.buffers = HostBuffers((layout, self.k_buffer))
        self.k_data_refs = self.buffers.layer_views(0)
        if _is_cuda or _is_hip:
            self.k_data_ptrs = self.buffers.layer_addresses(0, self.device_pool.device)
        return self.k_buffer

    def _device_rows(self, device_pool: Any, layer: int) -> list[torch.Tensor]:
        return [device_rows(device_pool, "k_buffer", layer)]


class AsymmetricMHADevicePool(MHADevicePool, Protocol):
    """A device pool whose values are of another head size than its keys."""

    v_head_dim: int


class AsymmetricMHATokenToKVPoolHost(HostKVCache):
    """Keys and values of multi-head attention whose head sizes differ.

    `k_buffer` and `v_buffer` are two tensors, which `kv_buffer` lists. With L layers, S slots, P
    pages of ps slots, H heads of D elements, D another for keys than for values, each is

    - page_first: (S, L, H, D), token t of layer l at [t, l]
    - page_first_direct: (P, L, ps, H, D), at [t // ps, l, t % ps]

    A flat page holds the keys' page, then the values'; page buffers alternate likewise, each with a
    size of its own.
    """

    layouts = _PAGE_MAJOR_LAYOUTS
    io_layouts: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "kernel": ("page_first",),
        "direct": ("page_first_direct",),
    }
    device_pool: AsymmetricMHADevicePool

    def get_size_per_token(self) -> int:
        """Take the geometry from the device pool; give the bytes that one slot needs."""
        pool = self.device_pool
        self.head_num, self.layer_num = pool.head_num, pool.layer_num
        self.head_dim, self.v_head_dim = pool.head_dim, pool.v_head_dim
        width = self.head_dim + self.v_head_dim
        return self.head_num * width * self.dtype.itemsize * self.layer_num

    def get_ksize_per_token(self) -> int:
        """Give the bytes that the keys of one slot need."""
        return self.head_num * self.head_dim * self.dtype.itemsize * self.layer_num

    def init_kv_buffer(self) -> list[torch.Tensor]:
        """Allocate keys and values in two tensors."""
        parts = []
        for dim in (self.head_dim, self.v_head_dim):
            row = (self.head_num, dim)
            layout = BufferLayout(
                self.layout, self.layer_num, self.page_num, self.page_size, row, self.dtype
            )
            parts.append((layout, self.memory.allocate(layout.dims(), self.dtype)))
        self.buffers = HostBuffers(*parts)
        self.k_buffer, self.v_buffer = (buffer for _, buffer in parts)
        return [self.k_buffer, self.v_buffer]

    def _device_rows(self, device_pool: Any, layer: int) -> list[torch.Tensor]:
        return [device_rows(device_pool, name, layer) for name in ("k_buffer", "v_buffer")]


class HiSparseMHATokenToKVPoolHost(HiSparseHostPoolMixin, MHATokenToKVPoolHost):
    """Keys and values of sparse attention that keeps whole requests on the host."""


def get_mha_host_pool_cls(
    device_pool: MHADevicePool,
) -> type[MHATokenToKVPoolHost] | type[AsymmetricMHATokenToKVPoolHost]:
    """Give the class of host pool for a device pool of keys and values."""
    if getattr(device_pool, "v_head_dim", device_pool.head_dim) != device_pool.head_dim:
        return AsymmetricMHATokenToKVPoolHost
    return MHATokenToKVPoolHost


class LogicalHostPool(HostSlotPool):
    """Slots without memory, for caches whose rows lie in side pools alone.

    It anchors a group: its slots say which pages of the side pools belong together.
    """

    def __init__(self, size: int, page_size: int, layout: str = "layer_first") -> None:
        check_choice("layout", layout, ("layer_first", *_PAGE_MAJOR_LAYOUTS))
        super().__init__(size, page_size, layout)

    def load_to_device_per_layer(self, *args: Any, **options: Any) -> None:
        """Do nothing: there are no rows."""

    def backup_from_device_all_layer(self, *args: Any, **options: Any) -> None:
        """Do nothing: there are no rows."""

    def plan_load(self, *args: Any, **options: Any) -> list[Callable[[], None]]:
        """Give no copies: there are no rows."""
        return []

    def plan_backup(self, *args: Any, **options: Any) -> list[Callable[[], None]]:
        """Give no copies: there are no rows."""
        return []

    def get_data_page(self, index: int | torch.Tensor, flat: bool = True) -> torch.Tensor:
        """Give an empty page."""
        self._check_alive()
        check_page_start("index", index, self.size, self.page_size)
        return torch.empty(0, dtype=torch.uint8)

    def get_dummy_flat_data_page(self) -> torch.Tensor:
        """Give an empty page."""
        return torch.empty(0, dtype=torch.uint8)

    def set_from_flat_data_page(
        self, index: int | torch.Tensor, data_page: torch.Tensor, format_tag: str | None = None
    ) -> None:
        """Do nothing with an empty page; another is refused."""
        self._check_alive()
        check_page_start("index", index, self.size, self.page_size)
        if check_tensor("data_page", data_page, (torch.uint8,), 1).numel():
            raise ValueError(f"data_page must be empty, not of {data_page.numel()} bytes")

    def get_page_buffer_meta(self, indices: torch.Tensor) -> None:
        """Give None: no memory holds a page."""

    def get_hybrid_pool_buffer(self) -> list[torch.Tensor]:
        """Give no buffer."""
        return []

    def is_stride_page_aligned(self, page_size_bytes: int = 4096) -> bool:
        """Say no: there are no pages in memory."""
        return False


class _DeepSeekV4PagePool(HostBufferPool):
    """A pool whose row is a page's bytes, in whatever order a kernel packed them.

    With L layers, P pages and B = item_bytes bytes of a page in one layer, `kv_buffer` is uint8:

    - layer_first: a list of L tensors (P, B), page p at [p]
    - page_first: (P, L, B), page p of layer l at [p, l]
    - page_first_direct: (P, L, 1, B), at [p, l, 0]

    A flat page has L * B bytes. `size_per_token` is what one slot of a page comes to, rounded up.
    """

    rows_are_pages = True
    item_bytes: int
    device_buffers: list[torch.Tensor]

    def _set_up(self, num_host_pages: int, page_size: int, allocator_type: str) -> None:
        check_int("num_host_pages", num_host_pages, 1)
        self.layer_num = self.end_layer = len(self.device_buffers)
        page_bytes = self.item_bytes * self.layer_num
        self.size_per_token = round_up(page_bytes, page_size) // page_size
        device_type = self.device_buffers[0].device
        requested = num_host_pages * page_bytes
        HostBufferPool.__init__(
            self, num_host_pages * page_size, page_size, requested, device_type, allocator_type
        )

    def init_kv_buffer(self) -> torch.Tensor | list[torch.Tensor]:
        """Allocate the pages of all layers."""
        layout = BufferLayout(
            self.layout, self.layer_num, self.page_num, 1, (self.item_bytes,), torch.uint8
        )
        buffer = self.memory.allocate(layout.dims(), torch.uint8)
        self.buffers = HostBuffers((layout, buffer))
        return list(buffer.unbind(0)) if self.layout == "layer_first" else buffer

    def _device_rows(self, device_pool: Any, layer: int) -> list[torch.Tensor]:
        return [self.device_buffers[layer]]

    def _transfer(
        self,
        host_indices: torch.Tensor | None,
        device_indices: torch.Tensor | None,
        io_backend: str,
        lanes: list[tuple[torch.Tensor, torch.Tensor]],
    ) -> SlotTransfer:
        # A cache that has nothing to move passes None.
        none = torch.empty(0, dtype=torch.int64)
        host_indices = none if host_indices is None else host_indices
        device_indices = none if device_indices is None else device_indices
        return super()._transfer(host_indices, device_indices, io_backend, lanes)


def _check_page_rows(name: str, buffers: Sequence[Any], item_bytes: int) -> list[torch.Tensor]:
    """Give device buffers that are uint8 (pages, item_bytes), one a layer."""
    if not buffers:
        raise ValueError(f"{name} must hold a buffer for each layer, at least one")
    for layer, buffer in enumerate(buffers):
        check_tensor(f"{name}[{layer}]", buffer, (torch.uint8,), 2)
        if buffer.shape[1] != item_bytes:
            raise ValueError(
                f"{name}[{layer}] must have rows of {item_bytes} bytes, not {buffer.shape[1]}"
            )
    return list(buffers)


class DeepSeekV4PagedHostPool(_DeepSeekV4PagePool):
    """Pages of one of DeepSeek V4's caches, with slots of their own.

    `device_buffers` holds a uint8 tensor (pages, item_bytes) a layer. A page has `slot_page_size`
    slots, of which only whole pages are copied: values and scales lie apart in a page.
    """

    def __init__(
        self,
        pool_name: str,
        device_buffers: Sequence[torch.Tensor],
        item_bytes: int,
        num_host_pages: int,
        slot_page_size: int,
        layout: str = "layer_first",
        device: str = "cpu",
        pin_memory: bool = True,
        allocator_type: str = "default",
    ) -> None:
        self.pool_label = self.pool_name = pool_name
        self._set_options(layout, pin_memory, device)
        self.item_bytes = check_int("item_bytes", item_bytes, 1)
        self.device_buffers = _check_page_rows("device_buffers", device_buffers, item_bytes)
        self.slot_page_size = check_int("slot_page_size", slot_page_size, 1)
        self._set_up(num_host_pages, slot_page_size, allocator_type)

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """Give `need_size` slots, rounded up to whole pages; None if there are not so many."""
        return super().alloc(round_up(check_int("need_size", need_size, 0), self.page_size))


class DeepSeekV4StatePool(Protocol):
    """A layer's compressor states on the device: `ring_size` slots for each page of the window.

    `state_buffer` is contiguous; its first dimension is the slot.
    """

    ring_size: int
    state_buffer: torch.Tensor


class DeepSeekV4StateHostPool(SharedSlotPool, _DeepSeekV4PagePool):
    """Compressor states of DeepSeek V4's layers, at the slots of the sliding-window pool.

    `state_pools` holds a device pool a layer, all of one shape. A page of `swa_page_size` slots
    owns ring_size states, which are its row here.
    """

    def __init__(
        self,
        pool_name: str,
        state_pools: Sequence[DeepSeekV4StatePool | None],
        num_host_pages: int,
        swa_page_size: int,
        layout: str = "layer_first",
        device: str = "cpu",
        pin_memory: bool = True,
        allocator_type: str = "default",
    ) -> None:
        self.pool_label = self.pool_name = pool_name
        self._set_options(layout, pin_memory, device)
        self.swa_page_size = check_int("swa_page_size", swa_page_size, 1)
        rows = [_state_rows(layer, pool) for layer, pool in enumerate(state_pools)]
        self.item_bytes = rows[0].shape[1] if rows else 0
        self.device_buffers = _check_page_rows("state_pools", rows, self.item_bytes)
        self._set_up(num_host_pages, swa_page_size, allocator_type)


def _state_rows(layer: int, pool: DeepSeekV4StatePool | None) -> torch.Tensor:
    """View a layer's states as uint8 (pages, bytes)."""
    if pool is None:
        raise ValueError(f"state_pools must not hold None, as for layer {layer}")
    ring_size = check_int(f"state_pools[{layer}].ring_size", pool.ring_size, 1)
    states = pool.state_buffer
    if not states.is_contiguous() or len(states) % ring_size:
        raise ValueError(
            f"state_pools[{layer}].state_buffer must be contiguous, with whole rings of "
            f"{ring_size} states, not of the shape {tuple(states.shape)}"
        )
    return states.view(torch.uint8).view(len(states) // ring_size, -1)


class DSADevicePool(DevicePool, Protocol):
    """A device pool whose indexer has keys with scales: uint8 (pages, bytes), one a layer."""

    layer_num: int
    index_head_dim: int
    quant_block_size: int
    index_k_with_scale_buffer: list[torch.Tensor]


# A scale is a float32 for each quantised block of a key.
_SCALE_BYTES = 4


class DSAIndexerPoolHost(SharedSlotPool):
    """Keys and scales by which DeepSeek's sparse attention chooses tokens, beside an MLA pool.

    `anchor_host` gives slots, pages and their number. A row is a page of ps slots: their keys, then
    their scales, B = ps * (index_head_dim + index_head_dim // quant_block_size * 4) bytes. With L
    layers and P pages, `kv_buffer`, also `index_k_with_scale_buffer`, is uint8:

    - layer_first: (L, P, B), page p of layer l at [l, p]
    - page_first and page_first_direct: (P, L, 1, B), at [p, l, 0]

    `indexer_size_per_token` is the bytes of a slot in one layer, `indexer_page_stride` is B, and
    `size_per_token` the bytes of a slot in all layers. Keys that another kernel packed otherwise
    are copied as well, for nothing looks into a page.
    """

    rows_are_pages = True
    pool_label = "indexer"
    index_k_data_ptrs: torch.Tensor | None = None

    def __init__(
        self,
        device_pool: DSADevicePool,
        anchor_host: MLATokenToKVPoolHost,
        layout: str,
        pin_memory: bool = True,
        device: str = "cpu",
        allocator_type: str = "default",
    ) -> None:
        self._set_options(layout, pin_memory, device)
        self.device_pool = device_pool
        with self._reading("device_pool"):
            self.start_layer, self.end_layer = device_pool.start_layer, device_pool.end_layer
            self.layer_num, device_type = device_pool.layer_num, device_pool.device
            self.index_head_dim = device_pool.index_head_dim
            self.quant_block_size = device_pool.quant_block_size
        if self.index_head_dim % self.quant_block_size:
            raise ValueError(
                f"device_pool.index_head_dim must be whole blocks of {self.quant_block_size}, not "
                f"{self.index_head_dim}"
            )
        self.size_per_token = self.get_size_per_token()
        with self._reading("anchor_host"):
            size, page_size = anchor_host.size, anchor_host.page_size
        requested = size * self.size_per_token
        super().__init__(size, page_size, requested, device_type, allocator_type)
        self.indexer_page_num = self.page_num

    def get_size_per_token(self) -> int:
        """Give the bytes that one slot needs: a key and its scales in every layer."""
        blocks = self.index_head_dim // self.quant_block_size
        self.indexer_size_per_token = self.index_head_dim + blocks * _SCALE_BYTES
        return self.indexer_size_per_token * self.layer_num

    def init_kv_buffer(self) -> torch.Tensor:
        """Allocate the pages of all layers."""
        self.indexer_page_stride = self.indexer_size_per_token * self.page_size
        name = "layer_first" if self.layout == "layer_first" else "page_first_direct"
        row = (self.indexer_page_stride,)
        layout = BufferLayout(name, self.layer_num, self.page_num, 1, row, torch.uint8)
        buffer = self.memory.allocate(layout.dims(), torch.uint8)
        self.index_k_with_scale_buffer = buffer
        self.buffers = HostBuffers((layout, buffer))
        self.index_k_data_refs = self.buffers.layer_views(0)
        if _is_cuda or _is_hip:
            self.index_k_data_ptrs = self.buffers.layer_addresses(0, self.device_pool.device)
        logger.info("Index keys of %d layers: %s", self.layer_num, self.buffers.describe())
        return buffer

    def _device_rows(self, device_pool: Any, layer: int) -> list[torch.Tensor]:
        return [device_rows(device_pool, "index_k_with_scale_buffer", layer)]


@dataclass
class PoolEntry:
    """A pool of a group.

    `layer_mapper` gives the pool's local layer for a layer of the model, None where it has none.
    `host_evict_fn` and `device_evict_fn` make room for that many slots; `device_alloc_fn` and
    `device_free_fn` give and take slots of the device pool.
    """

    name: str
    host_pool: Any
    device_pool: Any
    layer_mapper: Callable[[int], int | None]
    is_primary_index_anchor: bool = False
    host_evict_fn: Callable[[int], Any] | None = None
    device_evict_fn: Callable[[int], Any] | None = None
    device_alloc_fn: Callable[[int], torch.Tensor | None] | None = None
    device_free_fn: Callable[[torch.Tensor], Any] | None = None


@dataclass
class PoolTransfer:
    """What a side pool copies along with its group; without host slots, nothing."""

    name: str
    host_indices: torch.Tensor | None = None
    device_indices: torch.Tensor | None = None


class HostPoolGroup:
    """Pools that back one cache together, such as latent rows and the indexer's keys.

    The anchor's slots are the group's: it alone gives them out and takes them back, and storage
    asks it for pages. Side pools take part in transfers; those with slots of their own are
    allocated by `resolve_host_transfers`.
    """

    def __init__(self, entries: Sequence[PoolEntry]) -> None:
        if not entries:
            raise ValueError("entries must hold at least one pool")
        self.entries: list[PoolEntry] = []
        self.entry_map: dict[str, PoolEntry] = {}
        for entry in entries:
            self.add_entry(entry)
        primary = [entry for entry in self.entries if entry.is_primary_index_anchor]
        self.anchor_entry = primary[0] if primary else self.entries[0]

    def add_entry(self, entry: PoolEntry) -> None:
        """Add a side pool, or in the making of a group its anchor."""
        if entry.name in self.entry_map:
            raise ValueError(f"entries must differ in name; {entry.name} is there twice")
        anchors = [known.name for known in self.entries if known.is_primary_index_anchor]
        if anchors and entry.is_primary_index_anchor:
            raise ValueError(f"entries must have one anchor, not {anchors[0]} and {entry.name}")
        self.entries.append(entry)
        self.entry_map[entry.name] = entry

    def get_entry(self, name: str) -> PoolEntry:
        """Give the entry of that name."""
        if name not in self.entry_map:
            raise ValueError(f"name must be one of {', '.join(self.entry_map)}, not {name}")
        return self.entry_map[name]

    def get_pool(self, name: str) -> Any:
        """Give the host pool of that name."""
        return self.get_entry(name).host_pool

    @property
    def anchor(self) -> Any:
        """The pool whose slots are the group's."""
        return self.anchor_entry.host_pool

    @property
    def can_use_write_back_jit(self) -> bool:
        """Whether every pool can."""
        return all(entry.host_pool.can_use_write_back_jit for entry in self.entries)

    def __getattr__(self, name: str) -> Any:
        # Geometry and page methods are the anchor's. Private names are asked for by copying and
        # pickling, before there is an anchor.
        if name.startswith("_") or name == "anchor_entry":
            raise AttributeError(name)
        return getattr(self.anchor, name)

    def alloc(self, need_size: int) -> torch.Tensor | None:
        """Give slots of the anchor; `HostSlotPool.alloc` says how."""
        slots: torch.Tensor | None = self.anchor.alloc(need_size)
        return slots

    def free(self, indices: torch.Tensor) -> int:
        """Release slots of the anchor; `HostSlotPool.free` says how."""
        return int(self.anchor.free(indices))

    def available_size(self) -> int:
        """Give the number of slots that the anchor can give out."""
        return int(self.anchor.available_size())

    def clear(self) -> None:
        """Take all slots of every pool back."""
        for entry in self.entries:
            entry.host_pool.clear()

    def destroy(self) -> None:
        """Destroy every pool; a second call does nothing."""
        if _is_cuda or _is_hip:
            current_stream().synchronize()
        for entry in self.entries:
            entry.host_pool.destroy()

    def load_to_device_per_layer(
        self,
        device_pool: Any,
        host_indices: torch.Tensor,
        device_indices: torch.Tensor,
        layer_id: int,
        io_backend: str,
        pool_transfers: Sequence[PoolTransfer] | None = None,
        *,
        is_draft: bool = False,
    ) -> None:
        """Copy what the pools keep for a layer of the model: the anchor's, then each transfer's.

        A pool without this layer is passed over. Device pools are those of the entries;
        `device_pool` is not used. Nothing is copied unless all of it is as it must be.
        """
        copies: list[Callable[[], None]] = []
        for entry, host, device in self._work(host_indices, device_indices, pool_transfers):
            layer = entry.layer_mapper(layer_id)
            if layer is not None:
                copies += entry.host_pool.plan_load(
                    entry.device_pool, host, device, layer, io_backend, is_draft=is_draft
                )
        for copy in copies:
            copy()

    def backup_from_device_all_layer(
        self,
        device_pool: Any,
        host_indices: torch.Tensor,
        device_indices: torch.Tensor,
        io_backend: str,
        pool_transfers: Sequence[PoolTransfer] | None = None,
    ) -> None:
        """Copy what the pools keep for all layers: the anchor's rows, then each transfer's."""
        copies: list[Callable[[], None]] = []
        for entry, host, device in self._work(host_indices, device_indices, pool_transfers):
            copies += entry.host_pool.plan_backup(entry.device_pool, host, device, io_backend)
        for copy in copies:
            copy()

    def _work(
        self,
        host_indices: torch.Tensor,
        device_indices: torch.Tensor,
        transfers: Sequence[PoolTransfer] | None,
    ) -> list[tuple[PoolEntry, torch.Tensor, torch.Tensor | None]]:
        work: list[tuple[PoolEntry, torch.Tensor, torch.Tensor | None]] = [
            (self.anchor_entry, host_indices, device_indices)
        ]
        for transfer in transfers or ():
            entry = self.get_entry(transfer.name)
            if entry is self.anchor_entry:
                raise ValueError(f"pool_transfers must name side pools, not {entry.name}")
            if transfer.host_indices is not None:
                work.append((entry, transfer.host_indices, transfer.device_indices))
        return work

    def resolve_host_transfers(self, sizes: Mapping[str, int]) -> dict[str, torch.Tensor] | None:
        """Give slots of side pools, `sizes` says how many of which; all of them or None.

        Pools are asked in the order of their names, so that every rank does the same. One that is
        short is asked to evict once.
        """
        found: dict[str, torch.Tensor] = {}
        try:
            for name in sorted(sizes):
                entry = self.get_entry(name)
                slots = entry.host_pool.alloc(sizes[name])
                if slots is None and entry.host_evict_fn is not None:
                    entry.host_evict_fn(sizes[name])
                    slots = entry.host_pool.alloc(sizes[name])
                if slots is None:
                    logger.warning("The side pool %s has no %d slots left", name, sizes[name])
                    break
                found[name] = slots
        finally:
            whole = len(found) == len(sizes)
            if not whole:
                self.release_transfers(found)
        return found if whole else None

    def release_transfers(self, slots: Mapping[str, torch.Tensor]) -> None:
        """Release slots that `resolve_host_transfers` gave."""
        for name in sorted(slots):
            self.get_pool(name).free(slots[name])


def split_hicache_size(host_size: float, device_bytes: Sequence[int]) -> list[float]:
    """Split a size in GB among pools, in proportion to their bytes on the device.

    The parts are whole bytes and sum to the whole: a size given once must not be taken twice.
    """
    total = sum(check_int("device_bytes", size, 0) for size in device_bytes)
    if total == 0:
        raise ValueError("device_bytes must hold a pool that has bytes on the device")
    whole = round(host_size * 1e9)
    ends = [0]
    for size in device_bytes:
        ends.append(ends[-1] + size)
    return [
        (whole * stop // total - whole * start // total) / 1e9 for start, stop in pairwise(ends)
    ]
