"""The demonstration: one prompt, served from nothing, the device, the host and files in turn.

Each run is held to what it should do: the same tokens, the hits of every tier, and the bytes that
were loaded. Before the last one a byte of a host page is flipped: if the tokens were still the
same, the cache would not have been read.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from hicache.decoder import Decoder, DecoderConfig
from hicache.device_pools import PagedTokenToKVPoolAllocator
from hicache.engine import Engine
from hicache.machine import PAGE_SIZE, POOL_PAGES, Machine, Taken
from hicache.pages import page_keys

CACHED = 4 * PAGE_SIZE  # tokens of the prompt that fill pages; one more is always computed
NEW_TOKENS = 12


@dataclass(frozen=True, slots=True)
class Run:
    """One run: what it took, what it should have, its tokens and whether they should differ."""

    name: str
    taken: Taken
    expected: Taken
    tokens: tuple[int, ...]
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Demonstration:
    """All runs of one decoder; the first is without a cache."""

    model: str
    page_bytes: int
    runs: tuple[Run, ...]

    def fault(self, run: Run) -> str | None:
        """Say what a run did not do as it should; None if it did."""
        if run.taken != run.expected:
            return f"expected {run.expected}, got {run.taken}"
        if (run.tokens != self.runs[0].tokens) is not run.changed:
            return "expected other tokens" if run.changed else "expected the same tokens"
        return None

    @property
    def holds(self) -> bool:
        """Whether every run did what it should."""
        return not any(map(self.fault, self.runs))


def demonstrate(
    folder: Path, *, attention: str = "mha", layout: str = "page_first", dtype: str = "float32"
) -> Demonstration:
    """Make all runs, with files in `folder`, which should be empty.

    `attention` is `mha`, `mla` or `dsa`, `dtype` the name of a float type of torch. Raises
    `ValueError` where the host pool refuses the layout, or the host has too little memory.
    """
    script = _Script(Decoder(DecoderConfig(attention=attention)), layout, dtype, folder)
    script.without_cache()
    script.until_eviction()
    script.after_restart()
    script.after_damage()
    return Demonstration(script.decoder.config.name, script.page_bytes, tuple(script.runs))


class _Script:
    """The runs in order; each part starts with a new machine, as after a restart."""

    def __init__(self, decoder: Decoder, layout: str, dtype: str, folder: Path) -> None:
        self.decoder = decoder
        self.runs: list[Run] = []
        self.page_bytes = 0
        self._layout = layout
        self._dtype: torch.dtype = getattr(torch, dtype)
        self._folder = folder
        tokens = random.Random(0)  # noqa: S311  a prompt, not a secret
        self._prompt = [tokens.randrange(decoder.config.vocabulary) for _ in range(CACHED + 1)]

    def without_cache(self) -> None:
        """Compute everything: the tokens that all others are compared with."""
        pool = self.decoder.device_pool(POOL_PAGES * PAGE_SIZE, PAGE_SIZE, self._dtype)
        engine = Engine(self.decoder, PagedTokenToKVPoolAllocator(pool))
        done = engine.generate(self._prompt, NEW_TOKENS)
        taken = Taken(computed=done.computed)
        self.runs.append(Run("without a cache", taken, self._computed(), done.tokens))

    def until_eviction(self) -> None:
        """Fill the cache; then take from the device; then from the host."""
        with self._machine() as machine:
            self._note(machine, "an empty cache", self._computed())
            self._note(machine, "the same once more", Taken(device=CACHED))
            machine.cache.evict(POOL_PAGES * PAGE_SIZE)
            loaded = Taken(host=CACHED, loaded_bytes=self._bytes(CACHED))
            self._note(machine, "evicted from the device", loaded)

    def after_restart(self) -> None:
        """Take from files, since nothing else is left."""
        size = self._bytes(CACHED)
        with self._machine() as machine:
            read = Taken(files=CACHED, loaded_bytes=size, read_bytes=size)
            self._note(machine, "restarted", read)

    def after_damage(self) -> None:
        """Flip a byte of a file, which is noticed; then one in memory, which cannot be."""
        with self._machine() as machine:
            _flip_last_byte(machine.storage.path(page_keys(self._prompt, PAGE_SIZE)[1]))
            size = self._bytes(PAGE_SIZE)
            first = Taken(
                files=PAGE_SIZE,
                computed=len(self._prompt) - PAGE_SIZE,
                loaded_bytes=size,
                read_bytes=size,
                refused=1,
            )
            self._note(machine, "restarted, a page file damaged", first)
            machine.cache.evict(POOL_PAGES * PAGE_SIZE)
            machine.flip(self._prompt)
            loaded = Taken(host=CACHED, loaded_bytes=self._bytes(CACHED))
            self._note(machine, "a byte of a host page flipped", loaded, changed=True)

    @contextmanager
    def _machine(self) -> Iterator[Machine]:
        machine = Machine(self.decoder, self._layout, self._dtype, self._folder)
        self.page_bytes = machine.storage.format.page_bytes
        try:
            yield machine
        finally:
            machine.close()

    def _note(self, machine: Machine, name: str, expected: Taken, *, changed: bool = False) -> None:
        done, taken = machine.serve(self._prompt, NEW_TOKENS)
        self.runs.append(Run(name, taken, expected, done.tokens, changed))

    def _computed(self) -> Taken:
        return Taken(computed=len(self._prompt))

    def _bytes(self, tokens: int) -> int:
        return tokens // PAGE_SIZE * self.page_bytes


def _flip_last_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
