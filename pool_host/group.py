"""Host pools that back one cache together."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch

from pool_host.common import check_int

logger = logging.getLogger(__name__)

_is_cuda = torch.cuda.is_available() and torch.version.cuda is not None
_is_hip = torch.cuda.is_available() and torch.version.hip is not None

if _is_cuda or _is_hip:
    from torch.cuda import current_stream


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
        return self.anchor.alloc(need_size)  # type: ignore[no-any-return]  # no line after

    def alloc_contiguous_preferred(self, need_size: int) -> torch.Tensor | None:
        """Give slots of the anchor in as few runs as there can be."""
        return self.anchor.alloc_contiguous_preferred(need_size)  # type: ignore[no-any-return]

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
        found: dict[str, Any] = {}
        try:
            for name in sorted(sizes):
                entry = self.get_entry(name)
                # What is given is noted on the same line: an interrupt comes before or after both.
                found[name] = entry.host_pool.alloc(sizes[name])
                if found[name] is None and entry.host_evict_fn is not None:
                    entry.host_evict_fn(sizes[name])
                    found[name] = entry.host_pool.alloc(sizes[name])
                if found[name] is None:
                    del found[name]
                    logger.warning("The side pool %s has no %d slots left", name, sizes[name])
                    break
            if len(found) == len(sizes):
                return found
            self._release_all(found)
        except BaseException:
            self._release_all(found)
            raise
        return None

    def _release_all(self, found: dict[str, Any]) -> None:
        """Release slots of side pools, and forget each when that is done."""
        for name in sorted(found):
            pool, slots = self.get_pool(name), found[name]
            # fmt: off
            if slots is not None: pool.free(slots); del found[name]  # noqa: E701, E702  both
            # fmt: on

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
