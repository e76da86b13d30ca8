from __future__ import annotations

import urllib.request
from collections.abc import Iterator

import pytest

pytest.importorskip("prometheus_client")

from prometheus_client.parser import text_string_to_metric_families

from hicache.metrics import Endpoint, serve
from hicache.summary import CacheSummary
from tests.hicache.rig import Rig


@pytest.fixture
def rig() -> Rig:
    rig = Rig(pages=4, host_pages=4)
    for first in range(6):
        slots = rig.cache.alloc_device(4)
        assert slots is not None
        tokens = [first, 1, first, 2]
        rig.fill(tokens, slots)
        rig.cache.insert(tokens, slots)
        rig.settle()
    return rig


@pytest.fixture
def endpoint(rig: Rig) -> Iterator[Endpoint]:
    endpoint = serve(lambda: CacheSummary.of(rig.cache), 0)
    yield endpoint
    endpoint.close()


def scraped(endpoint: Endpoint) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    with urllib.request.urlopen(endpoint.url, timeout=30) as answer:  # noqa: S310  its own
        text = answer.read().decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_a_scrape_gives_what_the_summary_says(rig: Rig, endpoint: Endpoint) -> None:
    found, summary = scraped(endpoint), CacheSummary.of(rig.cache)
    for kind, entry in summary.transfers.items():
        of_kind = (("kind", kind),)
        assert found["hicache_transfers_total", of_kind] == entry.transfers
        assert found["hicache_transfer_failures_total", of_kind] == entry.failed
        assert found["hicache_transfer_bytes_total", of_kind] == entry.bytes
        assert found["hicache_transfer_runs_total", of_kind] == entry.runs
        assert found["hicache_transfer_copies_total", of_kind] == entry.copies
        assert found["hicache_transfer_seconds_count", of_kind] == entry.transfers
        assert found["hicache_transfer_seconds_sum", of_kind] == pytest.approx(entry.seconds)
    for name, tier in summary.tiers.items():
        of_tier = (("tier", name),)
        assert found["hicache_slots", of_tier] == tier.slots
        assert found["hicache_free_slots", of_tier] == tier.free
        assert found["hicache_evictions_total", of_tier] == tier.evictions > 0
        assert found["hicache_evicted_pages_total", of_tier] == tier.evicted_pages > 0


def test_buckets_count_up_to_all(rig: Rig, endpoint: Endpoint) -> None:
    buckets = [
        (float(dict(labels)["le"]), value)
        for (name, labels), value in scraped(endpoint).items()
        if name == "hicache_transfer_seconds_bucket" and dict(labels)["kind"] == "write"
    ]
    buckets.sort()
    assert [value for _, value in buckets] == sorted(value for _, value in buckets)
    assert buckets[-1] == (float("inf"), rig.controller.stats.summary()["write"].transfers)


def test_each_scrape_reads_anew(rig: Rig, endpoint: Endpoint) -> None:
    before = scraped(endpoint)
    rig.cache.evict(2)
    after = scraped(endpoint)
    name = ("hicache_free_slots", (("tier", "device"),))
    assert after[name] == before[name] + 2


def test_it_listens_on_this_machine_alone(endpoint: Endpoint) -> None:
    assert endpoint.url.startswith("http://127.0.0.1:")


def test_a_closed_endpoint_frees_its_port(rig: Rig) -> None:
    first = serve(lambda: CacheSummary.of(rig.cache), 0)
    port = int(first.url.rsplit(":", 1)[1].split("/")[0])
    first.close()
    serve(lambda: CacheSummary.of(rig.cache), port).close()
