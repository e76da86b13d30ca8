"""Pages on the host that storage has not: in which order they go there, and how many at once."""

from __future__ import annotations

from hicache.cache_controller import HiCacheController
from hicache.nodes import TreeNode, page_on
from hicache.pages import page_slots
from hicache.storage.base import HeadMissing
from hicache.transfers import Backup

_SHARE = 8  # of the host's pages one in so many may be on its way to storage


class UnstoredPages:
    """The pages that wait for storage, and those on their way there.

    Only what is on its way is locked, and that is little: storage that is slow or hangs keeps the
    host to itself no more than that. What leaves the host before its turn came is counted by the
    controller's statistics as unwritten, and so is what failed. A page goes only where the one that
    it follows is or goes as well. Called by the scheduler alone.
    """

    def __init__(self, controller: HiCacheController) -> None:
        self._controller = controller
        self._waiting: dict[int, TreeNode] = {}
        self._under_way = 0
        pages = controller.mem_pool_host.size // controller.page_size
        self._most = max(1, pages // _SHARE)

    def add(self, node: TreeNode) -> None:
        """Let a node wait for storage, and first those above it that storage has not.

        From the first that is not on the host on, none can.
        """
        if self._controller.storage is None:
            return
        path: list[TreeNode] = []
        above: TreeNode | None = node
        while above is not None and above.parent is not None:
            path.append(above)
            above = above.parent
        for each in reversed(path):
            if each.stored or each.storing:
                continue
            if not each.backed_up:
                break
            self._waiting.setdefault(each.number, each)

    def forget(self, node: TreeNode) -> None:
        """Let a node wait no more: it leaves the host."""
        if self._waiting.pop(node.number, None) is not None:
            self._controller.stats.leave_out(1)

    def start(self) -> None:
        """Start to back up what waits, as much as may be under way."""
        if self._controller.is_closed:
            self._controller.stats.leave_out(len(self._waiting))
            self._waiting.clear()
        while self._waiting and self._under_way < self._most:
            nodes = self._next(self._most - self._under_way)
            if nodes:
                self._start(nodes)

    def ended(self, backup: Backup) -> None:
        """Note which pages of a backup are in storage now."""
        nodes: list[TreeNode] = backup.tag
        self._under_way -= len(nodes)
        for number, node in enumerate(nodes):
            node.host.locks -= 1
            node.storing = False
            node.stored = number < backup.kept
        if isinstance(backup.error, HeadMissing):
            # It has lost what was above; the next to come along the path brings all of it again.
            above = nodes[0].parent
            while above is not None:
                above.stored = False
                above = above.parent

    def _next(self, most: int) -> list[TreeNode]:
        """Take nodes that follow each other; none where the first of them cannot go."""
        node = next(iter(self._waiting.values()))
        while node.parent is not None and node.parent.number in self._waiting:
            node = node.parent
        del self._waiting[node.number]
        above = node.parent
        is_first = above is None or above.parent is None
        if above is not None and not (is_first or above.stored or above.storing):
            self._controller.stats.leave_out(1)
            return []
        nodes = [node]
        while self._waiting and len(nodes) < most:
            node = next(iter(self._waiting.values()))
            if node.parent is not nodes[-1]:
                break
            nodes.append(self._waiting.pop(node.number))
        return nodes

    def _start(self, nodes: list[TreeNode]) -> None:
        page_size = self._controller.page_size
        slots = page_slots([page_on(node.host) for node in nodes], page_size)
        above = nodes[0].parent
        follows = above.key if above is not None and above.parent is not None else ""
        self._controller.backup(slots, [node.key for node in nodes], follows, tag=nodes)
        self._under_way += len(nodes)
        for node in nodes:
            node.host.locks += 1
            node.storing = True
