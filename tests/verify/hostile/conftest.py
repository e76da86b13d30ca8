"""The fixture of every hostile case."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.verify.hostile.world")

from tests.verify.hostile.world import world  # noqa: E402 - after what it is rewritten by

__all__ = ["world"]
