"""The kernel: judges without a plan whether a change is a move and nothing else.

Both trees are imported on an abstract machine, and what happens is compared. `certify` takes the
files that differ, from both trees, and looks into the others as needed. It stands on the standard
library alone and shares no code with the mover: it is a second opinion.
"""

from __future__ import annotations

from verify.kernel.door import Files, Rest, certify
from verify.kernel.verdict import CERTIFIED, RESIDUAL, UNKNOWN, Certificate, Finding

__all__ = [
    "CERTIFIED",
    "RESIDUAL",
    "UNKNOWN",
    "Certificate",
    "Files",
    "Finding",
    "Rest",
    "certify",
]
