"""The fixture of every hostile case."""

from __future__ import annotations

from tests.verify.hostile.world import world

__all__ = ["world"]
