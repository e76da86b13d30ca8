"""Host memory: where it comes from, how it is pinned, and how much of it there is."""

from __future__ import annotations

import ctypes
import logging
import math
import mmap
import os
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch

logger = logging.getLogger(__name__)

_is_cuda = torch.cuda.is_available() and torch.version.cuda is not None
_is_hip = torch.cuda.is_available() and torch.version.hip is not None

if _is_cuda or _is_hip:
    from torch.cuda import cudart, current_stream
_is_linux = sys.platform == "linux"


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


def round_up(value: int, unit: int) -> int:
    """Give the least multiple of `unit` that is not below `value`."""
    return -(-value // unit) * unit


_HUGE_PAGE_BYTES = {"2MB": 2 * 1024**2, "1GB": 1024**3}
# From Linux's mman.h: take huge pages, whose size stands as a power of two above this bit.
_MAP_HUGETLB = 0x40000
_MAP_HUGE_SHIFT = 26
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


def _close_all(descriptors: list[int]) -> None:
    while descriptors:
        os.close(descriptors.pop())


class ShmHostTensorAllocator(HostTensorAllocator):
    """Gives tensors over memory that other processes can map, by file descriptor.

    `fds` and `mms` list the descriptors and mappings in the order of allocation. Descriptors are
    closed with the allocator, or by `close`; a process that mapped them keeps the memory.
    """

    def __init__(self) -> None:
        super().__init__()
        self.fds: list[int] = []
        self.mms: list[mmap.mmap] = []
        weakref.finalize(self, _close_all, self.fds)  # also when a pool is dropped

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
        _close_all(self.fds)
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
