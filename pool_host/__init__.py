"""Host-memory pools of a tiered KV cache."""

from pool_host.base import HostKVCache
from pool_host.common import HostTensorAllocator

__all__ = ["HostKVCache", "HostTensorAllocator"]
