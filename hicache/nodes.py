"""The nodes of the radix tree, and which of them lie on a tier."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hicache.transfers import Load


@dataclass(slots=True)
class Residence:
    """A node's page on one tier: None if it is not there. `below` counts children that are."""

    page: int | None = None
    locks: int = 0
    below: int = 0


class TreeNode:
    """One page of tokens after all those above it. `key` names its content.

    A root has no tokens, no parent, and the key that `hicache.pages.root_key` gives. `stored` is
    what is believed: storage may have lost the page since. `storing` is one on its way there.
    """

    __slots__ = (
        "backing_up",
        "children",
        "device",
        "host",
        "key",
        "last_access",
        "loading",
        "number",
        "parent",
        "stored",
        "storing",
        "tokens",
    )

    def __init__(
        self, number: int, tokens: tuple[int, ...], parent: TreeNode | None, key: str
    ) -> None:
        self.number = number
        self.tokens = tokens
        self.parent = parent
        self.key = key
        self.children: dict[tuple[int, ...], TreeNode] = {}
        self.device = Residence()
        self.host = Residence()
        self.last_access = 0
        self.loading: Load | None = None
        self.backing_up = False
        self.stored = False
        self.storing = False

    @property
    def backed_up(self) -> bool:
        """Whether a whole copy lies on the host."""
        return self.host.page is not None


class Tier:
    """The pages of one tier: how many there are, and which have none below them on this tier."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.pages = 0
        self.leaves: dict[int, TreeNode] = {}

    def at(self, node: TreeNode) -> Residence:
        """Give what a node has on this tier: its page, its locks, and how many lie below it."""
        residence: Residence = getattr(node, self.name)
        return residence

    def put(self, node: TreeNode, page: int | None) -> None:
        """Note where a node's page lies, None for nowhere any more."""
        here = self.at(node)
        change = (page is not None) - (here.page is not None)
        here.page = page
        self.pages += change
        self._refresh(node)
        if node.parent is not None and change:
            self.at(node.parent).below += change
            self._refresh(node.parent)

    def _refresh(self, node: TreeNode) -> None:
        here = self.at(node)
        if here.page is not None and not here.below:
            self.leaves[node.number] = node
        else:
            self.leaves.pop(node.number, None)


def descendants(node: TreeNode) -> Iterator[TreeNode]:
    """Give every node below `node`, parents before children."""
    waiting = list(node.children.values())
    while waiting:
        below = waiting.pop()
        yield below
        waiting += below.children.values()


def hold(node: TreeNode) -> None:
    """Lock a node on both tiers."""
    node.device.locks += 1
    node.host.locks += 1


def release(node: TreeNode) -> None:
    """Undo one `hold`."""
    node.device.locks -= 1
    node.host.locks -= 1


def page_on(residence: Residence) -> int:
    """Give the page of a node that is on a tier. Raises `RuntimeError` where it is not."""
    if residence.page is None:
        raise RuntimeError("a page is not on the tier that its node was taken from")
    return residence.page
