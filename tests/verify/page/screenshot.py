"""Makes the pictures of a page anew: `python -m tests.verify.page.screenshot`.

They show reviews of two steps of this repository's own series, in Chromium: one with nothing to
read, for the README, and one with some lines, for docs/reviewing.md.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.documents import ROOT
from tests.transforms.checkouts import run_git
from tests.verify.page.browsing import browser
from verify import cli

IMAGES = ROOT / "docs" / "images"
# By file the commit, and how many pixels of its page are shown.
SHOWN = {
    IMAGES / "green.png": ("378b34d", 1150),
    IMAGES / "review.png": ("1934ee4641d5", 1700),
}


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clone = folder / "repot"  # a page names the repository by its folder
        run_git(folder, "clone", "--quiet", "--bare", str(ROOT), str(clone))
        with browser(folder / "profile") as started:
            for file, (commit, height) in SHOWN.items():
                page = folder / "page.html"
                step = f"{commit}^..{commit}"
                cli.run(["review", step, "--repo", str(clone), "--html", str(page)])
                started.show(width=1000, height=height)
                started.open(page)
                started.picture(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
