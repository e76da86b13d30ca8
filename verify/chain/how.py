"""How a chain is judged: what a person or a workflow asked for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class How:
    """How a range is judged; `jobs` processes share the work, one a core for 0.

    `strict`: a commit for human eyes fails the chain, and a proved move that breaks a reader.
    `declare`: so does a commit that does not say whether it is a move.
    """

    jobs: int = 0
    strict: bool = False
    declare: bool = False
