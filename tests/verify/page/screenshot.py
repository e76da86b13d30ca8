"""Makes the picture in docs/reviewing.md anew: `python -m tests.verify.page.screenshot`.

It shows the review of a step of this repository's own series, in Chromium.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.documents import ROOT
from tests.verify.page.browsing import browser
from verify import cli

STEP = "1934ee4641d5^..1934ee4641d5"
HEIGHT = 1280  # pixels: down to the table below the picture
FILE = ROOT / "docs" / "images" / "review.png"


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        page = folder / "page.html"
        code = cli.run(["review", STEP, "--repo", str(ROOT), "--html", str(page)])
        if not page.exists():
            return code
        with browser(folder / "profile") as started:
            started.show(height=HEIGHT)
            started.open(page)
            started.picture(FILE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
