"""Which files a change can be reached from: by every import, wherever it stands, and by texts."""

from __future__ import annotations

from verify.kernel.pairs.both import Both
from verify.kernel.trees.tree import reaching


def near(both: Both) -> set[str]:
    """List the files from which a change can be reached, on either side."""
    return reaching(both.base, both.changed) | reaching(both.target, both.changed)
