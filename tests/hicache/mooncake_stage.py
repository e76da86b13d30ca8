"""What the Mooncake tests run in a network namespace of their own: `python -m ... STAGE`.

Mooncake's master and client listen on every interface, so a stage refuses to begin where there is
any but the loopback.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import torch

from hicache.cache_controller import HiCacheController
from hicache.decoder import Decoder, DecoderConfig
from hicache.device_pools import PagedTokenToKVPoolAllocator
from hicache.engine import Engine
from hicache.host_pools import HostPages, host_pool_for
from hicache.pages import page_keys
from hicache.radix_tree import HiRadixCache
from hicache.storage.base import PageFormat
from hicache.storage.mooncake import HiCacheMooncake, MooncakeConfig

PORT = 50051
PAGE = 16
PATIENCE = 90.0  # seconds: Mooncake's own limits are half a minute
PROMPT = [token * 7 % 256 for token in range(4 * PAGE + 1)]


def isolate() -> None:
    """Bring the loopback up, and refuse to go on with any other interface."""
    names = [name for _, name in socket.if_nameindex()]
    if names != ["lo"]:
        sys.exit(f"expected a network namespace with the loopback alone, it has {names}")
    with socket.socket() as control:  # SIOCSIFFLAGS: up and running
        fcntl.ioctl(control, 0x8914, struct.pack("16sh14x", b"lo", 0x41))
    os.environ["MC_TCP_BIND_ADDRESS"] = "127.0.0.1"


class Master:
    """A real `mooncake_master`, which can be killed, stopped and started again."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [
                str(Path(sys.executable).with_name("mooncake_master")),
                "--rpc_address=127.0.0.1",
                f"--rpc_port={PORT}",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(lambda: not socket.socket().connect_ex(("127.0.0.1", PORT)))

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def wait_for(holds: Callable[[], bool]) -> None:
    """Try until something holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.2)


class Machine:
    """A decoder whose cache keeps its pages in the store."""

    def __init__(self, *, lent: int = 64 << 20, limit: float = 60.0, pages: int = 16) -> None:
        decoder = Decoder(DecoderConfig())
        self.device = decoder.device_pool(pages * PAGE, PAGE, torch.float32)
        self.allocator = PagedTokenToKVPoolAllocator(self.device)
        with mock.patch("pool_host.base.HICACHE_HOST_MEMORY_RESERVE_BYTES", 0):
            self.host = host_pool_for(self.device, layout="page_first")
        self.pages = HostPages(self.host, self.device)
        config = MooncakeConfig(
            f"127.0.0.1:{PORT}", lent, limit=limit, ask_limit=limit, buffer_bytes=16 << 20
        )
        self.storage = HiCacheMooncake(config, PageFormat.of(self.host, decoder.config.name))
        self.controller = HiCacheController(self.allocator, self.host, storage=self.storage)
        self.cache = HiRadixCache(self.controller)
        self.engine = Engine(decoder, self.allocator, self.cache, storage_limit=limit)
        plain = PagedTokenToKVPoolAllocator(decoder.device_pool(16 * PAGE, PAGE, torch.float32))
        self.expected = Engine(decoder, plain).generate(PROMPT, 4).tokens

    def serve(self) -> int:
        """Serve the prompt; give how many of its tokens came from the store."""
        done = self.engine.generate(PROMPT, 4)
        assert done.tokens == self.expected
        self.cache.flush()
        return done.storage

    def close(self) -> None:
        self.controller.close()
        self.host.destroy()


class Pages:
    """Many pages with known contents, set and read beside a cache that is not used."""

    def __init__(self, machine: Machine, count: int = 60) -> None:
        self.machine = machine
        self.keys = page_keys(list(range(count * PAGE)), PAGE)
        self.slots = [number * PAGE for number in range(count)]

    def content(self, number: int) -> torch.Tensor:
        return torch.full((self.machine.pages.page_bytes,), number % 100, dtype=torch.uint8)

    def set(self) -> None:
        for number, slot in enumerate(self.slots):
            self.machine.pages.write(slot, self.content(number))
        self.machine.storage.set_pages(self.keys, self.machine.pages, self.slots)

    def hits(self) -> int:
        """Read all; every page that is found must be right."""
        for slot in self.slots:
            self.machine.pages.write(slot, torch.zeros_like(self.content(0)))
        found = list(self.machine.storage.get_pages(self.keys, self.machine.pages, self.slots))
        for number, (hit, slot) in enumerate(zip(found, self.slots, strict=True)):
            right = torch.equal(self.machine.pages.read(slot), self.content(number))
            assert right or not hit, f"page {number} is wrong"
        return sum(found)

    def can_set(self) -> bool:
        try:
            self.set()
        except OSError:
            return False
        return True


@contextlib.contextmanager
def other(stage: str) -> Iterator[subprocess.Popen[str]]:
    """Run another stage beside this one, in the same namespace."""
    command = [sys.executable, "-m", __spec__.name, stage]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def shared(_: Master) -> None:
    """Another process, which lends the memory, put the pages there; this one reads them by TCP."""
    with other("lend") as lender:
        assert lender.stdout is not None
        assert lender.stdout.readline() == "ready\n"
        machine = Machine(lent=0)
        assert machine.serve() == 4 * PAGE
        assert machine.controller.stats.failed["prefetch"] == 0
        machine.close()


def lend(_: None) -> None:
    """Serve the prompt, keep its pages, and stay."""
    machine = Machine()
    assert machine.serve() == 0
    print("ready", flush=True)  # noqa: T201  to who waits for it
    time.sleep(PATIENCE)


def killed(master: Master) -> None:
    """The master dies while pages are written, and comes back: it has forgotten them all."""
    machine = Machine(pages=40)
    pages = Pages(machine)
    pages.set()
    assert pages.hits() == len(pages.keys)
    ends: list[BaseException | None] = []
    begun = threading.Event()

    def write() -> None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                pages.keys = page_keys([len(ends), *range(60 * PAGE - 1)], PAGE)
                pages.machine.storage.set_pages(pages.keys, machine.pages, pages.slots)
            except OSError as error:
                ends.append(error)
                return
            ends.append(None)
            begun.set()

    writer = threading.Thread(target=write)
    writer.start()
    assert begun.wait(PATIENCE)
    master.kill()
    writer.join()
    assert isinstance(ends[-1], OSError)
    assert pages.hits() == 0
    assert machine.serve() == 0, "computed, since nothing can be read"
    master.start()
    wait_for(pages.can_set)
    assert pages.hits() == len(pages.keys)
    machine.cache.reset()
    machine.serve()
    machine.cache.reset()
    assert machine.serve() == 4 * PAGE
    machine.close()


def stopped(master: Master) -> None:
    """The master does not answer: each call is waited for no longer than its limit."""
    machine = Machine(limit=0.5)
    machine.serve()
    machine.cache.reset()
    master.process.send_signal(signal.SIGSTOP)
    begun = time.monotonic()
    assert machine.serve() == 0
    assert machine.serve() == 0
    assert time.monotonic() - begun < 60, "three calls of Mooncake's own take 90 s"
    master.process.send_signal(signal.SIGCONT)
    for calls in (machine.storage._writing, machine.storage._reading, machine.storage._asking):
        assert calls.wait(PATIENCE)
    machine.cache.reset()
    assert machine.serve() == 4 * PAGE
    machine.close()


def lender_killed(_: Master) -> None:
    """Who lent the memory is gone: its pages are misses, and can be kept elsewhere."""
    with other("lend") as lender:
        assert lender.stdout is not None
        assert lender.stdout.readline() == "ready\n"
    machine = Machine()
    assert machine.serve() == 0
    machine.close()


STAGES = {"shared": shared, "killed": killed, "stopped": stopped, "lender_killed": lender_killed}


def main(stage: str) -> None:
    torch.set_num_threads(1)
    if stage == "lend":
        os.environ["MC_TCP_BIND_ADDRESS"] = "127.0.0.1"
        lend(None)
        return
    isolate()
    master = Master()
    try:
        STAGES[stage](master)
    finally:
        master.kill()
    os._exit(0)  # what the library's own threads do at exit is not what is tested


if __name__ == "__main__":
    main(sys.argv[1])
