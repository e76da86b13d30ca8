"""The kernel: judges without a plan whether a change is a move and nothing else.

Both trees are imported on an abstract machine, and what happens is compared. `certify` takes the
files that differ, from both trees, and looks into the others as needed. It stands on the standard
library alone and shares no code with the mover: it is a second opinion.

From the ground up; each may import only what stands above it in this list.

trees      one of the two trees, as it lies there, and the lists of what acts
verdict    the kinds of findings, and the verdict that follows from them
behaviour  what is behaviour and what is not: what the generator's judge blanks
machine    the abstract import machine
pairs      both trees beside each other: which statement is which
running    runs of the machine from every entry, and their comparison
edits      statements: conserved, or edited as a move entails
disk       files as such: what is run, listed, installed or collected by its path
reach      who gets hold of what moved while a program runs
texts      names that stand in texts
judging    the order of judgement
door       the door: from the files of two trees to a certificate
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
