"""What SGLang's pools take and ours do not stands on the page, with the reason."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

from tests.documents import ROOT
from tests.pool_host.sglang.signatures import compared
from tests.registry import sglang_wheel

RELEASE = "0.5.18"
PAGE = (ROOT / "docs" / "sglang.md").read_text(encoding="utf-8")
# | `Class` | `member` | difference | reason |
ROWS = re.findall(r"^\| `(\w+)` \| (?:`(\w+)`|all of it) \| (.+?) \| .+ \|$", PAGE, re.MULTILINE)


@pytest.mark.registry  # downloads a wheel
def test_every_difference_stands_on_the_page(tmp_path: Path) -> None:
    with zipfile.ZipFile(sglang_wheel(RELEASE)) as wheel:
        caches = "sglang/srt/mem_cache/"
        chosen = [name for name in wheel.namelist() if name.startswith(f"{caches}pool_host/")]
        wheel.extractall(tmp_path, [*chosen, f"{caches}memory_pool_host.py"])
    listed = {(name, member): words.replace("`", "") for name, member, words in ROWS}
    assert compared(tmp_path / "sglang" / "srt" / "mem_cache") == listed


def test_there_is_a_table() -> None:
    assert len(ROWS) > 5
