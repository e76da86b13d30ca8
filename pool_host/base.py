"""A host pool: its rows, and how large it is."""

from __future__ import annotations

import functools
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import torch

from pool_host.buffers import HostBuffers, SlotTransfer
from pool_host.common import HostMemory, check_amount, check_choice, check_int
from pool_host.slot_allocator import SlotAllocator
from pool_host.slot_pool import HostSlotPool, synchronized

logger = logging.getLogger(__name__)

_is_cuda = torch.cuda.is_available() and torch.version.cuda is not None
_is_hip = torch.cuda.is_available() and torch.version.hip is not None

if _is_cuda or _is_hip:
    from torch.cuda import current_stream

# Left for the operating system and for whatever else runs on the machine.
HICACHE_HOST_MEMORY_RESERVE_BYTES = 10 * 1024**3

# These keep a page in one stretch of memory.
_PAGE_MAJOR_LAYOUTS = ("page_first", "page_first_direct")


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
                self.buffers.pairs(layer, self._device_rows(self.device_pool, layer), False)
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

    @synchronized
    def destroy(self) -> None:
        """Unpin and drop the buffers and give up all slots; a second call does nothing.

        One after an interrupt does what is left to do.
        """
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
        pairs = self._pairs(device_pool, layer_id, io_backend)
        transfer = self._transfer(host_indices, device_indices, io_backend, pairs)
        return [functools.partial(transfer.load, pages, rows) for pages, rows in pairs]

    def plan_backup(
        self,
        device_pool: Any,
        host_indices: torch.Tensor,
        device_indices: torch.Tensor,
        io_backend: str,
    ) -> list[Callable[[], None]]:
        """Check a backup and give its copies, for a caller who has others to check first."""
        pairs = []
        for layer in range(self.layer_num):
            pairs += self._pairs(device_pool, layer, io_backend)
        transfer = self._transfer(host_indices, device_indices, io_backend, pairs)
        return [functools.partial(transfer.store, pages, rows) for pages, rows in pairs]

    def _pairs(
        self, device_pool: Any, layer: int, io_backend: str
    ) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Pair the host pages of a layer with the device rows that they are copied to or from."""
        self._check_alive()
        supported = self.io_layouts[check_choice("IO backend", io_backend, tuple(self.io_layouts))]
        check_choice(f"layout of io_backend {io_backend}", self.layout, supported)
        by_word = io_backend == "kernel"
        return self.buffers.pairs(layer, self._device_rows(device_pool, layer), by_word)

    def _transfer(
        self,
        host_indices: torch.Tensor,
        device_indices: torch.Tensor,
        io_backend: str,
        pairs: list[tuple[torch.Tensor, torch.Tensor]],
    ) -> SlotTransfer:
        unit = self.page_size if self.rows_are_pages else 1
        return SlotTransfer.checked(
            self.pool_label,
            (host_indices, self.size),
            (device_indices, min((rows.shape[0] for _, rows in pairs), default=0) * unit),
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
    a size in GB becomes the smallest number of slots among its stages. A `pool_label` names it in
    messages, and in the tag of its pages' format.

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
        pool_label: str | None = None,
        pipeline_group: torch.distributed.ProcessGroup | None = None,
    ) -> None:
        check_int("page_size", page_size, 1)
        if pool_label is not None:
            self.pool_label = pool_label
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
    """A pool whose slots are another's, which alone gives them out, takes them back and counts.

    Whatever asks this one for slots is refused with NotImplementedError.
    """

    @functools.cached_property
    def _slots(self) -> SlotAllocator:
        raise NotImplementedError(
            f"The slots of a {type(self).__name__} are another pool's: ask that one"
        )

    def clear(self) -> None:
        """Do nothing: there are no slots of its own."""
