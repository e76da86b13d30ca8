"""Host-memory pools of a tiered KV cache.

A device pool holds the cache rows that attention reads. A host pool holds more of them in ordinary
memory: rows are backed up to it, loaded from it layer by layer, and its pages are what a storage
back end reads and writes. Each family of caches has a pool here; names and shapes are those of
SGLang 0.5.18, and so are signatures, but for those that `docs/sglang.md` lists. `pool_host.sglang`
has SGLang's own pools keep their slots as these do.

Words used throughout:

- slot: the place of one token (or of one request's state), an int64 index from 0.
- page: `page_size` consecutive slots; page p holds the slots p * page_size and up. Slots are given
  out, released and stored by whole pages.
- run: slots that step by one; a `direct` transfer makes one copy of it. An extent is a run of free
  pages that nothing can extend.
- layer: local to the pool, from 0; `start_layer` says which layer of the model that is.
- row: what one layer keeps for one slot.
- layout: in which order a host buffer holds layers, pages and rows; see `BufferLayout`.
- io backend: how rows are copied. `kernel` gathers and scatters rows by index; `direct` copies
  stretches in which host and device slots both step by one, and takes whole pages only.

Copies to and from a CUDA device are queued on the current stream where host memory is pinned. Until
that stream has come past them, slots that take part in a transfer must not be released, and host
pages not be read by another thread.
"""

from pool_host.base import HostKVCache
from pool_host.common import HostTensorAllocator
from pool_host.group import HostPoolGroup, PoolEntry

__all__ = ["HostKVCache", "HostPoolGroup", "HostTensorAllocator", "PoolEntry"]
