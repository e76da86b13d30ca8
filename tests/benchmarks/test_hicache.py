from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from benchmarks.hicache.__main__ import ROOMS, main, measure, prompts

PROMPTS = [tokens[:200] for tokens in prompts(150)]


def test_prompts_are_the_same_each_time_and_go_on() -> None:
    first, second = list(prompts(50)), list(prompts(50))
    assert first == second
    assert any(one != other and other[: len(one)] == one for one in first for other in first)


def test_room_makes_evictions_fewer() -> None:
    none, some = measure(0.0, PROMPTS, 200), measure(0.1, PROMPTS, 200)
    assert 0 < some.device_evictions < none.device_evictions
    assert none.requests == some.requests == 150
    assert 0 < some.hit_rate < 1


def test_it_prints_a_line_for_each_room(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--requests", "40", "--pages", "200", "--json", str(tmp_path / "out")])
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(ROOMS)
    rows = json.loads((tmp_path / "out").read_text())["results"]
    assert [row["room"] for row in rows] == list(ROOMS)
