"""What the site does differently from the pages in the repository."""

from __future__ import annotations

import re
from typing import Any

_OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./[^)]*\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Leave out links to files beside `docs`, which the site does not have."""
    return _OUTSIDE.sub(r"\1", markdown)
