"""What a cache says of itself: its tiers, its transfers, its storage."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hicache.statistics import TransferSummary

if TYPE_CHECKING:
    from hicache.radix_tree import HiRadixCache
    from pool_host.statistics import AllocatorStats


@dataclass(frozen=True, slots=True)
class TierSummary:
    """A tier in slots, what was evicted from it, and what its allocator says of itself."""

    slots: int
    free: int
    evictions: int
    evicted_pages: int
    allocator: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CacheSummary:
    """The state of a cache, read in constant time.

    `refused` pages of storage were not believed; `unwritten` ones that were to be written to it
    were not: it failed, was late or full, or they had to leave the host before their turn.
    """

    tiers: dict[str, TierSummary]
    transfers: dict[str, TransferSummary]
    refused: int
    unwritten: int

    @classmethod
    def of(cls, cache: HiRadixCache) -> CacheSummary:
        """Read what a cache, its transfers, pools and storage count; from any thread."""
        controller, evictions = cache.controller, cache.evictions
        pools: dict[str, Any] = {
            "device": controller.mem_pool_device_allocator,
            "host": controller.mem_pool_host,
        }
        tiers = {
            name: TierSummary(
                pool.size,
                pool.available_size(),
                evictions[name].times,
                evictions[name].pages,
                allocator_table(pool),
            )
            for name, pool in pools.items()
        }
        refused = controller.storage.refused if controller.storage is not None else 0
        return cls(tiers, controller.stats.summary(), refused, controller.stats.unwritten)

    def as_dict(self) -> dict[str, Any]:
        """Give everything by name, in types that JSON has."""
        return {
            "tiers": {name: dataclasses.asdict(tier) for name, tier in self.tiers.items()},
            "transfers": {kind: entry.as_dict() for kind, entry in self.transfers.items()},
            "refused": self.refused,
            "unwritten": self.unwritten,
        }


def allocator_table(pool: Any) -> dict[str, Any]:
    """Give what a pool's `AllocatorStats` holds, its derived figures included."""
    stats: AllocatorStats = pool.stats()
    return {
        **dataclasses.asdict(stats),
        "runs_per_allocation": stats.runs_per_allocation,
        "pages_per_run": stats.pages_per_run,
        "fragmentation": stats.fragmentation,
    }
