"""Any order of requests, aborts, transfers, failures and evictions, held against plain books."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any
from unittest import mock

import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hicache.nodes import TreeNode
from hicache.pages import pages_of
from hicache.radix_tree import HiRadixCache, Match
from hicache.room import FreeRoom
from hicache.transfers import Load, Prefetch, Transfer
from tests.effort import examples
from tests.hicache.rig import Rig, path_tokens

PAGE = 2
KINDS = ("write", "load", "backup", "prefetch")
# Few pages to choose from, so that prefixes are shared and part again; the rest fills no page.
TOKENS = st.builds(
    lambda pages, rest: [token for token in pages for _ in range(PAGE)] + rest,
    st.lists(st.integers(0, 1), min_size=1, max_size=4),
    st.lists(st.integers(0, 1), max_size=PAGE - 1),
)


@dataclass
class Request:
    tokens: list[int]
    match: Match
    slots: torch.Tensor
    loads: tuple[Load, ...]


class TreeMachine(RuleBasedStateMachine):
    @initialize(
        pages=st.integers(4, 7),
        host_pages=st.integers(2, 9),
        storage=st.booleans(),
        room=st.sampled_from([FreeRoom(), FreeRoom(device=0.3, host=0.4, low=0.5)]),
    )
    def build(self, pages: int, host_pages: int, storage: bool, room: FreeRoom) -> None:
        with mock.patch("pool_host.base.HICACHE_HOST_MEMORY_RESERVE_BYTES", 0):
            self.rig = Rig(page_size=PAGE, pages=pages, host_pages=host_pages, storage=storage)
        self.cache = self.rig.cache = HiRadixCache(self.rig.controller, room)
        self.requests: list[Request] = []
        self.open: list[Transfer] = []
        self.known: set[tuple[int, ...]] = set()
        finished, start = self.rig.controller.finished, self.rig.controller._start

        def noted(worker: Any, transfer: Any) -> Any:
            self.open.append(transfer)
            return start(worker, transfer)

        def taken_back(**options: Any) -> list[Transfer]:
            if options.get("wait"):  # nobody but this thread could bring an end about
                self.rig.run_all()
            ended = finished()
            for transfer in ended:
                self.open.remove(transfer)
            return ended

        self.rig.controller._start = noted  # type: ignore[method-assign]
        self.rig.controller.finished = taken_back  # type: ignore[method-assign]

    # What a scheduler does

    @rule(tokens=TOKENS)
    def request(self, tokens: list[int]) -> None:
        match = self.cache.match_prefix(tokens)
        paths = {path_tokens(node) for node in self.cache.nodes()}
        longest = max(
            (size for size in range(0, len(tokens) + 1, PAGE) if tuple(tokens[:size]) in paths),
            default=0,
        )
        assert len(match.nodes) * PAGE == longest
        self.cache.lock(match)
        self.cache.load_back(match)
        slots, loads = match.device_indices(), match.loads()
        self.requests.append(Request(tokens, match, slots, loads))

    @rule(tokens=TOKENS)
    def serve(self, tokens: list[int]) -> None:
        self.request(tokens)
        self.finish(self.requests.pop())

    @precondition(lambda self: self.requests)
    @rule(data=st.data())
    def complete(self, data: st.DataObject) -> None:
        self.finish(self.take_one(data))

    def finish(self, request: Request) -> None:
        """Compute what was not cached and leave it to the tree; only if all loads went well."""
        while not all(load.ended for load in request.loads):
            self.rig.workers["load"].run()
        whole = len(request.tokens) - len(request.tokens) % PAGE
        new = self.cache.alloc_device(whole - request.slots.numel())
        if new is not None and not any(load.error for load in request.loads):
            slots = torch.cat([request.slots, new])
            self.rig.fill(request.tokens[:whole], slots, first=request.slots.numel())
            self.cache.insert(request.tokens, slots)
            self.known |= {tuple(request.tokens[:size]) for size in range(PAGE, whole + 1, PAGE)}
        elif new is not None:
            self.rig.allocator.free(new)
        self.cache.unlock(request.match)

    @precondition(lambda self: self.requests)
    @rule(data=st.data())
    def abort(self, data: st.DataObject) -> None:
        self.cache.unlock(self.take_one(data).match)

    @rule(tokens=TOKENS)
    def prefetch(self, tokens: list[int]) -> None:
        self.cache.prefetch(tokens)

    @rule()
    def stop_prefetches(self) -> None:
        for transfer in self.open:
            if isinstance(transfer, Prefetch):
                transfer.stop()

    @rule(pages=st.integers(1, 4), tier=st.sampled_from(["device", "host"]))
    def evict(self, pages: int, tier: str) -> None:
        held = {
            (node, name): getattr(node, name).page
            for node in self.cache.nodes()
            for name in ("device", "host")
            if getattr(node, name).locks
        }
        before = self.available(tier)
        evict = self.cache.evict if tier == "device" else self.cache.evict_host
        gone = evict(pages * PAGE)
        assert self.available(tier) - before == gone
        assert gone <= pages * PAGE
        for (node, name), page in held.items():
            assert getattr(node, name).page == page
        if gone < pages * PAGE:
            left = getattr(self.cache, tier).leaves.values()
            assert all(not self.could_go(tier, node) for node in left)

    @precondition(lambda self: not self.requests)
    @rule()
    def reset(self) -> None:
        self.cache.reset()
        assert not list(self.cache.nodes())
        assert self.rig.allocator.available_size() == self.rig.allocator.size
        assert self.rig.host.available_size() == self.rig.host.size

    # What workers do

    @precondition(lambda self: any(worker.queued for worker in self.rig.workers.values()))
    @rule(data=st.data(), failing=st.sampled_from([False, False, False, True]))
    def work(self, data: st.DataObject, failing: bool) -> None:
        busy = [kind for kind in KINDS if self.rig.workers[kind].queued]
        self.rig.workers[data.draw(st.sampled_from(busy))].run(failing=failing)

    @precondition(lambda self: any(transfer.ended for transfer in self.open))
    @rule()
    def poll(self) -> None:
        self.cache.poll()

    @precondition(lambda self: self.open)
    @rule()
    def settle(self) -> None:
        self.rig.settle()

    # What holds at every moment

    @invariant()
    def every_slot_is_free_or_somebodys(self) -> None:
        if not hasattr(self, "rig"):
            return
        on_host = self.cache.host.pages * PAGE
        on_host += sum(
            transfer.host_indices.numel()
            for transfer in self.open
            if transfer.kind in {"write", "prefetch"}
        )
        assert self.rig.host.available_size() + on_host == self.rig.host.size
        on_device = self.cache.device.pages * PAGE
        assert self.rig.allocator.available_size() + on_device == self.rig.allocator.size

    @invariant()
    def no_page_has_two_owners(self) -> None:
        if not hasattr(self, "rig"):
            return
        nodes = list(self.cache.nodes())
        device = Counter(n.device.page for n in nodes if n.device.page is not None)
        host = Counter(n.host.page for n in nodes if n.host.page is not None)
        for transfer in self.open:
            if transfer.kind in {"write", "prefetch"}:
                host.update(pages_of(transfer.host_indices, PAGE, "host"))
        assert all(count == 1 for books in (device, host) for count in books.values())

    @invariant()
    def pages_hold_what_their_tokens_are(self) -> None:
        if not hasattr(self, "rig"):
            return
        for node in self.cache.nodes():
            tokens = path_tokens(node)
            assert tokens in self.known
            assert node.device.page is not None or node.host.page is not None
            if node.device.page is not None and node.loading is None:
                assert self.rig.is_right("device", tokens, node.device.page)
            if node.host.page is not None:
                assert self.rig.is_right("host", tokens, node.host.page)

    @invariant()
    def what_is_in_flight_is_locked(self) -> None:
        for transfer in getattr(self, "open", ()):
            if isinstance(transfer, Prefetch):
                continue
            for node in transfer.tag:
                assert node.host.locks
                if transfer.kind == "backup":
                    assert node.host.page is not None
                else:
                    assert node.device.locks
                    assert node.device.page is not None

    @invariant()
    def leaves_are_those_of_the_tree(self) -> None:
        if not hasattr(self, "rig"):
            return
        nodes = list(self.cache.nodes())
        for tier in (self.cache.device, self.cache.host):
            on_tier = [node for node in nodes if tier.at(node).page is not None]
            assert tier.pages == len(on_tier)
            leaves = {
                node.number
                for node in on_tier
                if all(tier.at(child).page is None for child in node.children.values())
            }
            assert set(tier.leaves) == leaves

    def teardown(self) -> None:
        if not hasattr(self, "rig"):
            return
        while self.requests:
            self.cache.unlock(self.requests.pop().match)
        self.rig.controller.close()
        self.cache.poll()
        self.every_slot_is_free_or_somebodys()
        assert not self.open
        assert all(not node.device.locks and not node.host.locks for node in self.cache.nodes())

    def take_one(self, data: st.DataObject) -> Request:
        return self.requests.pop(data.draw(st.integers(0, len(self.requests) - 1)))

    def available(self, tier: str) -> int:
        pool = self.rig.allocator if tier == "device" else self.rig.host
        return pool.available_size()

    def could_go(self, tier: str, node: TreeNode) -> bool:
        if tier == "device":
            above = path_tokens(node)
            below = [
                other
                for other in self.cache.nodes()
                if other is not node and path_tokens(other)[: len(above)] == above
            ]
            held = any(other.host.locks for other in below)
            return not node.device.locks and (node.backed_up or not held)
        return not node.host.locks and (node.device.page is not None or not node.children)


@pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning")
class TestTree(TreeMachine.TestCase):  # type: ignore[misc, valid-type]
    settings = settings(max_examples=examples(100), stateful_step_count=40, deadline=None)
