"""Statistics for Prometheus, through its own client library: the extra `metrics`.

A scrape reads what is counted anyway, in constant time; nothing is counted for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http.server import HTTPServer
from threading import Thread

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from hicache.statistics import KINDS, TransferSummary
from hicache.summary import CacheSummary

LOOPBACK = "127.0.0.1"

_COUNTED = (
    ("transfers", "hicache_transfers", "Transfers that ended, failed ones included."),
    ("failed", "hicache_transfer_failures", "Transfers that failed."),
    ("bytes", "hicache_transfer_bytes", "Bytes that arrived."),
    ("pages", "hicache_transfer_pages", "Pages that arrived."),
    ("runs", "hicache_transfer_runs", "Stretches of pages that follow each other at both ends."),
    ("copies", "hicache_transfer_copies", "Copies that were made."),
)


class CacheCollector(Collector):
    """Gives what `read`, called once a scrape from the server's thread, says of a cache."""

    def __init__(self, read: Callable[[], CacheSummary]) -> None:
        self._read = read

    def describe(self) -> Iterable[Metric]:
        """Give no names, so that nothing is read when the collector is registered."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Give every metric: pages, slots, bytes and seconds, as their names say."""
        summary = self._read()
        yield from _transfers(summary.transfers)
        yield from _tiers(summary)
        yield CounterMetricFamily(
            "hicache_refused_pages", "Pages of storage that were not believed.", summary.refused
        )
        yield CounterMetricFamily(
            "hicache_unwritten_pages",
            "Pages that were to be written to storage and were not.",
            summary.unwritten,
        )


def _transfers(transfers: dict[str, TransferSummary]) -> Iterable[Metric]:
    for field, name, words in _COUNTED:
        family = CounterMetricFamily(name, words, labels=["kind"])
        for kind in KINDS:
            family.add_metric([kind], getattr(transfers[kind], field))
        yield family
    times = HistogramMetricFamily(
        "hicache_transfer_seconds", "From the start of a transfer to its end.", labels=["kind"]
    )
    for kind in KINDS:
        entry = transfers[kind]
        buckets = [(floatToGoString(edge), float(count)) for edge, count in entry.octaves]
        times.add_metric([kind], [*buckets, ("+Inf", float(entry.transfers))], entry.seconds)
    yield times


def _tiers(summary: CacheSummary) -> Iterable[Metric]:
    slots = GaugeMetricFamily("hicache_slots", "Slots of a tier.", labels=["tier"])
    free = GaugeMetricFamily("hicache_free_slots", "Free slots of a tier.", labels=["tier"])
    evictions = CounterMetricFamily(
        "hicache_evictions", "Times that pages had to leave a tier.", labels=["tier"]
    )
    pages = CounterMetricFamily(
        "hicache_evicted_pages", "Pages that had to leave a tier.", labels=["tier"]
    )
    allocator = GaugeMetricFamily(
        "hicache_allocator", "What an allocator says of itself.", labels=["tier", "name"]
    )
    for name, tier in summary.tiers.items():
        slots.add_metric([name], tier.slots)
        free.add_metric([name], tier.free)
        evictions.add_metric([name], tier.evictions)
        pages.add_metric([name], tier.evicted_pages)
        for field, value in tier.allocator.items():
            if isinstance(value, int | float):
                allocator.add_metric([name, field], value)
    yield from (slots, free, evictions, pages, allocator)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server that answers scrapes until it is closed."""

    url: str
    _server: HTTPServer
    _thread: Thread

    def close(self) -> None:
        """Answer no more, and free the port. Idempotent."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def serve(read: Callable[[], CacheSummary], port: int, address: str = LOOPBACK) -> Endpoint:
    """Answer scrapes of what `read` gives on `port`, 0 for any free one.

    Metrics are given to whoever asks, so only to this machine unless `address` says otherwise.
    Raises `OSError` where the port cannot be had.
    """
    registry = CollectorRegistry()
    registry.register(CacheCollector(read))
    server, thread = start_http_server(port, address, registry)
    return Endpoint(f"http://{address}:{server.server_port}/metrics", server, thread)
