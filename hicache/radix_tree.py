"""The radix tree: which pages of which prefix lie on which tier, and who may not be evicted.

An edge is a page of token ids, so a node is a page and is never split. Each node lies on the
device, on the host, or on both; a node on neither is no longer in the tree. All methods are for the
scheduler's thread.

What is in flight stays: a page is locked on both its ends until its transfer was taken back from
the controller, and a page counts as backed up only then. Evicting from the device a page that has
no backup loses it; a page whose backup is pending is not evicted at all.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from hicache.cache_controller import HiCacheController
from hicache.nodes import Tier, TreeNode, descendants, hold, page_on, release
from hicache.pages import page_key, page_keys, page_slots, page_tokens, pages_of, root_key
from hicache.room import FreeRoom
from hicache.statistics import Evictions
from hicache.transfers import Backup, Load, Prefetch, Transfer
from hicache.unstored import UnstoredPages


@dataclass(frozen=True, slots=True)
class Match:
    """The path of nodes that a request's prefix has in the tree, from the first page on."""

    nodes: tuple[TreeNode, ...]
    page_size: int

    def on_device(self) -> tuple[TreeNode, ...]:
        """Give the leading nodes that lie on the device, or are being loaded to it."""
        return tuple(itertools.takewhile(lambda node: node.device.page is not None, self.nodes))

    def device_indices(self) -> torch.Tensor:
        """Give the device slots of those nodes: int64, shape (nodes * page_size,), on the CPU."""
        return page_slots([page_on(node.device) for node in self.on_device()], self.page_size)

    def loads(self) -> tuple[Load, ...]:
        """Give the loads that those nodes still wait for."""
        found = {node.loading: None for node in self.on_device() if node.loading is not None}
        return tuple(found)


@dataclass(frozen=True, slots=True)
class _Sought:
    """The pages of tokens that a prefetch is for; those before `first` were in the tree."""

    pages: list[tuple[int, ...]]
    first: int
    extra_key: str | None


class HiRadixCache:
    """Pages of prefixes on the device, backed up to the host and from there to storage.

    Every page that is inserted is written through: to the host at once, to storage (if the
    controller has one) when it has arrived there. Who needs pages of a full tier makes others
    leave it, and as many more as `room` says; `evictions` counts them by tier.
    """

    def __init__(self, controller: HiCacheController, room: FreeRoom | None = None) -> None:
        """Make an empty tree. Prefixes of each `extra_key` have a root of their own."""
        self.controller = controller
        self.room = room or FreeRoom()
        self.evictions = {"device": Evictions(), "host": Evictions()}
        self.page_size = controller.page_size
        self.device = Tier("device")
        self.host = Tier("host")
        self._clock = 0
        self._numbers = itertools.count()
        self._roots: dict[str, TreeNode] = {}
        self._unstored = UnstoredPages(self.controller)
        self._ends: dict[str, Callable[..., None]] = {
            "write": self._write_ended,
            "load": self._load_ended,
            "backup": self._backup_ended,
            "prefetch": self._prefetch_ended,
        }

    # Requests

    def match_prefix(self, tokens: Sequence[int], extra_key: str | None = None) -> Match:
        """Give the longest path of whole pages of `tokens` that lies on device or host.

        Of pages that were inserted under the same `extra_key`: see `hicache.pages.root_key`.
        """
        self._clock += 1
        node, path = self._roots.get(root_key(extra_key)), list[TreeNode]()
        for page in page_tokens(tokens, self.page_size):
            node = node and node.children.get(page)
            if node is None:
                break
            node.last_access = self._clock
            path.append(node)
        return Match(tuple(path), self.page_size)

    def lock(self, match: Match) -> None:
        """Keep a path from eviction on both tiers, until as many calls of `unlock`."""
        for node in match.nodes:
            hold(node)

    def unlock(self, match: Match) -> None:
        """Undo one `lock` of the same match."""
        for node in match.nodes:
            release(node)

    def load_back(self, match: Match) -> Load | None:
        """Start to load those nodes of a locked match that lie on the host alone.

        As many as the device has room for, from the first, pages evicted for them included. None if
        there is nothing to load or no room. The pages count as on the device from now on; who
        reads them waits for `match.loads()`.
        """
        nodes = [node for node in match.nodes if node.device.page is None]
        self.make_device_room(len(nodes) * self.page_size)
        room = self.controller.mem_pool_device_allocator.available_size() // self.page_size
        nodes = nodes[:room]
        if not nodes:
            return None
        slots = page_slots([page_on(node.host) for node in nodes], self.page_size)
        load = self.controller.load(slots, tag=nodes)
        if load is None:
            return None
        for node, page in zip(nodes, self._pages(load.device_indices), strict=True):
            self.device.put(node, page)
            node.loading = load
            hold(node)
        return load

    def insert(
        self, tokens: Sequence[int], device_indices: torch.Tensor, extra_key: str | None = None
    ) -> int:
        """Take over the device pages that hold `tokens`, and start to write them through.

        Also those above that a lower tier should have and has not: what failed once is tried again.

        `device_indices` are whole pages from the first token on, those of a match included. A page
        that the tree has already is given back, unless it is the very same. Gives the number of
        pages that are new. Raises `ValueError`, before anything is changed, for slots that are not
        allocated pages, and for fewer tokens than slots.
        """
        allocator = self.controller.mem_pool_device_allocator
        pages = allocator.check_in_use(device_indices, "device_indices")
        if len(tokens) < device_indices.numel():
            raise ValueError(
                f"tokens: expected one for each of {device_indices.numel()} slots, "
                f"got {len(tokens)}"
            )
        self.poll()  # what has ended since may be evicted again, and so make room for backups
        self._clock += 1
        node, path, new = self._root(extra_key), list[TreeNode](), 0
        spare: list[int] = []
        contents = page_tokens(tokens, self.page_size)[: len(pages)]
        for content, page in zip(contents, pages, strict=True):
            node = node.children.get(content) or self._grow(node, content)
            node.last_access = self._clock
            if node.device.page is None:
                self.device.put(node, page)
                new += 1
            elif node.device.page != page:
                spare.append(page)
            path.append(node)
        if spare:
            self.controller.evict_device(page_slots(spare, self.page_size))
        self._write_through(path)
        return new

    # Room

    def evict(self, num_tokens: int) -> int:
        """Take pages of at least `num_tokens` from the device if so many can go; give the slots.

        Least recently used first, and none that is locked or in flight. Pages that are backed up
        stay on the host; others are lost, and with them what lies below them on the host alone.
        """
        return self._evict(self.device, num_tokens)

    def evict_host(self, num_tokens: int) -> int:
        """Take pages of at least `num_tokens` from the host if so many can go; give the slots.

        Least recently used first, and none that is locked or in flight.
        """
        return self._evict(self.host, num_tokens)

    def make_device_room(self, num_tokens: int) -> bool:
        """Evict as `room` says, wait for backups if need be; False if there still are too few."""
        allocator = self.controller.mem_pool_device_allocator
        self._make_room(self.device, num_tokens)
        while num_tokens > allocator.available_size():
            if not self.controller.is_device_busy:
                return False
            self.poll(wait=True)
            self._make_room(self.device, num_tokens)
        return True

    def alloc_device(self, num_tokens: int) -> torch.Tensor | None:
        """Give device slots, whole pages, evicting for them; None if there is no room."""
        if not self.make_device_room(num_tokens):
            return None
        return self.controller.mem_pool_device_allocator.alloc(num_tokens)

    # Storage

    def prefetch(self, tokens: Sequence[int], extra_key: str | None = None) -> Prefetch | None:
        """Start to bring what follows the match of `tokens` from storage to the host.

        None if storage has nothing of it, or the host no room. The pages join the tree when
        `poll` takes the prefetch back, if the path above them is still there.
        """
        if self.controller.storage is None:
            return None
        path = self.match_prefix(tokens, extra_key)
        above = len(path.nodes)
        parent = path.nodes[-1].key if path.nodes else root_key(extra_key)
        keys = page_keys(tokens[above * self.page_size :], self.page_size, parent)
        keys = keys[: self.controller.count_stored(keys)]
        if not keys:
            return None
        self.lock(path)
        self._make_room(self.host, len(keys) * self.page_size)
        self.unlock(path)
        sought = _Sought(page_tokens(tokens, self.page_size), above, extra_key)
        return self.controller.prefetch(keys, tag=sought)

    # Ends

    def poll(self, *, wait: bool = False) -> list[Transfer]:
        """Take back what has ended and note where pages lie now; give the transfers.

        With `wait` at least one, if any is open.
        """
        ended = self.controller.finished(wait=wait)
        for transfer in ended:
            self._ends[transfer.kind](transfer)
        self._unstored.start()
        return ended

    def flush(self) -> None:
        """Wait until nothing is in flight: all that could be written through has been."""
        while self.controller.open_transfers:
            self.poll(wait=True)

    def reset(self) -> None:
        """Forget every page and give them all back, once nothing is in flight.

        Raises `RuntimeError`, and forgets nothing, while a match is locked.
        """
        self.flush()
        nodes = list(self.nodes())
        if any(node.device.locks or node.host.locks for node in nodes):
            raise RuntimeError("pages are locked by a request, so the tree cannot be reset")
        for tier, give_back in (
            (self.device, self.controller.evict_device),
            (self.host, self.controller.evict_host),
        ):
            pages = [page_on(tier.at(node)) for node in nodes if tier.at(node).page is not None]
            give_back(page_slots(pages, self.page_size))
        self.device, self.host = Tier("device"), Tier("host")
        self._roots.clear()
        self._unstored = UnstoredPages(self.controller)

    def nodes(self) -> Iterator[TreeNode]:
        """Give every node but the roots, parents before children."""
        for root in list(self._roots.values()):
            yield from descendants(root)

    def _root(self, extra_key: str | None) -> TreeNode:
        """Give a root, whose children the caller adds at once."""
        key = root_key(extra_key)
        if key not in self._roots:
            self._roots[key] = TreeNode(next(self._numbers), (), None, key)
        return self._roots[key]

    def _grow(self, parent: TreeNode, tokens: tuple[int, ...]) -> TreeNode:
        """Add a node, which the caller gives a page at once."""
        node = TreeNode(next(self._numbers), tokens, parent, page_key(parent.key, tokens))
        parent.children[tokens] = node
        return node

    def _write_through(self, path: list[TreeNode]) -> None:
        """Start to bring what a lower tier has not yet of a path there.

        To the host as many pages as it has or can make room for, from the first.
        """
        if self.controller.is_closed:
            return
        nodes = [n for n in path if not n.backed_up and not n.backing_up and n.loading is None]
        pool = self.controller.mem_pool_host
        for node in path:
            hold(node)  # what makes room must not be what the rest follows
        self._make_room(self.host, len(nodes) * self.page_size)
        for node in path:
            release(node)
        nodes = nodes[: pool.available_size() // self.page_size]
        if nodes:
            slots = page_slots([page_on(node.device) for node in nodes], self.page_size)
            if self.controller.write(slots, tag=nodes) is not None:
                for node in nodes:
                    node.backing_up = True
                    hold(node)
        if path:
            self._unstored.add(path[-1])
            self._unstored.start()

    def _write_ended(self, write: Transfer) -> None:
        nodes: list[TreeNode] = write.tag
        spare = []
        for node, page in zip(nodes, self._pages(write.host_indices), strict=True):
            node.backing_up = False
            release(node)
            if write.error is None:
                self.host.put(node, page)
            else:
                spare.append(page)
        if spare:
            self.controller.evict_host(page_slots(spare, self.page_size))
        self._unstored.add(nodes[-1])

    def _backup_ended(self, backup: Backup) -> None:
        self._unstored.ended(backup)

    def _load_ended(self, load: Load) -> None:
        for node in load.tag:
            node.loading = None
            release(node)
            if load.error is not None:
                self.device.put(node, None)
        if load.error is not None:
            self.controller.evict_device(load.device_indices)

    def _prefetch_ended(self, prefetch: Prefetch) -> None:
        sought: _Sought = prefetch.tag
        arrived = self._pages(prefetch.arrived())
        node: TreeNode | None = self._roots.get(root_key(sought.extra_key))
        if node is None and not sought.first and arrived:
            node = self._root(sought.extra_key)
        for content in sought.pages[: sought.first]:
            node = node and node.children.get(content)
        spare = arrived if node is None else []
        for content, page in zip(sought.pages[sought.first :], arrived, strict=False):
            if node is None:
                break
            node = node.children.get(content) or self._grow(node, content)
            if node.backed_up or node.backing_up:
                spare.append(page)
            else:
                self.host.put(node, page)
                node.stored = True
                node.last_access = self._clock
        if spare:
            self.controller.evict_host(page_slots(spare, self.page_size))

    def _make_room(self, tier: Tier, num_tokens: int) -> None:
        """Evict once, if so many slots are not free with what is to stay free beside them."""
        controller = self.controller
        pool = (
            controller.mem_pool_device_allocator
            if tier is self.device
            else controller.mem_pool_host
        )
        need, free = -(-num_tokens // self.page_size), pool.available_size() // self.page_size
        pages = self.room.plan(tier.name, need, free, pool.size // self.page_size)
        if pages:
            self._evict(tier, pages * self.page_size)

    def _evict(self, tier: Tier, num_tokens: int) -> int:
        wanted = -(-num_tokens // self.page_size)
        heap = [(node.last_access, node.number, node) for node in tier.leaves.values()]
        heapq.heapify(heap)
        gone: dict[str, list[int]] = {"device": [], "host": []}
        while heap and len(gone[tier.name]) < wanted:
            node = heapq.heappop(heap)[2]
            if not self._may_leave(tier, node):
                continue
            if tier is self.device and not node.backed_up:
                for below in reversed(list(descendants(node))):
                    self._leave(self.host, below, gone)
            self._leave(tier, node, gone)
            parent = node.parent
            if parent is not None and parent.number in tier.leaves:
                heapq.heappush(heap, (parent.last_access, parent.number, parent))
        for name, pages in gone.items():
            self.evictions[name].count(len(pages))
        self.controller.evict_device(page_slots(gone["device"], self.page_size))
        self.controller.evict_host(page_slots(gone["host"], self.page_size))
        return len(gone[tier.name]) * self.page_size

    def _may_leave(self, tier: Tier, node: TreeNode) -> bool:
        """Whether a leaf of a tier may leave it, with what is then reached no more."""
        if tier.at(node).locks:
            return False
        if tier is self.host:
            return node.device.page is not None or not node.children
        return node.backed_up or not any(below.host.locks for below in descendants(node))

    def _leave(self, tier: Tier, node: TreeNode, gone: dict[str, list[int]]) -> None:
        """Take a node from a tier, and from the tree if it lies nowhere else."""
        gone[tier.name].append(page_on(tier.at(node)))
        tier.put(node, None)
        if tier is self.host:
            self._unstored.forget(node)
        parent = node.parent
        if node.device.page is None and node.host.page is None and parent is not None:
            del parent.children[node.tokens]
            if parent.parent is None and not parent.children:
                self._roots.pop(parent.key, None)

    def _pages(self, slots: torch.Tensor) -> list[int]:
        return pages_of(slots, self.page_size, "slots")
