"""Trees: a working directory, a git commit or a wheel, read through one interface."""

from __future__ import annotations

from transforms.paths import safe_path

__all__ = ["safe_path"]
