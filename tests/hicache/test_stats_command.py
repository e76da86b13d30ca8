from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import torch

from hicache import cli
from hicache.machine import Machine
from hicache.storage.file import HiCacheFile
from hicache.workload import demo_requests, read_requests

SMALL = '{"tokens": [1, 2, 3], "new_tokens": 2}\n\n{"tokens": [4]}\n'


def printed(capfd: pytest.CaptureFixture[str], *line: str) -> Any:
    assert cli.run(["stats", "--json", *line]) == 0
    return json.loads(capfd.readouterr().out)


class TestStats:
    def test_it_reads_what_the_tiers_and_the_transfers_did(
        self, capfd: pytest.CaptureFixture[str]
    ) -> None:
        table = printed(capfd)
        served, transfers = table["served"], table["transfers"]
        assert table["schema"] == 1
        assert served["requests"] == len(demo_requests(256))
        prompts = sum(len(request.tokens) for request in demo_requests(256))
        sources = [served[source] for source in ("device", "host", "files", "computed")]
        assert sum(sources) == prompts
        assert all(sources)
        assert served["hit_rate"] == pytest.approx(1 - served["computed"] / prompts)
        assert {kind: entry["failed"] for kind, entry in transfers.items()} == dict.fromkeys(
            ("write", "load", "backup", "prefetch"), 0
        )
        for entry in transfers.values():
            assert 0 < entry["p50"] <= entry["p99"] <= entry["max"]
            assert entry["bytes"] == entry["pages"] * 12288
            assert entry["pages_per_run"] == entry["pages"] / entry["runs"] >= 1
        assert transfers["prefetch"]["pages"] * 16 == served["files"]
        assert table["tiers"]["device"]["evictions"] > 0

    def test_room_makes_evictions_fewer(self, capfd: pytest.CaptureFixture[str]) -> None:
        none, much = (printed(capfd, "--room", room)["tiers"]["device"] for room in ("0", "0.25"))
        assert much["evictions"] < none["evictions"]

    def test_a_slow_transfer_moves_no_column(
        self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        kept, slow = HiCacheFile.set, [0.12]

        def late(storage: HiCacheFile, key: str, page: torch.Tensor) -> None:
            time.sleep(slow.pop() if slow else 0)
            kept(storage, key, page)

        assert cli.run(["stats"]) == 0
        before = capfd.readouterr().out.splitlines()
        monkeypatch.setattr(HiCacheFile, "set", late)
        assert cli.run(["stats"]) == 0
        after = capfd.readouterr().out.splitlines()
        assert float(after[-2].split()[-1]) >= 120
        assert after[:-4] == before[:-4]
        assert list(map(len, after)) == list(map(len, before))

    def test_requests_come_from_a_file(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "requests").write_text(SMALL, encoding="utf-8")
        table = printed(capfd, "--workload", str(tmp_path / "requests"))
        assert table["served"]["requests"] == 2
        assert table["served"]["computed"] == 4
        assert table["served"]["hit_rate"] == 0

    @pytest.mark.parametrize("line", [["--attention", "dsa"], ["--layout", "layer_first"]])
    def test_it_knows_every_family(
        self, line: list[str], capfd: pytest.CaptureFixture[str]
    ) -> None:
        assert printed(capfd, *line)["transfers"]["load"]["pages"] > 0

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", "expected a request on each line, there is none"),
            ("{\n", ":1: "),
            ("[1]\n", ":1: expected an object"),
            ('{"tokens": [1]}\n{"tokens": [], "new_tokens": 1}\n', ":2: tokens: expected numbers"),
            ('{"tokens": [256]}\n', "tokens: expected numbers from 0 to 255"),
            ('{"tokens": [true]}\n', "tokens: expected numbers"),
            ('{"tokens": [1], "new_tokens": 0}\n', "new_tokens: expected a number from 1 on"),
            ('{"tokens": [1], "other": 0}\n', "expected an object"),
            ("[" * 100_000, ":1: "),
        ],
    )
    def test_a_line_that_is_no_request_is_named(
        self, text: str, words: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "requests"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=r".") as caught:
            read_requests(path, 256)
        assert words in str(caught.value)
        assert cli.run(["stats", "--workload", str(path)]) == 2
        assert words in capfd.readouterr().err

    def test_a_file_that_is_not_there_is_said(self, capfd: pytest.CaptureFixture[str]) -> None:
        assert cli.run(["stats", "--workload", "no/such/file"]) == 2
        assert "no/such/file" in capfd.readouterr().err


class TestLimits:
    """What the options leave no room for is said with the option to change."""

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            (
                ["--pages", "2"],
                "request 19 needs 7 pages on the device, which has 2: use --pages 7",
            ),
            (["--pages", "9000000000000000000"], "--pages"),
            (["--pages", "4000000000"], "change --pages"),
            (["--room", "nan"], "change --pages, --ratio, --layout or --room"),
            (["--ratio", "nan"], "change --pages, --ratio"),
            (["--ratio", "1e15"], "change --pages, --ratio"),
            (["--layout", "page_head", "--attention", "mla"], "--layout"),
        ],
    )
    def test_it_is_no_fault_of_the_program(
        self, line: list[str], words: str, capfd: pytest.CaptureFixture[str]
    ) -> None:
        assert cli.run(["stats", *line]) == 2
        assert words in capfd.readouterr().err

    def test_a_prompt_that_just_fits_is_served(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        line = json.dumps({"tokens": [1] * 40, "new_tokens": 25})
        (tmp_path / "requests").write_text(f"{line}\n{line}\n", encoding="utf-8")
        table = printed(capfd, "--workload", str(tmp_path / "requests"), "--pages", "4")
        assert table["served"]["requests"] == 2
        assert cli.run(["stats", "--workload", str(tmp_path / "requests"), "--pages", "3"]) == 2
        assert "use --pages 4 or more" in capfd.readouterr().err

    def test_room_by_default_is_a_page_or_more(self) -> None:
        from hicache.room import FreeRoom

        defaults = {p.name: p.default for p in inspect.signature(cli.stats).parameters.values()}
        room = FreeRoom(device=defaults["room"], host=defaults["room"])
        host = int(defaults["pages"] * defaults["ratio"])
        assert room.plan("device", 1, 0, defaults["pages"]) >= 2
        assert room.plan("host", 1, 0, host) >= 2

    def test_an_extra_key_keeps_requests_apart(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        lines = [{"tokens": [1] * 17, "extra_key": extra} for extra in (None, "a", "b", "a")]
        text = "\n".join(map(json.dumps, lines))
        (tmp_path / "requests").write_text(text, encoding="utf-8")
        table = printed(capfd, "--workload", str(tmp_path / "requests"))
        assert table["served"]["device"] == 16
        assert table["served"]["computed"] == 3 * 17 + 1


class TestProgress:
    def test_it_says_how_far_it_is(
        self, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cli, "_PROGRESS_S", 0.0)
        assert cli.run(["stats", "--json"]) == 0
        out, err = capfd.readouterr()
        assert "1 of 24 requests\n" in err
        assert json.loads(out)["served"]["requests"] == 24

    def test_interrupted_it_prints_what_was_measured(
        self, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        serve = Machine.serve

        def interrupted(machine: Machine, *args: Any) -> Any:
            if machine.controller.stats.summary()["write"].transfers >= 3:
                raise KeyboardInterrupt
            return serve(machine, *args)

        monkeypatch.setattr(Machine, "serve", interrupted)
        assert cli.run(["stats", "--json"]) == 130
        out, err = capfd.readouterr()
        assert json.loads(out)["served"]["requests"] == 3
        assert "interrupted after 3 requests" in err


class TestEndpoint:
    def test_it_is_scraped_until_it_is_interrupted(self) -> None:
        pytest.importorskip("prometheus_client")
        # A shell's background process ignores interrupts, and so would what it starts.
        code = (
            "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "from hicache.cli import main; main()"
        )
        with subprocess.Popen(
            [sys.executable, "-c", code, "stats", "--json", "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        ) as process:
            assert process.stderr is not None
            words = process.stderr.readline()
            url = words.split()[2]
            with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310  its own
                scraped = answer.read().decode()
            process.send_signal(signal.SIGINT)
            try:
                out, err = process.communicate(timeout=60)
            finally:
                process.kill()
        assert url.startswith("http://127.0.0.1:")
        assert 'hicache_transfers_total{kind="write"}' in scraped
        assert process.returncode == 0, err
        assert json.loads(out)["schema"] == 1

    def test_a_port_in_use_is_said(self, capfd: pytest.CaptureFixture[str]) -> None:
        pytest.importorskip("prometheus_client")
        import socket

        with socket.create_server(("127.0.0.1", 0)) as taken:
            assert cli.run(["stats", "--port", str(taken.getsockname()[1])]) == 2
        assert "in use" in capfd.readouterr().err

    def test_without_the_client_library_it_says_what_to_install(
        self, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "prometheus_client", None)
        monkeypatch.delitem(sys.modules, "hicache.metrics", raising=False)
        assert cli.run(["stats", "--port", "0"]) == 2
        assert "pip install 'repot[metrics]'" in capfd.readouterr().err
