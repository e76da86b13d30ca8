"""How rows lie in host buffers, and how they are copied to and from a device."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch

from pool_host.common import check_int, check_tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Words of this size are what copy kernels move, so a row must be made of whole ones.
_KERNEL_WORD_BYTES = 8


class SlotError(ValueError, AssertionError):
    """Slots that cannot be given out or released as asked.

    Also an `AssertionError`, since that is what callers of SGLang's pools expect.
    """


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

    def pairs(
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
