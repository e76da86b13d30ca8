"""What the tests of writing share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.transforms.write import journals
from tests.transforms.write.killing import Killer


@pytest.fixture(scope="session", autouse=True)
def killer() -> Iterator[None]:
    """The process that `journals.killed` asks; it begins when it is first asked."""
    with Killer() as journals.KILLER:
        yield
